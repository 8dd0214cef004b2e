// Downloads debug information through libdebuginfod.
//
// The library is loaded at run time, when a download is really needed: it depends on libcurl, which loads slowly and
// starts threads. The functions are found by name, so neither headers nor the library are necessary to build sonde.
#include "base/debuginfod.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "base/shared_library.h"

namespace sonde {
namespace {

// Functions of elfutils/debuginfod.h. Their interface does not change within libdebuginfod.so.1.
struct Library {
    using Progress = int (*)(void* client, long done, long all);
    SharedLibrary file;
    void* (*begin)() = nullptr;
    void (*set_progress)(void* client, Progress) = nullptr;
    int (*find)(void* client, const unsigned char* build_id, int length, char** path) = nullptr;
    void (*end)(void* client) = nullptr;

    bool load() {
        return file.load({"libdebuginfod.so.1"}) && file.find(begin, "debuginfod_begin") &&
               file.find(set_progress, "debuginfod_set_progressfn") && file.find(find, "debuginfod_find_debuginfo") &&
               file.find(end, "debuginfod_end");
    }
};

// Progress of a transfer, printed once it has begun. Files from the cache are not reported. On a terminal the line is
// updated.
struct Words {
    std::string build_id;
    bool begun = false;
    long told = -1; // MB that were printed last
};
Words* words = nullptr; // a global, because the library does not pass a pointer to tell()

int tell(void*, long done, long all) {
    constexpr long megabyte = 1 << 20;
    if (done <= 0 || !words)
        return 0;
    bool terminal = isatty(STDERR_FILENO) == 1;
    if (!words->begun)
        std::fprintf(stderr, "downloading debug information of build-id %s from %s%s", words->build_id.c_str(),
                     std::getenv("DEBUGINFOD_URLS"), terminal ? "" : "\n");
    words->begun = true;
    if (terminal && done / megabyte != words->told) {
        words->told = done / megabyte;
        std::fprintf(stderr, "\rdownloading debug information of build-id %s: %ld MB", words->build_id.c_str(),
                     words->told);
        if (all > 0)
            std::fprintf(stderr, " of %ld MB", all / megabyte);
        std::fputs("\033[K", stderr);
    }
    return 0;
}

std::string to_bytes(const std::string& hex) {
    std::string bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes += static_cast<char>(std::strtoul(hex.substr(i, 2).c_str(), nullptr, 16));
    return bytes;
}

} // namespace

bool has_debuginfod() {
    const char* servers = std::getenv("DEBUGINFOD_URLS");
    return servers && servers[strspn(servers, " \t")] != 0;
}

Result<std::string> download_debug_file(const std::string& build_id) {
    if (!has_debuginfod() || build_id.empty())
        return Error("");
    static Library library;
    if (!library.file.loaded() && !library.load())
        return Error(can_load_libraries()
                         ? "DEBUGINFOD_URLS is set, but libdebuginfod.so.1 is not installed (Debian: libdebuginfod1)"
                         : "DEBUGINFOD_URLS is set, but this static sonde cannot load libdebuginfod.so.1; use sonde "
                           "from a package");
    void* client = library.begin();
    if (!client)
        return Error("libdebuginfod cannot start");
    Words said{build_id};
    words = &said;
    library.set_progress(client, tell);
    std::string bytes = to_bytes(build_id);
    char* path = nullptr;
    int fd = library.find(client, reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()),
                          &path);
    words = nullptr;
    if (said.begun && isatty(STDERR_FILENO) == 1)
        std::fputc('\n', stderr);
    library.end(client);
    if (fd < 0)
        return Error(fd == -ENOENT ? ""
                                   : fmt::format("no debug information of build-id {} from {}: {}", build_id,
                                                 std::getenv("DEBUGINFOD_URLS"), std::strerror(-fd)));
    close(fd);
    std::string found = path ? path : "";
    free(path);
    return found;
}

} // namespace sonde
