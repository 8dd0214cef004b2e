#include "driver/plan_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "codegen/c/c_code.h"
#include "frontend/hir/identity.h"
#include "runtime/plan_file.h"
#include "stdlib/stdlib.h"

namespace sonde {
namespace {

constexpr std::string_view magic = "sonde cache\n";
constexpr std::string_view entry_suffix = ".plan";
constexpr uint64_t usual_limit_mb = 256; // SystemTap's
constexpr const char* limit_file = "cache_mb_limit";
constexpr size_t largest_entry = 64 << 20; // bytes

// ---- the key

class KeyText {
  public:
    void add(std::string_view text) {
        number(text.size());
        out_ += text;
    }
    template <typename T> void number(T value) {
        const auto wide = static_cast<uint64_t>(value);
        out_.append(reinterpret_cast<const char*>(&wide), sizeof wide);
    }
    std::string take() { return std::move(out_); }

  private:
    std::string out_;
};

// The build-id's note among a loaded file's; empty: there is none.
std::string_view find_build_id(const dl_phdr_info& info) {
    for (const ElfW(Phdr) & segment : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
        if (segment.p_type != PT_NOTE)
            continue;
        std::string_view notes(reinterpret_cast<const char*>(info.dlpi_addr + segment.p_vaddr), segment.p_memsz);
        while (notes.size() >= sizeof(ElfW(Nhdr))) {
            ElfW(Nhdr) header;
            std::memcpy(&header, notes.data(), sizeof header);
            const auto aligned = [](size_t size) { return (size + 3) & ~size_t{3}; };
            const size_t text = sizeof header + aligned(header.n_namesz), end = text + aligned(header.n_descsz);
            if (end > notes.size())
                break;
            if (header.n_type == NT_GNU_BUILD_ID && notes.substr(sizeof header).starts_with("GNU"))
                return notes.substr(text, header.n_descsz);
            notes.remove_prefix(end);
        }
    }
    return {};
}

// sonde itself and the libraries that it has loaded, LLVM above all. Gives "" if one of them does not tell its build.
std::string own_builds() {
    struct Builds {
        std::string ids;
        bool all = true;
    } builds;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) {
            const std::string_view id = find_build_id(*info);
            auto& found = *static_cast<Builds*>(out);
            found.ids += id;
            found.all = found.all && !id.empty();
            return 0;
        },
        &builds);
    return builds.all ? builds.ids : "";
}

std::string make_key(const Options& options, const hir::Program& program, const Sources& sources,
                     const CodegenOptions& made_with, const std::string& builds) {
    KeyText key;
    key.add(builds);
    // A field that is added does not compile until it is named here.
    const auto& [max_nesting, max_backtrace, max_string, max_action, max_action_interruptible, max_errors, max_skipped,
                 ring_bytes, filter_target, groups, timing, tells_context, one_by_one, tells_hits, suppress_errors,
                 may_goto, kernel_types, syscall_events, uprobe_session, target_program, arrangement, script, module,
                 c_code] = made_with;
    for (uint64_t number : {max_nesting, max_backtrace, uint64_t{max_string}, max_action, max_action_interruptible,
                            max_errors, max_skipped, ring_bytes, uint64_t{arrangement}})
        key.number(number);
    for (bool flag : {filter_target, timing, tells_context, one_by_one, tells_hits, suppress_errors, may_goto,
                      kernel_types, syscall_events, uprobe_session})
        key.number(flag);
    key.number(groups.size());
    for (const plan::GroupName& group : groups) {
        key.number(static_cast<uint64_t>(group.kind));
        key.add(group.name);
        key.add(group.root);
    }
    key.add(target_program);
    key.add(c_code ? c_code->bitcode : ""); // with the offsets of the kernel's types
    key.add(script);
    key.add(options.module); // the other names have the process's number
    for (FileId file = 1; file <= sources.last(); file++) {
        key.add(sources.name(file));
        if (file > stdlib_files().size()) // those before are part of the build
            key.add(sources.text(file));
    }
    key.add(hir::identity(program));
    plan::Plan rest; // what the program has in a plan's own structures
    for (const hir::Handler* handler : program.handlers) {
        plan::Probe& probe = rest.probes.emplace_back();
        probe.kind = handler->kind;
        probe.points = handler->points;
    }
    rest.counters = program.counters;
    rest.files = program.files;
    const std::vector<uint8_t> bytes = plan::save(rest);
    key.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return key.take();
}

// ---- the folder

// Empty: there is no place for it.
std::string find_folder() {
    if (const char* given = std::getenv("XDG_CACHE_HOME"); given && *given == '/')
        return std::string(given) + "/sonde";
    const char* home = std::getenv("HOME");
    return home && *home == '/' ? std::string(home) + "/.cache/sonde" : "";
}

// Why another user could have written to it; empty: none could.
std::string why_not_own(const struct stat& status, const std::string& path) {
    if (status.st_uid != geteuid())
        return fmt::format("`{}` belongs to another user (uid {})", path, status.st_uid);
    if (status.st_mode & (S_IWGRP | S_IWOTH))
        return fmt::format("others may write to `{}`: `chmod go-w {}` ends that", path, path);
    return "";
}

// Creates it, where what it lies in is the user's own: root makes nothing in another user's home.
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
        return Error(fmt::format("`{}` is no file", name));
    if (std::string why = why_not_own(status, name); !why.empty())
        return Error(why);
    return read_all(fd.get(), name);
}

bool is_entry(std::string_view name) { return name.find(entry_suffix) != std::string_view::npos; }

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
    int64_t used_s, used_ns; // when it was used last
    uint64_t size;
};

// Deletes what has not been used for longest until the rest is within the limit. Sessions that do the same at once, and
// those that read an entry meanwhile, lose nothing: a file that is open stays.
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

} // namespace

PlanCache::PlanCache(const Options& options, const hir::Program& program, const Sources& sources,
                     const CodegenOptions& made_with)
    : reads_(options.cache == Cache::On), tells_(options.verbose[2] > 0), has_own_name_(!options.module.empty()),
      module_(made_with.module) {
    // With --dump and -p3 the code itself is wanted.
    if (options.cache == Cache::Off || !options.dump.empty() || options.last_pass == 3)
        return;
    const std::string builds = own_builds();
    if (std::string why = builds.empty() ? "this build of sonde, or a library of its own, has no build-id" : open();
        !why.empty()) {
        tell(why);
        return;
    }
    key_ = make_key(options, program, sources, made_with, builds);
    Hash hash;
    hash.add({reinterpret_cast<const uint8_t*>(key_.data()), key_.size()});
    name_ = fmt::format("{:016x}{}", hash.value(), entry_suffix);
    is_on_ = true;
}

std::string PlanCache::open() {
    folder_path_ = find_folder();
    if (folder_path_.empty())
        return "neither HOME nor XDG_CACHE_HOME names a folder";
    Result<Fd> folder = open_folder(folder_path_, true);
    if (!folder)
        return folder.error().message;
    folder_ = *std::move(folder);
    return "";
}

void PlanCache::tell(const std::string& why) const {
    if (tells_)
        fmt::print(stderr, "Pass 3: no cache: {}\n", why);
}

std::optional<plan::Plan> PlanCache::load() {
    if (!is_on_ || !reads_)
        return {};
    Result<std::string> text = read_own_file(folder_.get(), name_);
    if (!text) {
        if (text.error().os_error != ENOENT)
            tell(text.error().message);
        return {};
    }
    std::string_view rest = *text;
    uint64_t key_size = 0;
    const size_t key_at = magic.size() + sizeof key_size;
    if (rest.size() >= key_at)
        std::memcpy(&key_size, rest.data() + magic.size(), sizeof key_size);
    if (!rest.starts_with(magic) || rest.size() < key_at || key_size != key_.size() ||
        rest.substr(key_at, key_size) != key_)
        return {}; // damaged, or another key of the same hash; it is replaced
    rest.remove_prefix(key_at + key_size);
    Result<plan::Plan> plan = plan::load({reinterpret_cast<const uint8_t*>(rest.data()), rest.size()});
    if (!plan) {
        tell(fmt::format("`{}`: {}", path(), plan.error().message));
        return {};
    }
    utimensat(folder_.get(), name_.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    plan->module = module_;
    return *std::move(plan);
}

void PlanCache::store(const plan::Plan& plan) {
    if (!is_on_ || (plan.names_module && !has_own_name_))
        return;
    const std::vector<uint8_t> bytes = plan::save(plan);
    if (key_.size() + bytes.size() > largest_entry)
        return;
    const uint64_t key_size = key_.size();
    std::string data(magic);
    data.append(reinterpret_cast<const char*>(&key_size), sizeof key_size);
    data += key_;
    data.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    // A name of its own first: others see the whole entry, or none.
    const std::string fresh = fmt::format("{}.{}", name_, getpid());
    Fd fd(openat(folder_.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd)
        return tell(errno_error(fmt::format("cannot write `{}`", path()), errno).message);
    Result<void> done = write_all(fd.get(), data, path());
    if (done && renameat(folder_.get(), fresh.c_str(), folder_.get(), name_.c_str()) != 0)
        done = errno_error(fmt::format("cannot write `{}`", path()), errno);
    if (!done) {
        unlinkat(folder_.get(), fresh.c_str(), 0);
        return tell(done.error().message);
    }
    drop_oldest(folder_.get());
}

Result<void> PlanCache::clean() {
    const std::string path = find_folder();
    if (path.empty())
        return {};
    Result<Fd> folder = open_folder(path, false);
    if (!folder)
        return folder.error().os_error == ENOENT ? Result<void>() : std::move(folder).error();
    drop_oldest(folder->get());
    return {};
}

} // namespace sonde
