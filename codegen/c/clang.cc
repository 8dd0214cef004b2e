// Runs clang with its input in a memory file and its output in two others. So sonde need not read while clang runs, and
// no files are left in /tmp. Only clang's front end runs; sonde optimizes the complete module itself.
//
// The script's text controls clang, so clang sees a file system without files, and its time and memory are limited: a
// few lines of macros can keep a compiler busy for years.
#include "codegen/c/clang.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include <llvm/Config/llvm-config.h>

#include "base/fd.h"

extern char** environ;

namespace sonde {
namespace {

std::string find_program(const std::string& name) {
    const char* given = std::getenv("PATH");
    std::string folders = given ? given : "/usr/local/bin:/usr/bin:/bin";
    for (size_t at = 0; at <= folders.size();) {
        size_t end = std::min(folders.find(':', at), folders.size());
        std::string path = folders.substr(at, end - at) + "/" + name;
        if (path[0] == '/' && access(path.c_str(), X_OK) == 0)
            return path;
        at = end + 1;
    }
    return "";
}

constexpr rlim_t most_seconds = 10;       // CPU time
constexpr rlim_t most_memory = 2ul << 30; // bytes
// A file system that contains only the listed files, and none are listed (clang/docs, `-ivfsoverlay`).
constexpr const char* no_files = R"({"version": 0, "redirecting-with": "redirect-only", "roots": []})";

Result<Fd> memory_file(const char* name, std::string_view text) {
    Fd out(memfd_create(name, MFD_CLOEXEC));
    if (!out)
        return errno_error("cannot create files in memory for clang", errno);
    if (Result<void> written = write_all(out.get(), text, "a file in memory for clang"); !written)
        return std::move(written).error();
    lseek(out.get(), 0, SEEK_SET);
    return out;
}

// Limits a child that has started already. It has not read any of the script yet.
void limit(pid_t child) {
    const rlimit seconds{most_seconds, most_seconds}, memory{most_memory, most_memory}, none{0, 0};
    prlimit(child, RLIMIT_CPU, &seconds, nullptr);
    prlimit(child, RLIMIT_AS, &memory, nullptr);
    prlimit(child, RLIMIT_CORE, &none, nullptr);
}

// Explains why clang ended without a message about the text.
std::string explain_end(int status, const std::string& said) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    // If its compiler was killed by a signal, clang's driver exits with 128 + the signal, as shells do.
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : std::max(code - 128, 0);
    if (signal == SIGXCPU || signal == SIGKILL)
        return fmt::format("clang did not finish with this C within {} seconds", most_seconds);
    if (said.find("out of memory") != std::string::npos || said.find("bad_alloc") != std::string::npos)
        return fmt::format("clang needs more than {} MB of memory for this C", most_memory >> 20);
    return signal ? fmt::format("clang crashes on this C (signal {})", signal)
                  : fmt::format("clang fails on this C (status {})", code);
}

Result<std::string> read_from_begin(int fd) {
    if (lseek(fd, 0, SEEK_SET) < 0)
        return errno_error("cannot read the output of clang", errno);
    return read_all(fd, "the output of clang");
}

} // namespace

Result<ClangOutput> run_clang(const std::string& text) {
    const std::string newest = fmt::format("clang-{}", LLVM_VERSION_MAJOR);
    std::string program = find_program(newest);
    if (program.empty())
        program = find_program("clang");
    if (program.empty())
        return Error(fmt::format("the script has C, which needs clang; install the package `{}`", newest));
    // A newer clang writes bitcode that this LLVM cannot read.
    const std::string guarded = fmt::format(
        "#if __clang_major__ > {0}\n#error sonde supports clang up to {0}\n#endif\n{1}", LLVM_VERSION_MAJOR, text);
    Result<Fd> in = memory_file("C", guarded), out = memory_file("bitcode", ""), messages = memory_file("messages", ""),
               files = memory_file("files", no_files);
    for (const Result<Fd>* file : {&in, &out, &messages, &files})
        if (!*file)
            return Error(file->error());
    // -O1 without LLVM's passes: with -O0, clang marks functions as not to be optimized, and omits the lifetimes of
    // variables. `-fwrapv` and the two options after it give overflow, aliasing and null pointers the meaning that they
    // have in the kernel.
    std::vector<std::string> words = {program,
                                      "--target=bpf",
                                      "-mcpu=v3",
                                      "-O1",
                                      "-Xclang",
                                      "-disable-llvm-passes",
                                      "-g",
                                      "-std=gnu11",
                                      "-ffreestanding",
                                      "-fno-builtin",
                                      "-nostdinc",
                                      "-ivfsoverlay",
                                      "/proc/self/fd/3",
                                      "-fno-crash-diagnostics",
                                      "-Xclang",
                                      "-disable-pragma-debug-crash",
                                      "-fms-extensions", // as in the kernel since 6.19: `struct s;` as a member
                                      "-fwrapv",
                                      "-fno-strict-aliasing",
                                      "-fno-delete-null-pointer-checks",
                                      "-fno-color-diagnostics",
                                      "-fno-caret-diagnostics",
                                      "-ferror-limit=20",
                                      "-Werror=implicit-function-declaration",
                                      "-Werror=array-bounds",
                                      "-Werror=division-by-zero",
                                      "-Werror=null-character",
                                      "-Werror=invalid-pp-token",
                                      "-x",
                                      "c",
                                      "-c",
                                      "-emit-llvm",
                                      "-o",
                                      "-",
                                      "-"};
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in->get(), 0);
    posix_spawn_file_actions_adddup2(&actions, out->get(), 1);
    posix_spawn_file_actions_adddup2(&actions, messages->get(), 2);
    posix_spawn_file_actions_adddup2(&actions, files->get(), 3);
    pid_t child = 0;
    int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return errno_error(fmt::format("cannot run `{}`", program), failed);
    limit(child);
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return errno_error(fmt::format("cannot wait for `{}`", program), errno);
    Result<std::string> bitcode = read_from_begin(out->get()), said = read_from_begin(messages->get());
    if (!bitcode)
        return std::move(bitcode).error();
    if (!said)
        return std::move(said).error();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !bitcode->empty())
        return ClangOutput{*std::move(bitcode), *std::move(said), ""};
    if (said->find("sonde supports clang up to") != std::string::npos)
        return Error(fmt::format("`{}` is newer than the LLVM of sonde; install the package `{}`", program, newest));
    // clang exits with 1 after messages about the text.
    if (WIFEXITED(status) && WEXITSTATUS(status) == 1 && said->find("error:") != std::string::npos)
        return ClangOutput{"", *std::move(said), ""};
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return Error(fmt::format("`{}` cannot run: {}", program, said->substr(0, said->find('\n'))));
    return ClangOutput{"", "", explain_end(status, *said)};
}

} // namespace sonde
