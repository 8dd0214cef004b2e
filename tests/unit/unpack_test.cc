// Decompression of data that the usual programs have compressed.
#include "base/unpack.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace sonde {
namespace {

constexpr uint64_t no_limit = 1 << 30;

class Unpack : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        for (uint32_t i = 0; i < 300000; i++) // more than one block of each
            text_ += std::to_string(i * 7919 % 10007) + "\n";
        ASSERT_NE(mkdtemp(folder_.data()), nullptr);
        ASSERT_TRUE(write_file(folder_ + "/plain", text_).ok());
        const std::string command = std::string(GetParam()) + " <" + folder_ + "/plain >" + folder_ + "/packed";
        ASSERT_EQ(std::system(command.c_str()), 0) << command;
        packed_ = *read_file(folder_ + "/packed");
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string folder_ = std::filesystem::temp_directory_path() / "sonde-test-XXXXXX", text_, packed_;
};

std::string text_of(const Fd& fd) {
    Result<std::string> text = read_file("/proc/self/fd/" + std::to_string(fd.get()));
    return text ? *text : text.error().message;
}

TEST_P(Unpack, Whole) {
    ASSERT_TRUE(is_packed(packed_));
    Result<Fd> out = unpack(packed_, no_limit);
    ASSERT_TRUE(out.ok()) << out.error().message;
    EXPECT_TRUE(text_of(*out) == text_);
}

TEST_P(Unpack, WithSomethingAfterIt) {
    Result<Fd> out = unpack(packed_ + std::string("\x10\x20\x30\x40", 4), no_limit);
    ASSERT_TRUE(out.ok()) << out.error().message;
    EXPECT_TRUE(text_of(*out) == text_);
}

TEST_P(Unpack, TooLarge) {
    const std::string why = unpack(packed_, 1000).error().message;
    EXPECT_TRUE(why.starts_with("it is too large: ") && why.ends_with(" would unpack to more than 1000 bytes")) << why;
}

TEST_P(Unpack, Damaged) {
    EXPECT_FALSE(unpack(packed_.substr(0, 8), no_limit).ok());
    std::string other = packed_;
    for (size_t i = 40; i < 80; i++)
        other[i] = static_cast<char>(~other[i]);
    Result<Fd> out = unpack(other, no_limit);
    EXPECT_FALSE(out.ok() && text_of(*out) == text_); // Linux' form of lz4 has no checksum
}

INSTANTIATE_TEST_SUITE_P(Programs, Unpack, testing::Values("xz -c", "gzip -c", "zstd -qc", "lz4 -lqc"),
                         [](const auto& one) {
                             return std::string(one.param).substr(0, std::string(one.param).find(' '));
                         });

TEST(UnpackNothing, NotPacked) {
    EXPECT_FALSE(is_packed("") || is_packed("\x7f"
                                            "ELF"));
    EXPECT_EQ(unpack("plain", no_limit).error().message, "its packing is unknown");
}

} // namespace
} // namespace sonde
