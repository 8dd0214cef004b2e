// A linker for one object: sections into one mapping, then relocations (ELF-64 specification; System V psABI for
// x86-64, table 4.9).
#include "runtime/host_object.h"

#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/host_api.h"

namespace sonde {
namespace {

constexpr uint64_t page = 4096, most_bytes = 1u << 30;

bool is_int32(uint64_t value) { return static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)}) == value; }

} // namespace

HostObject::~HostObject() {
    if (memory_)
        munmap(memory_, size_);
}

HostObject::HostObject(HostObject&& other) noexcept { *this = std::move(other); }

HostObject& HostObject::operator=(HostObject&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    std::swap(symbols_, other.symbols_);
    return *this;
}

void* HostObject::symbol(const std::string& name) const {
    auto found = symbols_.find(name);
    return found == symbols_.end() ? nullptr : found->second;
}

Result<HostObject> HostObject::load(std::span<const uint8_t> object) {
    const Error broken("the host code is truncated or corrupt");
    auto inside = [&](uint64_t at, uint64_t size) { return at <= object.size() && size <= object.size() - at; };
    if (!inside(0, sizeof(Elf64_Ehdr)))
        return broken;
    Elf64_Ehdr header;
    std::memcpy(&header, object.data(), sizeof header);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_REL || header.e_machine != EM_X86_64)
        return Error("the host code was made for another machine");
    if (header.e_shentsize != sizeof(Elf64_Shdr) ||
        !inside(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)))
        return broken;
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    std::memcpy(sections.data(), object.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));

    // Lay out what is loaded: code first, then from the next page on everything else.
    std::vector<uint64_t> offsets(sections.size(), 0);
    uint64_t total = 0, code_size = 0;
    for (bool code : {true, false}) {
        for (size_t i = 0; i < sections.size(); i++) {
            const Elf64_Shdr& s = sections[i];
            // Nothing of it is copied or read unless it lies in the file.
            if (s.sh_type != SHT_NOBITS && s.sh_type != SHT_NULL && !inside(s.sh_offset, s.sh_size))
                return broken;
            if (s.sh_type == SHT_NULL && (s.sh_flags & SHF_ALLOC))
                return broken;
            if (!(s.sh_flags & SHF_ALLOC) || code != ((s.sh_flags & SHF_EXECINSTR) != 0))
                continue;
            uint64_t align = std::max<uint64_t>(16, s.sh_addralign);
            if (align > page || !std::has_single_bit(align) || s.sh_size > most_bytes || total > most_bytes)
                return broken;
            total = (total + align - 1) / align * align;
            offsets[i] = total;
            total += s.sh_size;
        }
        total = (total + page - 1) / page * page;
        if (code)
            code_size = total;
    }
    HostObject out;
    out.size_ = std::max<uint64_t>(total, page);
    void* memory = mmap(nullptr, out.size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return errno_error("cannot map the host code", errno);
    out.memory_ = memory;
    auto* base = static_cast<uint8_t*>(memory);
    for (size_t i = 0; i < sections.size(); i++)
        if ((sections[i].sh_flags & SHF_ALLOC) && sections[i].sh_type != SHT_NOBITS)
            std::memcpy(base + offsets[i], object.data() + sections[i].sh_offset, sections[i].sh_size);

    // Symbols: ours, then the runtime's.
    unsigned long api_count = 0;
    const HostSymbol* api = host_symbols(&api_count);
    std::vector<std::optional<uint64_t>> values; // none: of what is not loaded
    for (const Elf64_Shdr& s : sections) {
        if (s.sh_type != SHT_SYMTAB)
            continue;
        if (s.sh_link >= sections.size())
            return broken;
        const Elf64_Shdr& strings = sections[s.sh_link];
        // Relocations refer to the only one.
        if (strings.sh_type != SHT_STRTAB || !values.empty())
            return broken;
        for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= s.sh_size; at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            std::memcpy(&symbol, object.data() + s.sh_offset + at, sizeof symbol);
            const char* begin = symbol.st_name < strings.sh_size
                                    ? reinterpret_cast<const char*>(object.data() + strings.sh_offset + symbol.st_name)
                                    : "";
            std::string name(begin,
                             strnlen(begin, symbol.st_name < strings.sh_size ? strings.sh_size - symbol.st_name : 0));
            std::optional<uint64_t> value;
            if (symbol.st_shndx == SHN_UNDEF && name.empty()) {
                value = 0; // the first one, of relocations without a symbol
            } else if (symbol.st_shndx == SHN_UNDEF && !name.empty()) {
                for (unsigned long i = 0; i < api_count; i++)
                    if (name == api[i].name)
                        value = reinterpret_cast<uint64_t>(api[i].address);
                // There is no such table; offsets from it are offsets from the beginning.
                if (name == "_GLOBAL_OFFSET_TABLE_")
                    value = reinterpret_cast<uint64_t>(base);
                if (!value)
                    return Error(fmt::format("the host code wants `{}`, which this version does not have", name));
            } else if (symbol.st_shndx == SHN_ABS) {
                value = symbol.st_value;
            } else if (symbol.st_shndx < sections.size() && (sections[symbol.st_shndx].sh_flags & SHF_ALLOC)) {
                const Elf64_Shdr& section = sections[symbol.st_shndx];
                if (symbol.st_value > section.sh_size)
                    return broken;
                value = reinterpret_cast<uint64_t>(base) + offsets[symbol.st_shndx] + symbol.st_value;
                // What is called from outside is code.
                if (ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL && (section.sh_flags & SHF_EXECINSTR) &&
                    symbol.st_value < section.sh_size)
                    out.symbols_[name] = reinterpret_cast<void*>(*value);
            }
            values.push_back(value);
        }
    }

    for (const Elf64_Shdr& s : sections) {
        if (s.sh_type != SHT_RELA || s.sh_info >= sections.size() || !(sections[s.sh_info].sh_flags & SHF_ALLOC))
            continue;
        for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= s.sh_size; at += sizeof(Elf64_Rela)) {
            Elf64_Rela rela;
            std::memcpy(&rela, object.data() + s.sh_offset + at, sizeof rela);
            uint64_t index = ELF64_R_SYM(rela.r_info);
            uint32_t type = ELF64_R_TYPE(rela.r_info);
            uint64_t width =
                type == R_X86_64_64 || type == R_X86_64_PC64 || type == R_X86_64_GOTOFF64 || type == R_X86_64_GOTPC64
                    ? 8
                    : 4;
            uint64_t room = sections[s.sh_info].sh_size;
            if (index >= values.size() || !values[index] || room < width || rela.r_offset > room - width)
                return broken;
            uint8_t* place = base + offsets[s.sh_info] + rela.r_offset;
            // The psABI's letters: S + A is the target, P the place, GOT the table's address.
            uint64_t addend = static_cast<uint64_t>(rela.r_addend), target = *values[index] + addend;
            uint64_t got = reinterpret_cast<uint64_t>(base), value = 0;
            bool fits = true;
            switch (type) {
            case R_X86_64_NONE:
                continue;
            case R_X86_64_64:
                value = target;
                break;
            case R_X86_64_PC64:
                value = target - reinterpret_cast<uint64_t>(place);
                break;
            case R_X86_64_GOTOFF64:
                value = target - got;
                break;
            case R_X86_64_GOTPC64:
                value = got + addend - reinterpret_cast<uint64_t>(place);
                break;
            case R_X86_64_32:
                value = target;
                fits = value <= UINT32_MAX;
                break;
            case R_X86_64_32S:
                value = target;
                fits = is_int32(value);
                break;
            case R_X86_64_PC32:
            case R_X86_64_PLT32:
                value = target - reinterpret_cast<uint64_t>(place);
                fits = is_int32(value);
                break;
            case R_X86_64_GOTPC32:
                value = got + addend - reinterpret_cast<uint64_t>(place);
                fits = is_int32(value);
                break;
            default:
                return Error(fmt::format("the host code has a relocation of type {}", type));
            }
            if (!fits)
                return Error("the host code refers to something out of reach");
            std::memcpy(place, &value, width);
        }
    }
    // Beyond this point code is not written any more; data stays data.
    if (code_size && mprotect(memory, code_size, PROT_READ | PROT_EXEC) != 0)
        return errno_error("cannot make the host code executable", errno);
    return out;
}

} // namespace sonde
