// Facts about interpreters of Python: of those on this machine.
#include "languages/python/interpreter.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "arch/architecture.h"
#include "frontend/machine/plt.h"
#include "languages/python/layouts.h"
#include "languages/python/places.h"

namespace sonde {
namespace {

// An installed interpreter, or a library of pyenv.
std::vector<std::string> installed() {
    std::vector<std::string> out;
    const char* home = std::getenv("HOME");
    for (const std::string& folder : {std::string("/usr/bin"), std::string(home ? home : "") + "/.pyenv/versions"})
        if (std::filesystem::exists(folder))
            for (const auto& entry : std::filesystem::directory_iterator(folder)) {
                const std::string name = entry.path().filename().string();
                if (name.starts_with("python3.") && name.find_first_not_of("0123456789", 8) == std::string::npos)
                    out.push_back(entry.path().string());
                const size_t dot = name.rfind('.');
                const std::string library = entry.path().string() + "/lib/libpython" + name.substr(0, dot) + ".so.1.0";
                if (dot != std::string::npos && std::filesystem::exists(library))
                    out.push_back(library);
            }
    return out;
}

TEST(PythonInterpreter, Installed) {
    size_t read = 0;
    for (const std::string& path : installed()) {
        Result<ElfFile> file = ElfFile::open_any_machine(path);
        ASSERT_TRUE(file) << file.error().message;
        Result<std::optional<PythonInterpreter>> python = read_python(*file);
        if (path.find("3.6") != std::string::npos || path.find("3.7") != std::string::npos) {
            EXPECT_FALSE(python && *python) << path;
            continue;
        }
        ASSERT_TRUE(python) << path << python.error().message;
        if (!*python)
            continue; // the interpreter is in a library
        read++;
        const PythonInterpreter& one = **python;
        EXPECT_NE(path.find(one.version.substr(0, one.version.find('.', 2))), std::string::npos) << one.version;
        EXPECT_FALSE(one.loop.empty());
        EXPECT_EQ(one.handlers.size(), one.layout.version < 11 ? 0u : 256u) << path;
        EXPECT_NE(one.layout.code_type, 0u);
        EXPECT_NE(one.note_exception, 0u);
        const Architecture* architecture = architecture_of(file->machine(), false);
        ASSERT_NE(architecture, nullptr);
        Result<std::vector<PythonPlace>> calls = python_calls(*file, *architecture, one);
        ASSERT_TRUE(calls) << calls.error().message;
        Result<std::vector<PythonPlace>> returns = python_returns(*file, *architecture, one);
        ASSERT_TRUE(returns) << returns.error().message;
        std::vector<uint64_t> stubs;
        for (const PltEntry& entry : read_plt(*file))
            if (entry.name == "PyTraceBack_Here")
                stubs.push_back(entry.address);
        Result<std::vector<PythonPlace>> exceptions = python_exceptions(*file, *architecture, one, stubs);
        ASSERT_TRUE(exceptions) << exceptions.error().message;
        EXPECT_EQ(exceptions->size(), 1u);
        PythonInterpreter other = one;
        other.note_exception = one.loop_entry; // the loop does not call itself
        EXPECT_FALSE(python_exceptions(*file, *architecture, other, {}));
        const size_t expected[] = {1, 1, 1, 2, 2, 3, 3}, expected_returns[] = {0, 0, 0, 1, 4, 4, 2};
        EXPECT_EQ(calls->size(), expected[one.layout.version - first_python]);
        EXPECT_EQ(returns->size(), expected_returns[one.layout.version - first_python]);
        for (uint64_t handler : one.handlers)
            EXPECT_TRUE(std::ranges::any_of(
                one.loop, [&](const auto& part) { return handler >= part.first && handler < part.second; }))
                << path << std::hex << handler;
    }
    EXPECT_GT(read, 0u) << "the tests are programs of Python, so there is an interpreter";
}

TEST(PythonInterpreter, OtherPrograms) {
    Result<ElfFile> file = ElfFile::open_any_machine("/bin/sh");
    ASSERT_TRUE(file);
    Result<std::optional<PythonInterpreter>> python = read_python(*file);
    ASSERT_TRUE(python);
    EXPECT_FALSE(*python);
}

TEST(PythonInterpreter, DamagedDescriptions) {
    sonde_python layout = python_layout(13);
    EXPECT_NE(read_debug_offsets("", layout), "");
    EXPECT_NE(read_debug_offsets("xdebugpy", layout), "");
    EXPECT_NE(read_debug_offsets(std::string("xdebugpy") + std::string(16, '\0'), layout), "");
    sonde_python newest = python_layout(14);
    std::string other("xdebugpy"); // the right version, but no known structures
    const uint64_t head[] = {0x030e0af0, 0};
    other.append(reinterpret_cast<const char*>(head), sizeof head);
    EXPECT_EQ(read_debug_offsets(other + std::string(1024, '\0'), newest),
              "its objects have another structure than those of other builds of this version");
}

} // namespace
} // namespace sonde
