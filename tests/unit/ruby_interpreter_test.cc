// Facts about interpreters of Ruby: of Debian's, if it is installed.
#include "languages/ruby/interpreter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace sonde {
namespace {

TEST(RubyInterpreter, Installed) {
    const std::string path = "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1";
    if (!std::filesystem::exists(path))
        GTEST_SKIP() << "there is no Ruby 3.1 of Debian";
    Result<ElfFile> file = ElfFile::open_any_machine(path);
    ASSERT_TRUE(file) << file.error().message;
    Result<std::optional<RubyInterpreter>> ruby = read_ruby(*file);
    ASSERT_TRUE(ruby) << ruby.error().message;
    ASSERT_TRUE(*ruby);
    const RubyInterpreter& one = **ruby;
    EXPECT_TRUE(one.version.starts_with("3.1.")) << one.version;
    ASSERT_EQ(one.loop.size(), 2u);
    EXPECT_TRUE(std::ranges::any_of(one.loop, [&](const auto& part) { return part.first == one.loop_entry; }));
    EXPECT_GT(one.layout.core_end - one.layout.core_begin, 8192u);
    EXPECT_NE(one.layout.symbols, 0u);
    EXPECT_NE(one.layout.thread_slot, 0u);
}

TEST(RubyInterpreter, OtherPrograms) {
    for (const char* path : {"/bin/sh", "/usr/bin/ruby3.1"}) { // the second one has its interpreter in a library
        if (!std::filesystem::exists(path))
            continue;
        Result<ElfFile> file = ElfFile::open_any_machine(path);
        ASSERT_TRUE(file);
        Result<std::optional<RubyInterpreter>> ruby = read_ruby(*file);
        ASSERT_TRUE(ruby);
        EXPECT_FALSE(*ruby) << path;
    }
}

} // namespace
} // namespace sonde
