// Identifies a build of a program or library.
//
// A plan is made for one build: its offsets are wrong for any other one. So the plan has an identity for each file, and
// the session compares it before it attaches.
//
// The build-id is a hash that the linker has computed (ld(1), --build-id). It is in a note, which a PT_NOTE segment
// contains (System V ABI, "Note Section"). The program headers are used, and not the section headers: the former must
// exist in each program, and the latter can be stripped. 32-bit files have other headers, but the same notes.
//
//     namesz = 4, descsz = 20, type = NT_GNU_BUILD_ID, "GNU\0", 20 bytes of hash
//
// Without a build-id, the identity consists of the file's size and a hash of the bytes that are loaded.
#include "base/program_identity.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/byte_cursor.h"
#include "base/elf_notes.h"
#include "base/hash.h"

namespace sonde {
namespace {

constexpr size_t most_notes = 1 << 20; // bytes of a note segment that are searched

struct Segment {
    uint32_t type;
    uint64_t offset, size, align;
};

std::span<const uint8_t> bytes_of(const std::string& text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

template <typename Header, typename Program> Result<std::string> program_headers(int fd, const std::string& start) {
    const std::optional<Header> header = value_at<Header>(start, 0);
    if (!header)
        return Error("it is not an ELF file", ENOEXEC);
    if (header->e_phentsize != sizeof(Program))
        return Error("it has no program headers", ENOEXEC);
    return read_at(fd, header->e_phoff, sizeof(Program) * header->e_phnum);
}

template <typename Program> std::vector<Segment> segments_in(const std::string& headers) {
    std::vector<Segment> out;
    for (const Program& one : values_in<Program>(headers))
        out.push_back({one.p_type, one.p_offset, one.p_filesz, one.p_align});
    return out;
}

Result<void> hash_part(int fd, const Segment& part, Hash& hash) {
    constexpr uint64_t most = 1 << 20;
    for (uint64_t done = 0; done < part.size;) {
        Result<std::string> some = read_at(fd, part.offset + done, std::min(most, part.size - done));
        if (!some)
            return std::move(some).error();
        if (some->empty())
            break; // the file ends before the segment
        hash.add(bytes_of(*some));
        done += some->size();
    }
    return {};
}

} // namespace

std::string to_text(const ProgramIdentity& identity) {
    if (!identity.build_id.empty())
        return "build-id " + identity.build_id;
    return fmt::format("no build-id, {} bytes, hash {:016x}", identity.size, identity.hash);
}

Result<std::string> read_at(int fd, uint64_t offset, size_t size) {
    std::string out(size, '\0');
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(fd, out.data() + done, size - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno_error("cannot read it", errno);
        if (got == 0)
            break;
        done += static_cast<size_t>(got);
    }
    out.resize(done);
    return out;
}

Result<ProgramIdentity> identify_program(int fd) {
    Result<std::string> start = read_at(fd, 0, sizeof(Elf64_Ehdr));
    if (!start)
        return std::move(start).error();
    if (start->size() < EI_NIDENT || std::memcmp(start->data(), ELFMAG, SELFMAG) != 0)
        return Error("it is not an ELF file", ENOEXEC);
    const bool narrow = (*start)[EI_CLASS] == ELFCLASS32;
    Result<std::string> headers = narrow ? program_headers<Elf32_Ehdr, Elf32_Phdr>(fd, *start)
                                         : program_headers<Elf64_Ehdr, Elf64_Phdr>(fd, *start);
    if (!headers)
        return std::move(headers).error();
    std::vector<Segment> segments = narrow ? segments_in<Elf32_Phdr>(*headers) : segments_in<Elf64_Phdr>(*headers);

    ProgramIdentity out;
    for (const Segment& one : segments) {
        if (one.type != PT_NOTE)
            continue;
        Result<std::string> notes = read_at(fd, one.offset, std::min<uint64_t>(one.size, most_notes));
        if (!notes)
            return std::move(notes).error();
        out.build_id = to_hex(find_build_id(*notes, one.align));
        if (!out.build_id.empty())
            return out;
    }
    struct stat status{};
    if (fstat(fd, &status) != 0)
        return errno_error("cannot read it", errno);
    out.size = static_cast<uint64_t>(status.st_size);
    Hash hash;
    hash.add(bytes_of(*headers));
    for (const Segment& one : segments)
        if (one.type == PT_LOAD)
            if (Result<void> hashed = hash_part(fd, one, hash); !hashed)
                return std::move(hashed).error();
    out.hash = hash.value();
    return out;
}

} // namespace sonde
