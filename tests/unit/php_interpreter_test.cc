// Facts about interpreters of PHP: of Debian's, if it is installed.
#include "languages/php/interpreter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace sonde {
namespace {

TEST(PhpInterpreter, Installed) {
    const std::string path = "/usr/bin/php8.2";
    if (!std::filesystem::exists(path))
        GTEST_SKIP() << "there is no PHP 8.2 of Debian";
    Result<ElfFile> file = ElfFile::open_any_machine(path);
    ASSERT_TRUE(file) << file.error().message;
    Result<std::optional<PhpInterpreter>> php = read_php(*file);
    ASSERT_TRUE(php) << php.error().message;
    ASSERT_TRUE(*php);
    const PhpInterpreter& one = **php;
    EXPECT_EQ(one.layout.version, 802u);
    EXPECT_NE(one.layout.globals, 0u);
    // gcc moves code out of the loop.
    ASSERT_GE(one.loop.size(), 2u);
    EXPECT_TRUE(std::ranges::is_sorted(one.loop));
    EXPECT_TRUE(std::ranges::any_of(one.loop, [&](const auto& part) { return part.first == one.loop_entry; }));
}

TEST(PhpInterpreter, OtherPrograms) {
    for (const char* path : {"/bin/sh", "/usr/bin/python3"}) {
        if (!std::filesystem::exists(path))
            continue;
        Result<ElfFile> file = ElfFile::open_any_machine(path);
        ASSERT_TRUE(file);
        Result<std::optional<PhpInterpreter>> php = read_php(*file);
        ASSERT_TRUE(php);
        EXPECT_FALSE(*php) << path;
    }
}

} // namespace
} // namespace sonde
