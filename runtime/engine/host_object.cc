// A linker for a single object file. dlopen() is not suitable: it needs a shared library in a file, and resolves
// symbols against all libraries of the process.
//
// The linker copies all loaded sections into one mapping, code first. It then resolves symbols, either in the object or
// among host_symbols(), applies the relocations, and makes the code pages executable and read-only. (ELF-64
// specification; Architecture::relocate().)
//
// On some processors a call does not reach the functions of this program, which are far from the mapping. The code is
// then followed by a stub for each symbol, to which the calls lead.
//
// The object may come from a saved plan. So every offset and size is checked before its use.
#include "runtime/engine/host_object.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "runtime/plan/host_api.h"

namespace sonde {
namespace {

constexpr uint64_t most_bytes = 1u << 30;

uint64_t align_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

Error broken() { return Error("the host code is truncated or corrupt"); }

class Linker {
  public:
    // `found` receives the addresses of the global functions.
    Linker(std::span<const uint8_t> object, std::map<std::string, void*>& found) : object_(object), found_(found) {}

    Result<void> link() {
        for (auto step : {&Linker::read_sections, &Linker::lay_out, &Linker::map, &Linker::read_symbols,
                          &Linker::relocate_all, &Linker::protect})
            if (Result<void> done = (this->*step)(); !done)
                return done;
        return {};
    }
    void* memory() const { return base_; } // null: nothing was mapped
    uint64_t size() const { return size_; }

  private:
    bool is_inside(uint64_t at, uint64_t size) const { return at <= object_.size() && size <= object_.size() - at; }
    // Copies a structure of the file. The caller must have checked that it lies in the file.
    template <typename Structure> Structure read(uint64_t at) const {
        Structure out;
        std::memcpy(&out, object_.data() + at, sizeof out);
        return out;
    }
    Result<void> read_sections();
    uint64_t count_symbols() const;
    Result<void> lay_out();
    Result<void> map();
    Result<void> read_symbols();
    std::string name_of(const Elf64_Sym& symbol, const Elf64_Shdr& strings) const;
    Result<std::optional<uint64_t>> value_of(const Elf64_Sym& symbol, const std::string& name);
    Result<uint64_t> import(const std::string& name) const;
    uint64_t stub_for(uint64_t symbol);
    Result<void> relocate_all();
    Result<void> relocate(const Elf64_Rela& rela, size_t section);
    Result<void> protect();

    std::span<const uint8_t> object_;
    std::map<std::string, void*>& found_;
    std::vector<Elf64_Shdr> sections_;
    std::vector<uint64_t> offsets_; // of sections, in the mapping
    const uint64_t page_ = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    uint8_t* base_ = nullptr;
    uint64_t size_ = 0, code_size_ = 0;
    uint64_t stubs_ = 0;                          // offset of the stubs in the mapping, by the symbol's index
    std::vector<std::optional<uint64_t>> values_; // of symbols; empty: the symbol's section is not loaded
};

Result<void> Linker::read_sections() {
    if (!is_inside(0, sizeof(Elf64_Ehdr)))
        return broken();
    const auto header = read<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_REL ||
        architecture_of(header.e_machine, false) != &host_architecture())
        return Error("the host code was made for another machine");
    if (header.e_shentsize != sizeof(Elf64_Shdr) ||
        !is_inside(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)))
        return broken();
    for (uint64_t i = 0; i < header.e_shnum; i++) {
        const auto section = read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
        // All sections with contents must lie in the file.
        if (section.sh_type == SHT_NULL
                ? (section.sh_flags & SHF_ALLOC) != 0
                : section.sh_type != SHT_NOBITS && !is_inside(section.sh_offset, section.sh_size))
            return broken();
        sections_.push_back(section);
    }
    return {};
}

uint64_t Linker::count_symbols() const {
    uint64_t out = 0;
    for (const Elf64_Shdr& section : sections_)
        if (section.sh_type == SHT_SYMTAB)
            out += section.sh_size / sizeof(Elf64_Sym);
    return out;
}

// Assigns an offset to each loaded section: code first, everything else from the next page on.
Result<void> Linker::lay_out() {
    offsets_.assign(sections_.size(), 0);
    for (bool code : {true, false}) {
        for (size_t i = 0; i < sections_.size(); i++) {
            const Elf64_Shdr& section = sections_[i];
            if (!(section.sh_flags & SHF_ALLOC) || code != ((section.sh_flags & SHF_EXECINSTR) != 0))
                continue;
            const uint64_t align = std::max<uint64_t>(16, section.sh_addralign);
            if (align > page_ || !std::has_single_bit(align) || section.sh_size > most_bytes || size_ > most_bytes)
                return broken();
            offsets_[i] = align_up(size_, align);
            size_ = offsets_[i] + section.sh_size;
        }
        if (code) {
            stubs_ = align_up(size_, 16);
            size_ = stubs_ + count_symbols() * host_architecture().call_stub_size();
        }
        size_ = align_up(size_, page_);
        if (code)
            code_size_ = size_;
    }
    size_ = std::max(size_, page_);
    return {};
}

// Maps writable memory and copies the sections. protect() removes the permission to write later.
Result<void> Linker::map() {
    void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return errno_error("cannot map the host code", errno);
    base_ = static_cast<uint8_t*>(memory);
    for (size_t i = 0; i < sections_.size(); i++)
        if ((sections_[i].sh_flags & SHF_ALLOC) && sections_[i].sh_type != SHT_NOBITS)
            std::memcpy(base_ + offsets_[i], object_.data() + sections_[i].sh_offset, sections_[i].sh_size);
    return {};
}

// Computes the address of each symbol, in the order of the symbol table.
Result<void> Linker::read_symbols() {
    for (const Elf64_Shdr& table : sections_) {
        if (table.sh_type != SHT_SYMTAB)
            continue;
        // Relocations refer to the symbol table by index, so a second table is an error.
        if (table.sh_link >= sections_.size() || sections_[table.sh_link].sh_type != SHT_STRTAB || !values_.empty())
            return broken();
        for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
            const auto symbol = read<Elf64_Sym>(table.sh_offset + at);
            Result<std::optional<uint64_t>> value = value_of(symbol, name_of(symbol, sections_[table.sh_link]));
            if (!value)
                return std::move(value).error();
            values_.push_back(*value);
        }
    }
    return {};
}

std::string Linker::name_of(const Elf64_Sym& symbol, const Elf64_Shdr& strings) const {
    if (symbol.st_name >= strings.sh_size)
        return "";
    const auto* begin = reinterpret_cast<const char*>(object_.data() + strings.sh_offset + symbol.st_name);
    return {begin, strnlen(begin, strings.sh_size - symbol.st_name)};
}

Result<std::optional<uint64_t>> Linker::value_of(const Elf64_Sym& symbol, const std::string& name) {
    if (symbol.st_shndx == SHN_UNDEF && name.empty())
        return std::optional<uint64_t>(0); // symbol 0, for relocations without a symbol
    if (symbol.st_shndx == SHN_UNDEF) {
        Result<uint64_t> imported = import(name);
        if (!imported)
            return std::move(imported).error();
        return std::optional<uint64_t>(*imported);
    }
    if (symbol.st_shndx == SHN_ABS)
        return std::optional<uint64_t>(symbol.st_value);
    if (symbol.st_shndx >= sections_.size() || !(sections_[symbol.st_shndx].sh_flags & SHF_ALLOC))
        return std::optional<uint64_t>();
    const Elf64_Shdr& section = sections_[symbol.st_shndx];
    if (symbol.st_value > section.sh_size)
        return broken();
    uint8_t* at = base_ + offsets_[symbol.st_shndx] + symbol.st_value;
    // Only functions are looked up by name.
    if (ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL && (section.sh_flags & SHF_EXECINSTR) &&
        symbol.st_value < section.sh_size)
        found_[name] = at;
    return std::optional<uint64_t>(reinterpret_cast<uint64_t>(at));
}

// Returns the address of a function of the runtime.
Result<uint64_t> Linker::import(const std::string& name) const {
    // No such table exists here. Offsets from it are relative to the begin of the mapping.
    if (name == "_GLOBAL_OFFSET_TABLE_")
        return reinterpret_cast<uint64_t>(base_);
    unsigned long count = 0;
    const HostSymbol* all = host_symbols(&count);
    for (const HostSymbol& symbol : std::span(all, count))
        if (name == symbol.name)
            return reinterpret_cast<uint64_t>(symbol.address);
    return Error(fmt::format("the host code needs `{}`, which this version does not have", name));
}

// Returns the address of the stub that jumps to the symbol; 0 if calls need no stubs.
uint64_t Linker::stub_for(uint64_t symbol) {
    const size_t size = host_architecture().call_stub_size();
    if (size == 0)
        return 0;
    uint8_t* stub = base_ + stubs_ + symbol * size;
    host_architecture().write_call_stub(stub, *values_[symbol]);
    return reinterpret_cast<uint64_t>(stub);
}

// Applies the relocations of all loaded sections.
Result<void> Linker::relocate_all() {
    for (const Elf64_Shdr& table : sections_) {
        if (table.sh_type != SHT_RELA || table.sh_info >= sections_.size() ||
            !(sections_[table.sh_info].sh_flags & SHF_ALLOC))
            continue;
        for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= table.sh_size; at += sizeof(Elf64_Rela))
            if (Result<void> done = relocate(read<Elf64_Rela>(table.sh_offset + at), table.sh_info); !done)
                return done;
    }
    return {};
}

// Applies one relocation.
Result<void> Linker::relocate(const Elf64_Rela& rela, size_t section) {
    const uint64_t index = ELF64_R_SYM(rela.r_info), room = sections_[section].sh_size;
    if (index >= values_.size() || !values_[index] || rela.r_offset > room)
        return broken();
    const CodeRelocation relocation{.type = static_cast<uint32_t>(ELF64_R_TYPE(rela.r_info)),
                                    .place = base_ + offsets_[section] + rela.r_offset,
                                    .room = room - rela.r_offset,
                                    .symbol = *values_[index],
                                    .addend = rela.r_addend,
                                    .table = reinterpret_cast<uint64_t>(base_),
                                    .stub = stub_for(index)};
    switch (host_architecture().relocate(relocation)) {
    case Relocated::Done:
        return {};
    case Relocated::TooLong:
        return broken();
    case Relocated::OutOfReach:
        return Error("the host code refers to something out of reach");
    case Relocated::Unknown:
        break;
    }
    return Error(fmt::format("the host code has a relocation of type {}", relocation.type));
}

// Makes the code executable and read-only. Data stays writable. Some processors do not notice that memory from which
// they fetch instructions has changed.
Result<void> Linker::protect() {
    __builtin___clear_cache(reinterpret_cast<char*>(base_), reinterpret_cast<char*>(base_ + code_size_));
    if (code_size_ && mprotect(base_, code_size_, PROT_READ | PROT_EXEC) != 0)
        return errno_error("cannot make the host code executable", errno);
    return {};
}

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
    HostObject out;
    Linker linker(object, out.symbols_);
    Result<void> done = linker.link();
    // The destructor of `out` must unmap the memory, even if linking failed halfway.
    out.memory_ = linker.memory();
    out.size_ = linker.size();
    if (!done)
        return std::move(done).error();
    return out;
}

} // namespace sonde
