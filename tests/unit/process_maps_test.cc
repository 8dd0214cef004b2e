// Lines of /proc/PID/maps, and the mappings of this process.
#include "base/process_maps.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sonde {
namespace {

TEST(ProcessMaps, Lines) {
    std::optional<ProcessMapping> code = parse_process_mapping(
        "7f0123456000-7f0123458000 r-xp 00001000 fe:00 1234                       /lib/a b.so (deleted)");
    ASSERT_TRUE(code);
    EXPECT_EQ(code->start, 0x7f0123456000u);
    EXPECT_EQ(code->offset, 0x1000u);
    EXPECT_EQ(code->inode, 1234u);
    EXPECT_TRUE(code->executable && code->has_file());
    EXPECT_EQ(code->path, "/lib/a b.so (deleted)");
    EXPECT_TRUE(code->covers(0x7f0123456000) && !code->covers(0x7f0123458000));
    std::optional<ProcessMapping> anonymous = parse_process_mapping("7f01-7f02 rw-p 00000000 00:00 0 ");
    ASSERT_TRUE(anonymous);
    EXPECT_TRUE(anonymous->path.empty() && !anonymous->executable && !anonymous->has_file());
    std::optional<ProcessMapping> heap = parse_process_mapping("5501-5502 rw-p 00000000 00:00 0    [heap]");
    ASSERT_TRUE(heap);
    EXPECT_EQ(heap->path, "[heap]");
    EXPECT_FALSE(parse_process_mapping("no mapping"));
    EXPECT_FALSE(parse_process_mapping(""));
}

TEST(ProcessMaps, OwnCode) {
    std::vector<ProcessMapping> all = read_own_maps();
    auto here = reinterpret_cast<uint64_t>(&parse_process_mapping);
    auto found = std::find_if(all.begin(), all.end(), [&](const ProcessMapping& one) { return one.covers(here); });
    ASSERT_NE(found, all.end());
    EXPECT_TRUE(found->executable && found->has_file());
    EXPECT_TRUE(read_process_maps(-1).empty());
}

} // namespace
} // namespace sonde
