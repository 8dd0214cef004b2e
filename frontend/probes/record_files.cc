#include "frontend/probes/record_files.h"

#include <fcntl.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/program_identity.h"
#include "frontend/types/x86_code.h"

namespace sonde {
namespace {

struct Places {
    std::set<uint64_t> offsets;
    std::set<uint64_t> counters;  // those of the offsets that are not code
    std::set<std::string> builds; // of the modules that the points were looked up in
};

std::map<std::string, Places> find_places(const hir::Program& program) {
    std::map<std::string, Places> out;
    for (const hir::Handler* handler : program.handlers) {
        const bool in_code = plan::is_uprobe(handler->kind);
        for (const plan::Point& point : handler->points) {
            if (point.path.empty() || (!in_code && handler->kind != plan::ProbeKind::Watch))
                continue;
            Places& places = out[point.path];
            if (!point.build_id.empty())
                places.builds.insert(point.build_id);
            if (!in_code)
                continue;
            places.offsets.insert(point.offset);
            if (!handler->entry_values.empty())
                places.offsets.insert(point.entry_offset);
            if (point.ref_ctr_offset) {
                places.offsets.insert(point.ref_ctr_offset);
                places.counters.insert(point.ref_ctr_offset);
            }
        }
    }
    return out;
}

plan::ProbedCode describe(uint64_t offset, std::string bytes, bool is_code) {
    plan::ProbedCode out{offset, std::move(bytes), 0, 0};
    const std::optional<X86Instruction> found = is_code ? decode_x86(out.bytes) : std::nullopt;
    if (!found)
        return out;
    out.length = static_cast<uint8_t>(found->length);
    constexpr std::string_view prefixes("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3", 11);
    std::set<char> used;
    for (char byte : out.bytes.substr(0, found->length)) {
        if (prefixes.find(byte) == std::string_view::npos)
            break;
        used.insert(byte);
    }
    Hash hash;
    for (char byte : used)
        hash.add(static_cast<uint64_t>(static_cast<uint8_t>(byte)));
    hash.add(uint64_t{found->is_vector} << 24 | uint64_t(found->map) << 16 | uint64_t{found->opcode} << 8 |
             uint64_t{found->has_modrm} << 3 | static_cast<uint64_t>(found->extension()));
    out.encoding = hash.value();
    return out;
}

Result<plan::ProbedFile> record(const std::string& path, const Places& places, int fd) {
    Result<ProgramIdentity> identity = identify_program(fd);
    if (!identity)
        return std::move(identity).error();
    for (const std::string& build : places.builds)
        if (build != identity->build_id)
            return Error(fmt::format("it was replaced while the script was translated: build-id {} has become {}",
                                     build, identity->build_id.empty() ? "none" : identity->build_id));
    plan::ProbedFile out{path, identity->build_id, identity->size, identity->hash, {}};
    for (uint64_t offset : places.offsets) {
        Result<std::string> bytes = read_at(fd, offset, plan::probed_bytes);
        if (!bytes)
            return std::move(bytes).error();
        out.code.push_back(describe(offset, *std::move(bytes), !places.counters.contains(offset)));
    }
    return out;
}

} // namespace

Result<std::vector<plan::ProbedFile>> record_files(const hir::Program& program, const ProbeEnvironment& env) {
    std::vector<plan::ProbedFile> out;
    for (const auto& [path, places] : find_places(program)) {
        const DwarfModule* module = env.opened_module(path);
        // An address in a process was looked up without a module.
        Result<Fd> opened = module ? Result<Fd>(Fd()) : open_file(path, O_RDONLY);
        if (!opened)
            return std::move(opened).error();
        Result<plan::ProbedFile> file = record(path, places, module ? module->file().fd() : opened->get());
        if (!file)
            return std::move(file).error().in(fmt::format("cannot probe `{}`", path));
        out.push_back(*std::move(file));
    }
    return out;
}

} // namespace sonde
