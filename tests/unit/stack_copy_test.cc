// The copy of a stack: its memory, and its form as bytes, which another process reads.
#include <gtest/gtest.h>

#include <string>

#include "runtime/plan/stack_copy.h"

namespace sonde {
namespace {

plan::StackCopy make_copy() {
    plan::StackCopy copy;
    copy.thread_pointer = 0x7000;
    plan::StackFrame& frame = copy.frames.emplace_back();
    frame.path = "/bin/x";
    frame.address = 0x1136;
    frame.is_innermost = true;
    frame.known = 5;
    frame.registers[2] = 77;
    frame.known_at_entry = 1;
    frame.registers_at_entry[0] = 78;
    copy.frames.emplace_back();
    copy.memory = {{0x1000, "abcd"}, {0x1004, "efgh"}, {0x2000, "ijkl"}};
    return copy;
}

TEST(StackCopy, ReadsAcrossPieces) {
    const plan::StackCopy copy = make_copy();
    const auto read = [&](uint64_t address, uint64_t size) {
        std::string out(size, '?');
        out.resize(copy.read(address, out.data(), size));
        return out;
    };
    EXPECT_EQ(read(0x1000, 8), "abcdefgh");
    EXPECT_EQ(read(0x1002, 4), "cdef");
    EXPECT_EQ(read(0x1006, 4), "gh"); // up to the first byte that is missing
    EXPECT_EQ(read(0x1008, 1), "");
    EXPECT_EQ(read(0xfff, 2), "");
    EXPECT_EQ(read(0x2003, 1), "l");
    EXPECT_EQ(read(UINT64_MAX, 1), "");
    EXPECT_EQ(plan::StackCopy().read(0x1000, nullptr, 1), 0U);
}

TEST(StackCopy, IsTheSameAfterEncoding) {
    const plan::StackCopy copy = make_copy();
    const Result<plan::StackCopy> read = plan::StackCopy::decode(copy.encode());
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, copy);
}

TEST(StackCopy, RefusesOtherBytes) {
    const std::string whole = make_copy().encode();
    for (size_t size = 0; size < whole.size(); size++)
        EXPECT_FALSE(plan::StackCopy::decode(whole.substr(0, size))) << size;
    EXPECT_FALSE(plan::StackCopy::decode(whole + "x"));
    std::string wrong = whole;
    wrong[0] ^= 1;
    EXPECT_FALSE(plan::StackCopy::decode(wrong));
    wrong = whole;
    wrong.replace(16, 8, 8, '\xff'); // the number of frames
    const Result<plan::StackCopy> read = plan::StackCopy::decode(wrong);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, "this is not a copy of a stack");
}

} // namespace
} // namespace sonde
