// All files are opened relative to one descriptor of the folder. Its owner and its permissions are checked once, and
// nobody can exchange the folder between that check and a later read.
//
// A new entry first has the name NAME.PID, and rename() then replaces the old entry. A session can be killed between
// these steps. is_entry() therefore accepts such a name, too, so that the file is deleted with the oldest entries.
//
// An entry's time of modification is the time of its last use, which note_use() sets. Many file systems do not update
// access times, so these cannot tell.
#include "driver/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"

namespace sonde {
namespace {

constexpr std::string_view plan_suffix = CacheFolder::plan_suffix, list_suffix = ".list";
constexpr std::string_view list_magic = "sonde list\n";
constexpr uint64_t usual_limit_mb = 256; // SystemTap's
constexpr const char* limit_file = "cache_mb_limit";

// The path of the folder; empty if no environment variable names a place.
std::string find_folder() {
    if (const char* given = std::getenv("XDG_CACHE_HOME"); given && *given == '/')
        return std::string(given) + "/sonde";
    const char* home = std::getenv("HOME");
    return home && *home == '/' ? std::string(home) + "/.cache/sonde" : "";
}

// Explains why another user could have written to the file; empty if nobody else could.
std::string why_not_own(const struct stat& status, const std::string& path) {
    if (status.st_uid != geteuid())
        return fmt::format("`{}` belongs to another user (uid {})", path, status.st_uid);
    if (status.st_mode & (S_IWGRP | S_IWOTH))
        return fmt::format("others may write to `{}`; run `chmod go-w {}`", path, path);
    return "";
}

// Opens the folder, and creates it if `create`. sonde creates it only inside a directory of the same user. With `sudo`,
// HOME can still be the home of another user, and root must not leave directories there.
Result<Fd> open_folder(const std::string& path, bool create) {
    const std::string above = path.substr(0, path.rfind('/'));
    struct stat status{};
    if (create && lstat(path.c_str(), &status) != 0 && errno == ENOENT) {
        if (stat(above.c_str(), &status) != 0 && errno == ENOENT) {
            const std::string home = above.substr(0, above.rfind('/'));
            if (stat(home.c_str(), &status) == 0 && status.st_uid == geteuid())
                static_cast<void>(mkdir(above.c_str(), 0700));
        }
        if (stat(above.c_str(), &status) == 0 && status.st_uid == geteuid())
            static_cast<void>(mkdir(path.c_str(), 0700));
    }
    Result<Fd> folder = open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!folder)
        return folder;
    if (fstat(folder->get(), &status) != 0)
        return errno_error(fmt::format("cannot read `{}`", path), errno);
    if (std::string why = why_not_own(status, path); !why.empty())
        return Error(why);
    return folder;
}

Result<std::string> read_own_file(int folder, const std::string& name) {
    Fd fd(openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!fd)
        return errno_error(fmt::format("cannot read `{}`", name), errno);
    struct stat status{};
    if (fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
        return Error(fmt::format("`{}` is not a file", name));
    if (std::string why = why_not_own(status, name); !why.empty())
        return Error(why);
    return read_all(fd.get(), name);
}

bool is_entry(std::string_view name) {
    return name.find(plan_suffix) != std::string_view::npos || name.find(list_suffix) != std::string_view::npos;
}

uint64_t read_limit(int folder) {
    Result<std::string> text = read_own_file(folder, limit_file);
    if (!text)
        return usual_limit_mb << 20;
    char* end = nullptr;
    errno = 0;
    const unsigned long long megabytes = std::strtoull(text->c_str(), &end, 10);
    const bool good = end != text->c_str() && errno == 0 && megabytes < (1ull << 40) &&
                      std::string_view(end).find_first_not_of(" \t\n") == std::string_view::npos;
    return (good ? megabytes : usual_limit_mb) << 20;
}

struct Entry {
    std::string name;
    int64_t used_s, used_ns; // time of the last use
    uint64_t size;
};

// Deletes the least recently used entries until the rest is within the limit. Another session may do the same at this
// moment or read an entry: deleting an open file does no harm to its reader.
void drop_oldest(int folder) {
    const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    std::unique_ptr<DIR, int (*)(DIR*)> listing(copy < 0 ? nullptr : fdopendir(copy), closedir);
    if (!listing) {
        if (copy >= 0)
            close(copy);
        return;
    }
    std::vector<Entry> entries;
    uint64_t size = 0;
    while (const dirent* found = readdir(listing.get())) {
        struct stat status{};
        if (!is_entry(found->d_name) || fstatat(folder, found->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode))
            continue;
        const auto bytes = static_cast<uint64_t>(status.st_size);
        entries.push_back({found->d_name, status.st_mtim.tv_sec, status.st_mtim.tv_nsec, bytes});
        size += bytes;
    }
    std::ranges::sort(entries, {}, [](const Entry& e) { return std::pair(e.used_s, e.used_ns); });
    const uint64_t limit = read_limit(folder);
    for (const Entry& entry : entries) {
        if (size <= limit)
            break;
        unlinkat(folder, entry.name.c_str(), 0);
        size -= entry.size;
    }
}

uint64_t hash_of(std::string_view text) {
    Hash hash;
    hash.add({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    return hash.value();
}

} // namespace

Result<CacheFolder> CacheFolder::open() {
    CacheFolder out;
    out.path_ = find_folder();
    if (out.path_.empty())
        return Error("neither HOME nor XDG_CACHE_HOME names a folder");
    Result<Fd> folder = open_folder(out.path_, true);
    if (!folder)
        return std::move(folder).error();
    out.folder_ = *std::move(folder);
    return out;
}

Result<void> CacheFolder::clean() {
    const std::string path = find_folder();
    if (path.empty())
        return {};
    Result<Fd> folder = open_folder(path, false);
    if (!folder)
        return folder.error().os_error == ENOENT ? Result<void>() : std::move(folder).error();
    drop_oldest(folder->get());
    return {};
}

Result<std::string> CacheFolder::read(const std::string& name) const { return read_own_file(folder_.get(), name); }

void CacheFolder::note_use(const std::string& name) const {
    utimensat(folder_.get(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

Result<void> CacheFolder::write(const std::string& name, std::string_view data) const {
    const std::string path = path_ + "/" + name;
    // Write to a temporary name first, so that other sessions see the whole entry or none.
    const std::string fresh = fmt::format("{}.{}", name, getpid());
    Fd fd(openat(folder_.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd)
        return errno_error(fmt::format("cannot write `{}`", path), errno);
    Result<void> done = write_all(fd.get(), data, path);
    if (done && renameat(folder_.get(), fresh.c_str(), folder_.get(), name.c_str()) != 0)
        done = errno_error(fmt::format("cannot write `{}`", path), errno);
    if (done)
        drop_oldest(folder_.get());
    else
        unlinkat(folder_.get(), fresh.c_str(), 0);
    return done;
}

std::optional<std::string> CacheFolder::load(const std::string& name) {
    Result<std::string> data = read(name + std::string(list_suffix));
    uint64_t hash = 0;
    const size_t text_at = list_magic.size() + sizeof hash;
    if (!data || !data->starts_with(list_magic) || data->size() < text_at)
        return {};
    std::memcpy(&hash, data->data() + list_magic.size(), sizeof hash);
    data->erase(0, text_at);
    if (hash != hash_of(*data))
        return {};
    note_use(name + std::string(list_suffix));
    return *std::move(data);
}

void CacheFolder::store(const std::string& name, const std::string& text) {
    const uint64_t hash = hash_of(text);
    std::string data(list_magic);
    data.append(reinterpret_cast<const char*>(&hash), sizeof hash);
    static_cast<void>(write(name + std::string(list_suffix), data + text));
}

} // namespace sonde
