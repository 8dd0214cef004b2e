// Which changes can happen: the kernel refuses to write to the file of a running program (ETXTBSY). But a library
// can be written to, and any path can refer to another file later. sonde's own breakpoints do not change the file.
// The kernel inserts them into the memory of processes only.
#include "runtime/processes/probed_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/program_identity.h"

namespace sonde {
namespace {

std::string to_hex(const std::string& bytes) {
    std::string out;
    for (unsigned char byte : bytes)
        out += fmt::format("{}{:02x}", out.empty() ? "" : " ", byte);
    return out.empty() ? "nothing" : out;
}

bool same_time(const timespec& one, const timespec& other) {
    return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}
bool same_file(const struct stat& one, const struct stat& other) {
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}
bool same_contents(const struct stat& one, const struct stat& other) {
    return one.st_size == other.st_size && same_time(one.st_mtim, other.st_mtim);
}

enum class Named { Same, Other, Gone };

// Returns what the path refers to now. A path below /proc/PID disappears with its process, which does not mean that the
// file has changed.
Named look_up(const std::string& path, const struct stat& held) {
    struct stat named{};
    if (stat(path.c_str(), &named) != 0)
        return path.starts_with("/proc/") ? Named::Same : Named::Gone;
    return same_file(named, held) ? Named::Same : Named::Other;
}

// Returns the name of a probe point at this offset, for messages.
std::string point_at(const plan::Plan& plan, const std::string& path, uint64_t offset) {
    for (const plan::Point& point : plan.rows)
        if (point.path == path &&
            (point.offset == offset || point.entry_offset == offset || point.ref_ctr_offset == offset))
            return point.pp;
    return fmt::format("{}+{:#x}", path, offset);
}

// Returns the index of the first place whose bytes differ from the plan.
Result<std::optional<size_t>> find_difference(const plan::ProbedFile& file, int fd) {
    for (size_t i = 0; i < file.code.size(); i++) {
        Result<std::string> bytes = read_at(fd, file.code[i].offset, file.code[i].bytes.size());
        if (!bytes)
            return std::move(bytes).error().in(fmt::format("cannot read `{}`", file.path));
        if (*bytes != file.code[i].bytes)
            return std::optional(i);
    }
    return std::optional<size_t>();
}

// Returns a hash of the whole file; nullopt if it is large, because reading it would delay the session's start, or if
// it cannot be read.
std::optional<uint64_t> hash_of(int fd, const struct stat& status) {
    constexpr off_t large = 16 << 20;
    if (status.st_size > large)
        return std::nullopt;
    const Result<std::string> bytes = read_at(fd, 0, static_cast<size_t>(status.st_size));
    if (!bytes)
        return std::nullopt;
    Hash hash;
    hash.add({reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()});
    return hash.value();
}

std::string what_next(const std::string& saved_as) {
    return saved_as.empty()
               ? "run sonde again to translate the script for the new file"
               : fmt::format("run `sonde --relink {}` to translate the plan's script for the current files", saved_as);
}

} // namespace

Result<ProbedFiles> ProbedFiles::open(const plan::Plan& plan, const std::string& saved_as) {
    ProbedFiles out;
    for (const plan::ProbedFile& file : plan.files) {
        Held held{&file, {}, {}, {}};
        Result<Fd> fd = open_file(file.path, O_RDONLY | O_NONBLOCK);
        if (!fd) {
            Error error = std::move(fd).error().in("cannot probe the script's file");
            if (error.os_error == ENOENT)
                error.message += saved_as.empty() ? "\n  the file existed when the script was translated"
                                                  : "\n  the plan needs the file at that place: " +
                                                        to_text({file.build_id, file.size, file.hash});
            return error;
        }
        held.fd = *std::move(fd);
        if (fstat(held.fd.get(), &held.status) != 0)
            return errno_error(fmt::format("cannot read `{}`", file.path), errno);
        if (!S_ISREG(held.status.st_mode))
            return Error(fmt::format("cannot probe `{}`: it is not a regular file", file.path));
        Result<ProgramIdentity> found = identify_program(held.fd.get());
        if (!found)
            return std::move(found).error().in(fmt::format("cannot probe `{}`", file.path));
        const ProgramIdentity wanted{file.build_id, file.size, file.hash};
        if (*found != wanted)
            return Error(fmt::format("`{}` is another build than the one that {}\n  translated for: {}\n  found:      "
                                     "    {}\n  {}",
                                     file.path,
                                     saved_as.empty()
                                         ? "the script was translated for, because the file was replaced meanwhile"
                                         : fmt::format("`{}` was translated for", saved_as),
                                     to_text(wanted), to_text(*found), what_next(saved_as)));
        Result<std::optional<size_t>> other = find_difference(file, held.fd.get());
        if (!other)
            return std::move(other).error();
        if (*other) {
            const plan::ProbedCode& code = file.code[**other];
            Result<std::string> bytes = read_at(held.fd.get(), code.offset, code.bytes.size());
            return Error(fmt::format("the code of `{}` has been changed, though its {} is the same\n  at {}, the bytes "
                                     "were {}\n  now they are {}\n  {}",
                                     file.path, file.build_id.empty() ? "hash" : "build-id",
                                     point_at(plan, file.path, code.offset), to_hex(code.bytes),
                                     bytes ? to_hex(*bytes) : bytes.error().message, what_next(saved_as)));
        }
        held.hash = hash_of(held.fd.get(), held.status);
        out.held_.push_back(std::move(held));
    }
    return out;
}

std::string ProbedFiles::attach_name(const std::string& path) const {
    for (const Held& held : held_)
        if (held.file->path == path) {
            std::string name = fmt::format("/proc/self/fd/{}", held.fd.get());
            // If /proc is not mounted, fall back to the path. compare_again() detects if it referred to another file.
            return access(name.c_str(), F_OK) == 0 ? name : path;
        }
    return path;
}

int ProbedFiles::fd(const std::string& path) const {
    for (const Held& held : held_)
        if (held.file->path == path)
            return held.fd.get();
    return -1;
}

Result<void> ProbedFiles::compare_again() {
    for (Held& held : held_) {
        struct stat now{};
        const std::string& path = held.file->path;
        if (fstat(held.fd.get(), &now) != 0)
            return errno_error(fmt::format("cannot read `{}`", path), errno);
        const bool replaced = look_up(path, held.status) != Named::Same;
        Result<std::optional<size_t>> other = std::optional<size_t>();
        if (!same_contents(now, held.status))
            other = find_difference(*held.file, held.fd.get());
        if (!other)
            return std::move(other).error();
        if (replaced || *other || now.st_size != held.status.st_size)
            return Error(fmt::format("`{}` was {} while sonde attached its probes; sonde has removed them\n  run sonde "
                                     "again when no process writes to the file",
                                     path, replaced ? "replaced" : "written to"));
        held.status = now;
    }
    return {};
}

// Returns whether the file has a new time, as after `touch`, but the same contents.
bool ProbedFiles::only_time_changed(Held& held, const struct stat& now) {
    if (!held.hash || hash_of(held.fd.get(), now) != held.hash)
        return false;
    held.status = now;
    return true;
}

std::vector<std::string> ProbedFiles::notice_changes() {
    std::vector<std::string> out;
    for (Held& held : held_) {
        if (held.told)
            continue;
        struct stat now{};
        const std::string& path = held.file->path;
        const Named named = look_up(path, held.status);
        if (fstat(held.fd.get(), &now) == 0 && !same_contents(now, held.status) && !only_time_changed(held, now))
            out.push_back(fmt::format(
                "`{}` was written to while sonde probed it; counts may be wrong from now on, and breakpoints may be "
                "inside of instructions. End the session, restart the programs that use the file, and run sonde again",
                path));
        else if (named == Named::Gone)
            out.push_back(fmt::format("`{}` was removed while sonde probed it; the probes remain in programs that have "
                                      "it open, but sonde will not probe a new file of this name",
                                      path));
        else if (named == Named::Other)
            out.push_back(fmt::format("`{}` was replaced while sonde probed it; sonde does not probe the new file, "
                                      "which programs run from now on. Run sonde again to probe the new file",
                                      path));
        else
            continue;
        held.told = true;
    }
    return out;
}

} // namespace sonde
