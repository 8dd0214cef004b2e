// Describes the probed instructions and files for the plan. The session reads the same bytes again before it attaches:
// if they differ, the file is another build, and the plan's addresses are wrong for it.
//
// Each instruction also has a hash of the parts of its encoding by which kernels decide how they execute a probed
// instruction. The session can therefore test one sample of each encoding instead of every instruction.
#include "frontend/probes/record_files.h"

#include <elf.h>
#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/fd.h"
#include "base/program_identity.h"
#include "frontend/dwarf/probe_safety.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

struct Places {
    std::set<uint64_t> code;      // offsets of the probed instructions
    std::set<uint64_t> counters;  // offsets of the counters of static markers
    std::set<std::string> builds; // build ids of the modules in which the points were found
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
            places.code.insert(point.offset);
            if (!handler->entry_values.empty())
                places.code.insert(point.entry_offset);
            if (point.ref_ctr_offset)
                places.counters.insert(point.ref_ctr_offset);
        }
    }
    return out;
}

plan::ProbedCode describe(uint64_t offset, std::string bytes, const Architecture& architecture) {
    plan::ProbedCode out;
    out.offset = offset;
    out.bytes = std::move(bytes);
    const std::optional<Instruction> found = architecture.decode(out.bytes);
    if (!found)
        return out;
    out.length = static_cast<uint8_t>(found->length);
    out.encoding = architecture.encoding(out.bytes);
    return out;
}

// The class of an instruction in a file of which only the bytes are known.
Hazard hazard_at(uint64_t offset, const plan::ProbedCode& code, int fd, const Architecture& architecture) {
    const uint64_t around = architecture.hazard_context(), low = offset - std::min(offset, around);
    const Result<std::string> all = around ? read_at(fd, low, offset - low + around) : std::string();
    return all && all->size() > offset - low ? architecture.hazard_within(*all, offset - low)
                                             : architecture.hazard(code.bytes);
}

// Describes the instruction and possible problems of a probe there.
plan::ProbedCode look_at(uint64_t offset, std::string bytes, DwarfModule* module, int fd,
                         const Architecture& architecture) {
    plan::ProbedCode out = describe(offset, std::move(bytes), architecture);
    std::optional<Address> address = module ? module->file().address_of_offset(offset) : std::nullopt;
    if (!address) {
        out.hazard = hazard_at(offset, out, fd, architecture);
        return out;
    }
    const ProbeSafetyAt found = module->safety().look_at(*address);
    out.hazard = found.hazard;
    out.nearest = found.nearest.value_or(0);
    if (found.instead)
        out.instead = module->file().file_offset(*found.instead).value_or(0);
    return out;
}

// Whether the program may move, copy or drop its own code. Libraries are not considered.
bool may_move(const ElfFile& file) {
    static constexpr std::string_view movers[] = {"mprotect", "pkey_mprotect", "mremap", "mmap", "mmap64", "madvise"};
    bool calls = false;
    if (file.entry() != 0)
        file.for_each_symbol([&](const ElfSymbol& symbol) {
            calls = std::ranges::find(movers, symbol.name) != std::end(movers);
            return !calls;
        });
    return calls;
}

// `machine`: that of the machine that will run the plan.
Result<plan::ProbedFile> record(const std::string& path, const Places& places, DwarfModule* module, int fd,
                                const Architecture& machine) {
    Result<ProgramIdentity> identity = identify_program(fd);
    if (!identity)
        return std::move(identity).error();
    // Since Go 1.24, programs have a build-id in a section only, and not in the segment of notes.
    const std::string& found_build =
        identity->build_id.empty() && module ? module->file().build_id() : identity->build_id;
    for (const std::string& build : places.builds)
        if (build != found_build)
            return Error(fmt::format("it was replaced while the script was translated: build-id {} has become {}",
                                     build, found_build.empty() ? "none" : found_build));
    plan::ProbedFile out{
        path, identity->build_id, identity->size, identity->hash, module && may_move(module->file().elf()), {}};
    Result<std::string> header = read_at(fd, 0, sizeof(Elf64_Ehdr));
    Elf64_Ehdr fields{}; // `e_machine` is at the same place in both classes
    if (header)
        memcpy(&fields, header->data(), std::min(header->size(), sizeof fields));
    const Architecture* found = architecture_of(fields.e_machine, fields.e_ident[EI_CLASS] == ELFCLASS32);
    const Architecture& architecture = found ? *found : machine;
    std::map<uint64_t, plan::ProbedCode> code; // by offset
    for (uint64_t offset : places.code) {
        Result<std::string> bytes = read_at(fd, offset, plan::probed_bytes);
        if (!bytes)
            return std::move(bytes).error();
        code[offset] = look_at(offset, *std::move(bytes), module, fd, architecture);
    }
    // The session may move a probe to `instead`, so it must be able to verify those bytes as well. The counter of a
    // marker is data: it gets no length and no encoding, unless an instruction at the same offset already has them.
    std::set<uint64_t> others = places.counters;
    for (const auto& [offset, one] : code)
        if (one.instead)
            others.insert(one.instead);
    for (uint64_t offset : others) {
        Result<std::string> bytes = read_at(fd, offset, plan::probed_bytes);
        if (!bytes)
            return std::move(bytes).error();
        plan::ProbedCode& one = code[offset];
        if (one.bytes.empty() && places.counters.contains(offset)) {
            one.offset = offset;
            one.bytes = *std::move(bytes);
        } else if (one.bytes.empty()) {
            one = describe(offset, *std::move(bytes), architecture);
        }
    }
    for (auto& [offset, one] : code)
        out.code.push_back(std::move(one));
    return out;
}

} // namespace

Result<std::vector<plan::ProbedFile>> record_files(const hir::Program& program, const ProbeEnvironment& env) {
    std::vector<plan::ProbedFile> out;
    for (const auto& [path, places] : find_places(program)) {
        DwarfModule* module = env.opened_module(path);
        // A point at an address in a process has no module.
        Result<Fd> opened = module ? Result<Fd>(Fd()) : open_file(path, O_RDONLY);
        if (!opened)
            return std::move(opened).error();
        Result<plan::ProbedFile> file =
            record(path, places, module, module ? module->file().fd() : opened->get(), *env.architecture);
        if (!file)
            return std::move(file).error().in(fmt::format("cannot probe `{}`", path));
        out.push_back(*std::move(file));
    }
    return out;
}

} // namespace sonde
