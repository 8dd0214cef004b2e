// Facts about V8: of the machine's Node.js, if it is installed.
#include "languages/javascript/interpreter.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace sonde {
namespace {

TEST(JavascriptInterpreter, Installed) {
    size_t found = 0;
    for (const char* path :
         {"/usr/bin/node", "/usr/lib/x86_64-linux-gnu/libnode.so.108", "/usr/lib/x86_64-linux-gnu/libnode.so.115"}) {
        if (!std::filesystem::exists(path))
            continue;
        Result<ElfFile> file = ElfFile::open_any_machine(path);
        ASSERT_TRUE(file) << file.error().message;
        Result<std::optional<JavascriptInterpreter>> javascript = read_javascript(*file);
        if (!javascript) { // another version
            EXPECT_NE(javascript.error().message.find("sonde supports"), std::string::npos)
                << javascript.error().message;
            continue;
        }
        if (!*javascript) // a program that uses the library
            continue;
        found++;
        const JavascriptInterpreter& one = **javascript;
        EXPECT_TRUE(one.layout.version == 1002 || one.layout.version == 1103 || one.layout.version == 1204);
        EXPECT_LT(one.code.first, one.built_in.first);
        EXPECT_LT(one.built_in.first, one.built_in.second);
        EXPECT_LE(one.built_in.second, one.code.second);
        EXPECT_EQ(one.layout.code_end - one.layout.code_begin, one.built_in.second - one.built_in.first);
        EXPECT_GT(one.built_in.second - one.built_in.first, 1u << 20);
        EXPECT_GT(one.layout.function_first, 1024u);
        EXPECT_LT(one.layout.context_first, one.layout.context_last);
    }
    if (!found)
        GTEST_SKIP() << "there is no Node.js 18, 20 or 22";
}

TEST(JavascriptInterpreter, OtherPrograms) {
    for (const char* path : {"/bin/sh", "/usr/bin/python3"}) {
        if (!std::filesystem::exists(path))
            continue;
        Result<ElfFile> file = ElfFile::open_any_machine(path);
        ASSERT_TRUE(file);
        Result<std::optional<JavascriptInterpreter>> javascript = read_javascript(*file);
        ASSERT_TRUE(javascript);
        EXPECT_FALSE(*javascript) << path;
    }
}

} // namespace
} // namespace sonde
