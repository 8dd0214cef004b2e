// Bounds checks of an ELF file with the machine EM_BPF.
//
// The idea is to check the file's structure, from the outside in, and only what libbpf and sonde rely on:
//
// 1. The header and the table of sections lie inside of the file.
// 2. Each section lies inside of the file, and has a valid alignment and entry size.
// 3. Symbols and relocations refer to existing sections, names and symbols.
// 4. BTF types (.BTF) refer to existing types and names.
// 5. Records of line information and CO-RE relocations (.BTF.ext) are complete and have a known size.
//
// Each check uses fields that earlier checks have verified, so the order matters. For example, check_symbols() reads
// the string table of section `sh_link`, whose bounds step 2 has checked. Subtract sizes instead of adding offsets: a
// sum of two 64-bit fields can overflow and would look small.
//
// The layout is that of ELF-64 relocatable files (System V ABI, chapter 4), to which EM_BPF adds nothing. BTF is
// documented in Documentation/bpf/btf.rst of the kernel.
#include "runtime/load/object_check.h"

#include <bpf/libbpf.h>
#include <elf.h>
#include <linux/btf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "runtime/plan/array_maps.h"
#include "runtime/plan/counts.h"
#include "runtime/plan/group_names.h"
#include "runtime/plan/moved_text_event.h"
#include "runtime/plan/object_names.h"
#include "runtime/plan/task_arrays.h"

namespace sonde {
namespace {

// Larger sections are invalid. libbpf allocates memory for .bss and other sections without contents by this size.
constexpr uint64_t most_section = 1ull << 28;

Error broken(const std::string& what) { return Error("the plan's BPF object is corrupt: " + what); }

// Copies the bytes, because the object may be unaligned. The caller checks the bounds.
template <typename T> T read_struct(std::span<const uint8_t> bytes, uint64_t at) {
    T out;
    std::memcpy(&out, bytes.data() + at, sizeof out);
    return out;
}

// Returns whether the last string of a string table ends with a zero byte. Then every offset inside the table is a
// valid string.
bool ends_texts(std::span<const uint8_t> object, const Elf64_Shdr& strings) {
    return strings.sh_type == SHT_STRTAB && strings.sh_size > 0 && object[strings.sh_offset + strings.sh_size - 1] == 0;
}

Result<void> check_symbols(std::span<const uint8_t> object, const std::vector<Elf64_Shdr>& sections,
                           const Elf64_Shdr& table) {
    const Elf64_Shdr& strings = sections[table.sh_link];
    if (!ends_texts(object, strings))
        return broken("its symbols do not have names");
    for (uint64_t at = 0; at < table.sh_size; at += sizeof(Elf64_Sym)) {
        auto symbol = read_struct<Elf64_Sym>(object, table.sh_offset + at);
        if (symbol.st_name >= strings.sh_size)
            return broken("a symbol's name does not exist");
        if (symbol.st_shndx >= SHN_LORESERVE)
            continue;
        if (symbol.st_shndx >= sections.size())
            return broken("a symbol's section does not exist");
        const Elf64_Shdr& section = sections[symbol.st_shndx];
        if (symbol.st_value > section.sh_size || symbol.st_size > section.sh_size - symbol.st_value)
            return broken("a symbol is outside of its section");
    }
    return {};
}

Result<void> check_relocations(std::span<const uint8_t> object, const std::vector<Elf64_Shdr>& sections,
                               const Elf64_Shdr& table) {
    if (table.sh_info >= sections.size())
        return broken("relocations of a section that does not exist");
    const Elf64_Shdr& symbols = sections[table.sh_link];
    if (symbols.sh_type != SHT_SYMTAB)
        return broken("relocations without symbols");
    for (uint64_t at = 0; at + sizeof(Elf64_Rel) <= table.sh_size; at += sizeof(Elf64_Rel)) {
        auto rel = read_struct<Elf64_Rel>(object, table.sh_offset + at);
        if (rel.r_offset >= sections[table.sh_info].sh_size ||
            ELF64_R_SYM(rel.r_info) >= symbols.sh_size / sizeof(Elf64_Sym))
            return broken("a relocation refers to a symbol or place that does not exist");
    }
    return {};
}

std::string_view section_name(std::span<const uint8_t> object, const Elf64_Shdr& names, const Elf64_Shdr& section) {
    return section.sh_name < names.sh_size ? reinterpret_cast<const char*>(&object[names.sh_offset + section.sh_name])
                                           : "";
}

// Checks .BTF: types and their names. libbpf uses them without a check.
Result<void> check_types(std::span<const uint8_t> btf) {
    if (btf.size() < sizeof(btf_header))
        return broken("its types are cut off");
    auto header = read_struct<btf_header>(btf, 0);
    if (header.magic != BTF_MAGIC || header.hdr_len < sizeof header || header.hdr_len > btf.size())
        return broken("its types have no header");
    const uint64_t room = btf.size() - header.hdr_len;
    if (header.type_off > room || header.type_len > room - header.type_off || header.str_off > room ||
        header.str_len > room - header.str_off || header.str_len == 0 || header.type_off % 4 != 0)
        return broken("its types are outside of their section");
    const std::span<const uint8_t> texts = btf.subspan(header.hdr_len + header.str_off, header.str_len);
    if (texts.front() != 0 || texts.back() != 0)
        return broken("its types' names do not end");

    // First find where each type begins, because types have different sizes. Then check the references.
    const std::span<const uint8_t> types = btf.subspan(header.hdr_len + header.type_off, header.type_len);
    std::vector<uint64_t> begins;
    for (uint64_t at = 0; at < types.size();) {
        if (types.size() - at < sizeof(btf_type))
            return broken("its last type is cut off");
        auto type = read_struct<btf_type>(types, at);
        begins.push_back(at);
        const uint64_t count = BTF_INFO_VLEN(type.info);
        uint64_t more = 0;
        switch (BTF_INFO_KIND(type.info)) {
        case BTF_KIND_INT:
        case BTF_KIND_VAR:
        case 17: // BTF_KIND_DECL_TAG
            more = 4;
            break;
        case BTF_KIND_ARRAY:
            more = sizeof(btf_array);
            break;
        case BTF_KIND_STRUCT:
        case BTF_KIND_UNION:
            more = count * sizeof(btf_member);
            break;
        case BTF_KIND_ENUM:
        case BTF_KIND_FUNC_PROTO:
            more = count * 8;
            break;
        case BTF_KIND_DATASEC:
        case 19: // BTF_KIND_ENUM64
            more = count * 12;
            break;
        case BTF_KIND_PTR:
        case BTF_KIND_FWD:
        case BTF_KIND_TYPEDEF:
        case BTF_KIND_VOLATILE:
        case BTF_KIND_CONST:
        case BTF_KIND_RESTRICT:
        case BTF_KIND_FUNC:
        case BTF_KIND_FLOAT:
        case 18: // BTF_KIND_TYPE_TAG
            break;
        default:
            return broken("it has a type of an unknown kind");
        }
        if (more > types.size() - at - sizeof type)
            return broken("a type is cut off");
        at += sizeof type + more;
    }
    // Type 0 is `void`, so an index equal to the number of types is valid.
    auto is_type = [&](uint32_t id) { return id <= begins.size(); };
    auto is_text = [&](uint32_t offset) { return offset < texts.size(); };
    auto kind_of = [&](uint32_t id) {
        return id == 0 ? 0u : BTF_INFO_KIND(read_struct<btf_type>(types, begins[id - 1]).info);
    };
    for (uint64_t at : begins) {
        auto type = read_struct<btf_type>(types, at);
        const uint32_t kind = BTF_INFO_KIND(type.info), count = BTF_INFO_VLEN(type.info);
        const uint64_t inner = at + sizeof type;
        bool good = is_text(type.name_off);
        // In types of other kinds, this field contains a size.
        const bool refers = kind == BTF_KIND_PTR || kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_VOLATILE ||
                            kind == BTF_KIND_CONST || kind == BTF_KIND_RESTRICT || kind == BTF_KIND_FUNC ||
                            kind == BTF_KIND_FUNC_PROTO || kind == BTF_KIND_VAR || kind == 17 || kind == 18;
        good = good && (!refers || is_type(type.type));
        if (good && kind == BTF_KIND_FUNC)
            good = kind_of(type.type) == BTF_KIND_FUNC_PROTO;
        if (kind == BTF_KIND_ARRAY) {
            auto array = read_struct<btf_array>(types, inner);
            good = good && is_type(array.type) && is_type(array.index_type);
        }
        for (uint32_t i = 0; good && i < count; i++)
            switch (kind) {
            case BTF_KIND_STRUCT:
            case BTF_KIND_UNION: {
                auto member = read_struct<btf_member>(types, inner + i * sizeof(btf_member));
                good = is_text(member.name_off) && is_type(member.type);
                break;
            }
            case BTF_KIND_FUNC_PROTO: {
                auto parameter = read_struct<btf_param>(types, inner + i * sizeof(btf_param));
                good = is_text(parameter.name_off) && is_type(parameter.type);
                break;
            }
            case BTF_KIND_ENUM:
                good = is_text(read_struct<btf_enum>(types, inner + i * sizeof(btf_enum)).name_off);
                break;
            case BTF_KIND_DATASEC: {
                auto variable = read_struct<btf_var_secinfo>(types, inner + i * sizeof(btf_var_secinfo));
                // A data section lists variables, and functions that another file defines (.ksyms).
                good = is_type(variable.type) &&
                       (kind_of(variable.type) == BTF_KIND_VAR || kind_of(variable.type) == BTF_KIND_FUNC);
                break;
            }
            default:
                break;
            }
        if (!good)
            return broken("a type refers to a type or name that does not exist");
    }
    return {};
}

// Checks .BTF.ext. It has two or three areas: functions, lines, and CO-RE relocations. Each area begins with the size
// of a record, followed by blocks: a section's name, a count, and that many records.
Result<void> check_records(std::span<const uint8_t> ext) {
    constexpr uint64_t fixed = 24; // the header up to the position and length of the lines
    if (ext.size() < fixed)
        return broken("its line information is cut off");
    auto word = [&](uint64_t at) { return uint64_t{read_struct<uint32_t>(ext, at)}; };
    const uint64_t header = word(4);
    if (read_struct<uint16_t>(ext, 0) != BTF_MAGIC || header < fixed || header > ext.size())
        return broken("its line information has no header");
    const uint64_t room = ext.size() - header;
    for (uint64_t at = 8; at + 8 <= std::min<uint64_t>(header, 32); at += 8) {
        const uint64_t begin = word(at), size = word(at + 4);
        if (begin > room || size > room - begin || begin % 4 != 0)
            return broken("its line information is outside of its section");
        if (size == 0)
            continue;
        uint64_t left = size, place = header + begin;
        if (left < 4)
            return broken("its line information is cut off");
        const uint64_t record = word(place);
        if (record < 8 || record > 256 || record % 4 != 0)
            return broken("its line information has records of an unknown size");
        for (left -= 4, place += 4; left > 0;) {
            if (left < 8)
                return broken("its line information is cut off");
            const uint64_t records = word(place + 4) * record;
            left -= 8, place += 8;
            if (records == 0 || records > left)
                return broken("its line information is cut off");
            left -= records, place += records;
        }
    }
    return {};
}

// The sizes of a map that the plan expects, in bytes.
struct MapShape {
    const char* name;
    uint32_t key, value;
    uint64_t entries; // minimum number of entries
};

Result<void> check_map(const bpf_object* object, const MapShape& shape) {
    const bpf_map* map = bpf_object__find_map_by_name(object, shape.name);
    if (!map)
        return broken(fmt::format("it has no map `{}`", shape.name));
    if (bpf_map__key_size(map) != shape.key || bpf_map__value_size(map) != shape.value ||
        bpf_map__max_entries(map) < shape.entries)
        return broken(fmt::format("its map `{}` does not match the plan", shape.name));
    return {};
}

} // namespace

Result<void> check_object_file(std::span<const uint8_t> object) {
    auto inside = [&](uint64_t at, uint64_t size) { return at <= object.size() && size <= object.size() - at; };
    if (!inside(0, sizeof(Elf64_Ehdr)))
        return broken("it is truncated");
    auto header = read_struct<Elf64_Ehdr>(object, 0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL || header.e_machine != EM_BPF)
        return broken("it is not an ELF file for BPF");
    if (header.e_shnum == 0 || header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff % 8 != 0 ||
        !inside(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)) || header.e_shstrndx >= header.e_shnum)
        return broken("its table of sections does not exist");
    std::vector<Elf64_Shdr> sections;
    for (uint64_t i = 0; i < header.e_shnum; i++)
        sections.push_back(read_struct<Elf64_Shdr>(object, header.e_shoff + i * sizeof(Elf64_Shdr)));
    for (const Elf64_Shdr& one : sections) {
        const bool stored = one.sh_type != SHT_NOBITS && one.sh_type != SHT_NULL;
        if (one.sh_size > most_section || (stored && !inside(one.sh_offset, one.sh_size)))
            return broken("a section is outside of the file");
        if (one.sh_link >= sections.size())
            return broken("a section refers to a section that does not exist");
        if (one.sh_addralign > 4096 || (one.sh_addralign && !std::has_single_bit(one.sh_addralign)) ||
            (stored && one.sh_addralign && one.sh_offset % one.sh_addralign != 0))
            return broken("a section is not aligned");
        if ((one.sh_type == SHT_SYMTAB && one.sh_entsize != sizeof(Elf64_Sym)) ||
            (one.sh_type == SHT_REL && one.sh_entsize != sizeof(Elf64_Rel)) ||
            (one.sh_entsize && stored && one.sh_type != SHT_PROGBITS && one.sh_type != SHT_STRTAB &&
             one.sh_size % one.sh_entsize != 0))
            return broken("a table has entries of another size");
        if (one.sh_flags & SHF_COMPRESSED)
            return broken("a section is compressed");
    }
    if (!ends_texts(object, sections[header.e_shstrndx]))
        return broken("its sections have no names");
    for (const Elf64_Shdr& one : sections) {
        if (one.sh_name >= sections[header.e_shstrndx].sh_size)
            return broken("a section's name does not exist");
        Result<void> checked;
        std::string_view name = section_name(object, sections[header.e_shstrndx], one);
        if (one.sh_type == SHT_SYMTAB)
            checked = check_symbols(object, sections, one);
        else if (one.sh_type == SHT_REL)
            checked = check_relocations(object, sections, one);
        else if (one.sh_type == SHT_RELA)
            checked = broken("it has relocations of an unknown form");
        else if (one.sh_type == SHT_PROGBITS && name == ".BTF")
            checked = check_types(object.subspan(one.sh_offset, one.sh_size));
        else if (one.sh_type == SHT_PROGBITS && name == ".BTF.ext")
            checked = check_records(object.subspan(one.sh_offset, one.sh_size));
        if (!checked)
            return checked;
    }
    return {};
}

Result<void> check_object(const plan::Plan& plan, const bpf_object* object) {
    for (const plan::Probe& probe : plan.probes) {
        if (!probe.in_kernel)
            continue;
        const bool entry = probe.entry_program.empty() ||
                           bpf_object__find_program_by_name(object, probe.entry_program.c_str()) != nullptr;
        if (!entry || !bpf_object__find_program_by_name(object, probe.symbol.c_str()))
            return broken(fmt::format("it has no program for the probe at {}", probe.place));
    }
    std::vector<MapShape> shapes = {{plan::maps::counts, 4, sizeof(plan::ProbeCounts), plan.probes.size()}};
    if (plan.translate.keeps_times)
        shapes.push_back({plan::maps::timing, 4, sizeof(plan::ProbeTiming), plan.rows.size()});
    if (plan.filter_target)
        shapes.push_back({plan::maps::targets, 4, 8, plan::most_processes / 64});
    if (plan.follows_moved_text())
        shapes.push_back({plan::maps::moved, 4, sizeof(sonde_moved), 1});
    if (plan.follows_groups()) {
        shapes.push_back({plan::maps::groups, 8, 8, 1});
        shapes.push_back({plan::maps::births, sizeof(sonde_group_birth), 8, 1});
        shapes.push_back({plan::maps::group_names, 8, sizeof(sonde_group_names), 1});
    }
    std::list<std::string> spare_names;
    for (const plan::Global& global : plan.globals)
        if (plan::is_in_tasks(global)) {
            shapes.push_back({global.map.c_str(), 4, global.value_size, 0});
            spare_names.push_back(plan::spare_map(global));
            shapes.push_back({spare_names.back().c_str(), 4, global.value_size, 1});
        } else if (global.in_kernel && !global.keys.empty()) {
            shapes.push_back({global.map.c_str(), plan::map_key_size(global), plan::map_value_size(global), 1});
        }
    for (const MapShape& shape : shapes)
        if (Result<void> checked = check_map(object, shape); !checked)
            return checked;
    return {};
}

Result<void> try_kernel_object(const plan::Plan& plan) {
    if (Result<void> checked = check_object_file(plan.bpf_object); !checked)
        return checked;
    bpf_object_open_opts options{};
    options.sz = sizeof options;
    options.object_name = "sonde";
    std::unique_ptr<bpf_object, void (*)(bpf_object*)> object(
        bpf_object__open_mem(plan.bpf_object.data(), plan.bpf_object.size(), &options), bpf_object__close);
    return object ? check_object(plan, object.get()) : broken("libbpf cannot read it");
}

} // namespace sonde
