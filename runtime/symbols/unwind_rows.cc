// No single table describes all code of a file. Examples of code without call frame information in .eh_frame: startup
// code, hand-written assembler, Go programs, PLT stubs, and the instructions after clone() in glibc.
//
// read_unwind_rules() asks the sources in the order of their reliability. A later source only fills gaps, because
// add_functions() drops overlaps:
//
// 1. .eh_frame, which the C++ runtime itself depends on
// 2. Go's .gopclntab
// 3. .debug_frame of the file or of its separate debug file
// 4. PLT stubs, by decoding their instructions
// 5. code after clone()
// 6. the entry point, which is always the outermost frame
// 7. other functions, by following their instructions (code_frames.h)
// 8. startup code of C, in the same way
//
// Two sources replace rows instead of filling gaps, because the table is known to be wrong there: the entry point
// (add_entry), and signal trampolines (add_by_code).
//
// Code whose frame is unknown gets SONDE_RULE_NONE, and the handler marks the stack as uncertain (SONDE_STACK_GUESSED).
#include "runtime/symbols/unwind_rows.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include "arch/architecture.h"
#include "base/debug_file.h"
#include "base/go_table.h"
#include "base/section_text.h"
#include "runtime/plan/file_table.h"
#include "runtime/symbols/code_frames.h"

namespace sonde {
namespace {

constexpr uint64_t most_debug_frame = 256 << 20; // bytes

// The rule at the first instruction of a function.
uint32_t rule_at_entry(const Architecture& architecture) {
    return architecture.unwind_traits().has_link_register ? SONDE_RULE(SONDE_RULE_LINK, 0, 0)
                                                          : SONDE_RULE(SONDE_RULE_SP, 1, 0);
}

// The rule for a function of Go whose stack pointer is so many bytes below that at its entry. With a link register, the
// height includes the return address.
uint32_t rule_of_height(int64_t bytes, const Architecture& architecture) {
    if (bytes < 0 || bytes % 8 != 0 || bytes / 8 >= SONDE_RULE_CFA_MOST)
        return SONDE_RULE_UNKNOWN;
    if (bytes == 0)
        return rule_at_entry(architecture);
    const auto words = static_cast<uint32_t>(bytes / 8) + !architecture.unwind_traits().has_link_register;
    return SONDE_RULE(SONDE_RULE_SP, words, SONDE_RULE_FP_OF_GO);
}

// The first of the sorted functions that begins after the address.
std::vector<CfiFunction>::const_iterator next_function(const std::vector<CfiFunction>& functions, uint64_t address) {
    return std::upper_bound(functions.begin(), functions.end(), address,
                            [](uint64_t wanted, const CfiFunction& one) { return wanted < one.begin; });
}

// True if one of the sorted functions contains the address.
bool is_covered(const std::vector<CfiFunction>& functions, uint64_t address) {
    const auto next = next_function(functions, address);
    return next != functions.begin() && address < std::prev(next)->end;
}

// Adds the functions in a file's .debug_frame.
void add_section(std::vector<CfiFunction>& to, const ElfFile& file, RuleCompiler& rules) {
    if (std::optional<std::string> text = read_section(file, ".debug_frame", most_debug_frame))
        add_functions(to, read_cfi(*text, 0, CfiKind::DebugFrame, rules));
}

// Adds the functions in .debug_frame of the file. If the file has no such section, and .eh_frame does not cover all
// functions in .text, reads the separate debug file.
void add_debug_frame(std::vector<CfiFunction>& to, const ElfFile& file, const std::vector<FunctionSymbol>& functions,
                     RuleCompiler& rules) {
    if (file.find_section(".debug_frame"))
        return add_section(to, file, rules);
    // Only .text counts. Startup code in .init and .fini has no call frame information anywhere, and searching for the
    // debug file takes time.
    const ElfSection* text = file.find_section(".text");
    const bool lacks = std::any_of(functions.begin(), functions.end(), [&](const FunctionSymbol& one) {
        return text && one.address >= text->address && one.address < text->address + text->size &&
               !is_covered(to, one.address);
    });
    if (!lacks)
        return;
    if (std::optional<ElfFile> beside = find_debug_file(file))
        add_section(to, *beside, rules);
}

// Adds Go's functions. Go's tables give the height of the stack, but not where fp is saved. The rule
// SONDE_RULE_FP_OF_GO makes handlers look two words below the CFA and check if fp points there, because fp may not
// be saved yet.
void add_go_frames(std::vector<CfiFunction>& to, const ElfFile& file, const Architecture& architecture) {
    std::string_view table = file.section_data(".gopclntab");
    if (table.empty()) // position-independent programs
        table = file.section_data(".data.rel.ro.gopclntab");
    const ElfSection* text = file.find_section(".text");
    if (table.empty() || !text || file.is_32_bit())
        return;
    std::vector<CfiFunction> out;
    for (const GoFrame& frame : read_go_frames(table, text->address)) {
        CfiFunction function{frame.address, frame.end, {}};
        if (frame.outermost) {
            function.rows.push_back({frame.address, SONDE_RULE_END, 0});
            // The function switches stacks after its first instruction, so only that one can be described.
        } else if (frame.moves_stack) {
            function.rows = {{frame.address, rule_at_entry(architecture), 0}, {frame.address + 1, SONDE_RULE_NONE, 0}};
        } else {
            for (const GoHeight& height : frame.heights)
                function.rows.push_back({height.address, rule_of_height(height.bytes, architecture), 0});
        }
        if (!function.rows.empty())
            out.push_back(std::move(function));
    }
    add_functions(to, std::move(out));
}

// Adds the PLT sections. Their contents are known without a table, since linkers emit a few fixed patterns.
void add_stubs(std::vector<CfiFunction>& to, const ElfFile& file, const Architecture& architecture) {
    std::vector<CfiFunction> out;
    for (const char* name : architecture.stub_sections()) {
        const ElfSection* section = file.find_section(name);
        std::string_view code = file.section_data(name);
        if (section && !code.empty())
            out.push_back({section->address, section->address + code.size(),
                           rows_of_stubs(section->address, code, architecture)});
    }
    add_functions(to, std::move(out));
}

// Returns the section that contains the code at an address, or null.
const ElfSection* code_section(const ElfFile& file, uint64_t address) {
    const auto found = std::ranges::find_if(file.sections(), [&](const ElfSection& one) {
        return address - one.address < one.size && (one.flags & SHF_EXECINSTR);
    });
    return found == file.sections().end() ? nullptr : &*found;
}

// Returns the code between two addresses of a section. It is shorter if the file does not contain all of it.
std::string_view code_between(const ElfFile& file, uint64_t begin, uint64_t end) {
    const ElfSection* section = code_section(file, begin);
    if (!section)
        return {};
    const std::string_view code = file.section_data(section->name).substr(0, section->size);
    return code.substr(std::min<uint64_t>(begin - section->address, code.size()), end - begin);
}

// Adds functions that no table describes, using their code. The rules for signal trampolines replace those of a table:
// Go's table describes its trampoline as an ordinary function.
void add_by_code(std::vector<CfiFunction>& to, const ElfFile& file, const std::vector<FunctionSymbol>& functions,
                 const Architecture& architecture, RuleCompiler& rules) {
    // A whole program can be compiled without tables. Following all its code would take too long, so after a limit
    // only prologues are followed.
    constexpr uint64_t most_followed = 4 << 20, most_prologue = 64; // bytes
    uint64_t followed = 0;
    std::vector<CfiFunction> out, signals;
    for (const FunctionSymbol& function : functions) {
        const bool covered = is_covered(to, function.address);
        if (covered && function.name.find("sigreturn") == std::string::npos)
            continue;
        uint64_t end = function.address + function.size;
        std::string_view code = code_between(file, function.address, end);
        // Handlers look up the address before a return address. The kernel, not a call, put this one on the stack, so
        // the byte before the trampoline must have its rule.
        if (architecture.is_signal_return(code))
            signals.push_back({function.address - 1, end, {{function.address - 1, rules.signal_frame(), 0}}});
        // The rarely executed part of a function is entered by jumps.
        const bool is_part = function.name.find(".cold") != std::string::npos;
        if (covered || code.empty() || is_part)
            continue;
        const auto next = next_function(to, function.address);
        end = next == to.end() ? end : std::min(end, next->begin);
        code = code.substr(0, followed > most_followed ? most_prologue : code.size());
        followed += code.size();
        out.push_back(
            {function.address, end,
             rows_by_code(function.address, end - function.address, code, {{function.address}}, architecture)});
    }
    for (const CfiFunction& one : signals)
        std::erase_if(to, [&](const CfiFunction& old) { return old.begin == one.begin + 1; });
    add_functions(to, std::move(signals));
    add_functions(to, std::move(out));
}

// Adds the startup code of C: the sections .init and .fini, which are a function each, and the functions of crtbegin.o.
// Neither has tables or sizes, and in a stripped file no symbols. But .init_array and .fini_array contain the addresses
// of two of these functions, which call the others. They are between two functions with tables.
void add_startup_code(std::vector<CfiFunction>& to, const ElfFile& file, const Architecture& architecture) {
    constexpr uint64_t most = 1024;                                         // bytes of this code
    std::map<std::pair<uint64_t, uint64_t>, std::vector<uint64_t>> entries; // by the range without a table
    auto add = [&](uint64_t address) {
        const ElfSection* section = code_section(file, address);
        if (!section || is_covered(to, address))
            return;
        const auto next = next_function(to, address);
        const uint64_t begin = next == to.begin() ? 0 : std::prev(next)->end,
                       end = next == to.end() ? UINT64_MAX : next->begin;
        entries[{std::max(begin, section->address), std::min(end, section->address + section->size)}].push_back(
            address);
    };
    for (const char* name : {".init", ".fini"})
        if (const ElfSection* section = file.find_section(name))
            add(section->address);
    for (const char* name : {".init_array", ".fini_array"}) {
        const std::string_view words = file.section_data(name);
        const auto size = static_cast<size_t>(architecture.word_size());
        for (size_t at = 0; at + size <= words.size(); at += size) {
            uint64_t address = 0;
            std::memcpy(&address, words.data() + at, size);
            add(address);
        }
    }
    std::vector<CfiFunction> out;
    for (const auto& [range, addresses] : entries) {
        const auto [begin, end] = range;
        const std::string_view code = code_between(file, begin, end);
        if (end - begin <= most)
            out.push_back({begin, end, rows_by_code(begin, end - begin, code, addresses, architecture)});
    }
    add_functions(to, std::move(out));
}

// Adds the code after the system call in glibc's clone() and clone3(). Their call frame information ends at the system
// call, because it would be wrong in the new thread. But the calling thread is at that instruction during the whole
// call, and a stack that is taken then must not end here. The code on x86-64:
//
//     syscall                  the description ends before this instruction
//     test %rax,%rax
//     jl error
//     je child                 the next description begins at `child`
//     ret
//
// The rule for the gap checks the result to tell the two threads apart (RuleCompiler::after_clone).
void add_after_clones(std::vector<CfiFunction>& to, const ElfFile& file, const Architecture& architecture,
                      RuleCompiler& rules) {
    constexpr uint64_t most = 32; // bytes
    const std::string_view call = architecture.clone_call();
    const uint32_t as_called = rule_at_entry(architecture);
    if (call.empty())
        return;
    std::vector<CfiFunction> out;
    for (size_t i = 0; i + 1 < to.size(); i++) {
        const uint64_t begin = to[i].end, end = to[i + 1].begin;
        if (end <= begin || end - begin > most || to[i].rows.empty() || to[i].rows.back().rule != as_called)
            continue;
        if (code_between(file, begin, end).starts_with(call))
            out.push_back({begin, end, {{begin, as_called, 0}, {begin + 2, rules.after_clone(), 0}}});
    }
    add_functions(to, std::move(out));
}

// Makes the entry point of a program the outermost frame. Its code may not say so: compilers treat a _start() that is
// written in C as a function that returns. Linkers give shared libraries an e_entry, too: the begin of .text, where any
// function can be, so its rules stay. An e_entry elsewhere is that of a program. One such program is the loader, which
// the kernel starts although it is a library without .interp.
void add_entry(std::vector<CfiFunction>& to, const ElfFile& file, const std::vector<FunctionSymbol>& functions) {
    constexpr uint64_t most = 64; // bytes, if the entry point has no symbol
    const uint64_t begin = file.entry();
    if (begin == 0)
        return;
    const ElfSection* text = file.find_section(".text");
    const bool is_program = !file.is_dynamic() || file.find_section(".interp") || (text && begin != text->address);
    for (CfiFunction& function : to)
        if (is_program && function.begin == begin)
            function.rows = {{begin, SONDE_RULE_END, 0}};
    if (is_covered(to, begin))
        return;
    uint64_t end = begin + most;
    for (const FunctionSymbol& function : functions)
        if (function.address <= begin && begin < function.address + function.size)
            end = function.address + function.size;
        else if (function.address > begin)
            end = std::min(end, function.address);
    const auto next = next_function(to, begin);
    end = next == to.end() ? end : std::min(end, next->begin);
    add_functions(to, {{begin, end, {{begin, SONDE_RULE_END, 0}}}});
}

} // namespace

std::vector<UnwindRow> rows_of_stubs(uint64_t address, std::string_view code, const Architecture& architecture) {
    return rows_of_frames(address, architecture.stub_frames(code));
}

UnwindRules read_unwind_rules(const ElfFile& file, const std::vector<FunctionSymbol>& functions) {
    UnwindRules out;
    const Architecture* architecture = architecture_of(file.machine(), file.is_32_bit());
    if (!architecture)
        return out;
    RuleCompiler rules(*architecture, out.steps);
    std::vector<CfiFunction> all;
    if (const ElfSection* section = file.find_section(".eh_frame"))
        add_functions(all, read_cfi(file.section_data(".eh_frame"), section->address, CfiKind::EhFrame, rules));
    add_go_frames(all, file, *architecture);
    add_debug_frame(all, file, functions, rules);
    add_stubs(all, file, *architecture);
    add_after_clones(all, file, *architecture, rules);
    add_entry(all, file, functions);
    add_by_code(all, file, functions, *architecture, rules);
    add_startup_code(all, file, *architecture);
    out.rows = join_functions(all);
    if (file.is_32_bit())
        for (UnwindRow& row : out.rows)
            row.rule |= SONDE_RULE_NARROW;
    return out;
}

} // namespace sonde
