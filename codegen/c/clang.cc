// clang gets its input in a memory file and writes into two others, so that nothing has to be read while it runs and
// nothing lies in /tmp. It runs its front end alone: what is optimised, and how, is decided when the module is whole.
#include "codegen/c/clang.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
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

Result<std::string> read_from_begin(int fd) {
    if (lseek(fd, 0, SEEK_SET) < 0)
        return errno_error("cannot read what clang wrote", errno);
    return read_all(fd, "what clang wrote");
}

} // namespace

Result<ClangOutput> run_clang(const std::string& text) {
    const std::string newest = fmt::format("clang-{}", LLVM_VERSION_MAJOR);
    std::string program = find_program(newest);
    if (program.empty())
        program = find_program("clang");
    if (program.empty())
        return Error(fmt::format("the script has functions in C, which need clang: install the package `{}`", newest));
    Fd in(memfd_create("C", MFD_CLOEXEC)), out(memfd_create("bitcode", MFD_CLOEXEC)),
        messages(memfd_create("messages", MFD_CLOEXEC));
    if (!in || !out || !messages)
        return errno_error("cannot make files in memory for clang", errno);
    // A newer one writes what LLVM here cannot read.
    const std::string guarded =
        fmt::format("#if __clang_major__ > {0}\n#error sonde reads what clang up to {0} writes\n#endif\n{1}",
                    LLVM_VERSION_MAJOR, text);
    if (Result<void> written = write_all(in.get(), guarded, "C for clang"); !written)
        return std::move(written).error();
    lseek(in.get(), 0, SEEK_SET);
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
                                      "-fwrapv",
                                      "-fno-strict-aliasing",
                                      "-fno-delete-null-pointer-checks",
                                      "-fno-color-diagnostics",
                                      "-fno-caret-diagnostics",
                                      "-ferror-limit=20",
                                      "-w",
                                      "-Werror=implicit-function-declaration",
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
    posix_spawn_file_actions_adddup2(&actions, in.get(), 0);
    posix_spawn_file_actions_adddup2(&actions, out.get(), 1);
    posix_spawn_file_actions_adddup2(&actions, messages.get(), 2);
    pid_t child = 0;
    int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return errno_error(fmt::format("cannot run `{}`", program), failed);
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return errno_error(fmt::format("cannot wait for `{}`", program), errno);
    Result<std::string> bitcode = read_from_begin(out.get()), said = read_from_begin(messages.get());
    if (!bitcode)
        return std::move(bitcode).error();
    if (!said)
        return std::move(said).error();
    const bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !bitcode->empty();
    if (!good && said->find("sonde reads what clang up to") != std::string::npos)
        return Error(fmt::format("`{}` is newer than the LLVM of sonde: install the package `{}`", program, newest));
    if (!good && said->find("error:") == std::string::npos)
        return Error(fmt::format("`{}` ended without a result ({})", program,
                                 WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                                     : fmt::format("status {}", WEXITSTATUS(status))));
    return ClangOutput{good ? *std::move(bitcode) : "", *std::move(said)};
}

} // namespace sonde
