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
// 7. prologues, by decoding their instructions
//
// Two sources replace rows instead of filling gaps, because the table is known to be wrong there: the entry point
// (add_entry), and signal trampolines (add_by_code).
//
// Guessing is limited to the first and last instructions of a function. Code in the middle may have moved rsp by any
// amount, so it gets SONDE_RULE_NONE, and the handler marks the stack as uncertain (SONDE_STACK_GUESSED).
#include "runtime/symbols/unwind_rows.h"

#include <elf.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/debug_file.h"
#include "base/go_table.h"
#include "base/section_text.h"
#include "runtime/plan/file_table.h"

namespace sonde {
namespace {

using namespace std::literals;

constexpr uint64_t most_debug_frame = 256 << 20; // bytes

// True if one of the sorted functions contains the address.
bool is_covered(const std::vector<CfiFunction>& functions, uint64_t address) {
    auto next = std::upper_bound(functions.begin(), functions.end(), address,
                                 [](uint64_t wanted, const CfiFunction& one) { return wanted < one.begin; });
    return next != functions.begin() && address < std::prev(next)->end;
}

// Adds the functions in a file's .debug_frame.
void add_section(std::vector<CfiFunction>& to, const ElfFile& file, const CfiWidth& width, RuleCompiler& rules) {
    if (std::optional<std::string> text = read_section(file, ".debug_frame", most_debug_frame))
        add_functions(to, read_cfi(*text, 0, CfiKind::DebugFrame, width, rules));
}

// Adds the functions in .debug_frame of the file. If the file has no such section, and .eh_frame does not cover all
// functions in .text, reads the separate debug file.
void add_debug_frame(std::vector<CfiFunction>& to, const ElfFile& file, const std::vector<FunctionSymbol>& functions,
                     const CfiWidth& width, RuleCompiler& rules) {
    if (file.find_section(".debug_frame"))
        return add_section(to, file, width, rules);
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
        add_section(to, *beside, width, rules);
}

// Adds Go's functions. Go's tables give the height of the stack, but not where rbp is saved. The rule
// SONDE_RULE_RBP_OF_GO makes handlers look two words below the CFA and check if rbp points there, because rbp may not
// be saved yet.
void add_go_frames(std::vector<CfiFunction>& to, const ElfFile& file) {
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
            function.rows = {{frame.address, SONDE_RULE(SONDE_RULE_RSP, 1, 0), 0},
                             {frame.address + 1, SONDE_RULE_NONE, 0}};
        } else {
            for (const GoHeight& height : frame.heights) {
                const bool known = height.bytes >= 0 && height.bytes % 8 == 0 && height.bytes / 8 < SONDE_RULE_CFA_MOST;
                const auto words = known ? static_cast<uint32_t>(height.bytes / 8) + 1 : 0;
                function.rows.push_back({height.address,
                                         known ? SONDE_RULE(SONDE_RULE_RSP, words, words > 1 ? SONDE_RULE_RBP_OF_GO : 0)
                                               : static_cast<uint32_t>(SONDE_RULE_UNKNOWN),
                                         0});
            }
        }
        if (!function.rows.empty())
            out.push_back(std::move(function));
    }
    add_functions(to, std::move(out));
}

// Adds the PLT sections. Their contents are known without a table, since linkers emit a few fixed patterns.
void add_stubs(std::vector<CfiFunction>& to, const ElfFile& file) {
    std::vector<CfiFunction> out;
    for (const char* name : {".plt", ".plt.sec", ".plt.got", ".plt.bnd", ".iplt"}) {
        const ElfSection* section = file.find_section(name);
        std::string_view code = file.section_data(name);
        if (section && !code.empty())
            out.push_back({section->address, section->address + code.size(), rows_of_stubs(section->address, code)});
    }
    add_functions(to, std::move(out));
}

// True if `code` begins with a return or with a jump, which at a function's end is a tail call.
bool leaves_function(std::string_view code) {
    constexpr std::string_view direct("\xc3\xc2\xe9\xeb");
    if (code.empty() || direct.find(code[0]) != std::string_view::npos)
        return !code.empty();
    if (code.starts_with("\xf3\xc3"sv) || code.starts_with("\xf2\xc3"sv))
        return true;
    const bool prefixed = code[0] == '\x41'; // a REX prefix, for r8 to r15
    return code.size() > 1u + prefixed && code[prefixed] == '\xff' && (code[1u + prefixed] & 0x38) == 0x20;
}

// Returns the bytes of a function, or nothing if the file does not contain them.
std::string_view code_of(const ElfFile& file, const FunctionSymbol& function) {
    for (const ElfSection& section : file.sections())
        if (function.address - section.address < section.size && (section.flags & SHF_EXECINSTR))
            return file.section_data(section.name)
                .substr(0, section.size)
                .substr(std::min<uint64_t>(function.address - section.address, file.section_data(section.name).size()),
                        function.size);
    return {};
}

// True for `mov $15,%eax; syscall`, the system call rt_sigreturn(). Signal handlers return to this code (SA_RESTORER in
// sigaction(2)).
bool is_signal_return(std::string_view code, bool is_32_bit) {
    return !is_32_bit && (code.starts_with("\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"sv) ||
                          code.starts_with("\xb8\x0f\x00\x00\x00\x0f\x05"sv));
}

// Adds functions that no table describes, using their code. The rules for signal trampolines replace those of a table:
// Go's table describes its trampoline as an ordinary function.
void add_by_code(std::vector<CfiFunction>& to, const ElfFile& file, const std::vector<FunctionSymbol>& functions,
                 RuleCompiler& rules) {
    std::vector<CfiFunction> out, signals;
    for (const FunctionSymbol& function : functions) {
        const bool covered = is_covered(to, function.address);
        if (covered && function.name.find("sigreturn") == std::string::npos)
            continue;
        std::string_view code = code_of(file, function);
        uint64_t end = function.address + function.size;
        // Handlers look up the address before a return address. The kernel, not a call, put this one on the stack, so
        // the byte before the trampoline must have its rule.
        if (is_signal_return(code, file.is_32_bit()))
            signals.push_back({function.address - 1, end, {{function.address - 1, rules.signal_frame(), 0}}});
        if (covered || code.empty() || function.size == 0)
            continue;
        auto next = std::upper_bound(to.begin(), to.end(), function.address,
                                     [](uint64_t wanted, const CfiFunction& one) { return wanted < one.begin; });
        end = next == to.end() ? end : std::min(end, next->begin);
        out.push_back({function.address, end,
                       rows_of_prologue(function.address, end - function.address, code, file.is_32_bit())});
    }
    for (const CfiFunction& one : signals)
        std::erase_if(to, [&](const CfiFunction& old) { return old.begin == one.begin + 1; });
    add_functions(to, std::move(signals));
    add_functions(to, std::move(out));
}

// Adds the code after the system call in glibc's clone() and clone3(). Their call frame information ends at the system
// call, because it would be wrong in the new thread. But the calling thread is at that instruction during the whole
// call, and a stack that is taken then must not end here. The code:
//
//     syscall                  the description ends before this instruction
//     test %rax,%rax
//     jl error
//     je child                 the next description begins at `child`
//     ret
//
// The rule for the gap checks rax to tell the two threads apart (RuleCompiler::after_clone).
void add_after_clones(std::vector<CfiFunction>& to, const ElfFile& file, RuleCompiler& rules) {
    constexpr uint64_t most = 32; // bytes
    constexpr auto call = "\x0f\x05\x48\x85\xc0"sv;
    constexpr uint32_t as_called = SONDE_RULE(SONDE_RULE_RSP, 1, 0);
    if (file.is_32_bit())
        return;
    std::vector<CfiFunction> out;
    for (size_t i = 0; i + 1 < to.size(); i++) {
        const uint64_t begin = to[i].end, end = to[i + 1].begin;
        if (end <= begin || end - begin > most || to[i].rows.empty() || to[i].rows.back().rule != as_called)
            continue;
        const FunctionSymbol gap{begin, end - begin, ""};
        if (code_of(file, gap).starts_with(call))
            out.push_back({begin, end, {{begin, as_called, 0}, {begin + 2, rules.after_clone(), 0}}});
    }
    add_functions(to, std::move(out));
}

// Makes the entry point of a program the outermost frame. Its code may not say so: compilers treat a _start() that is
// written in C as a function that returns. In shared libraries that are not programs, e_entry may be any function, so
// their rules stay.
void add_entry(std::vector<CfiFunction>& to, const ElfFile& file, const std::vector<FunctionSymbol>& functions) {
    constexpr uint64_t most = 64; // bytes, if the entry point has no symbol
    const uint64_t begin = file.entry();
    if (begin == 0)
        return;
    const bool is_program = !file.is_dynamic() || file.find_section(".interp");
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
    auto next = std::upper_bound(to.begin(), to.end(), begin,
                                 [](uint64_t wanted, const CfiFunction& one) { return wanted < one.begin; });
    end = next == to.end() ? end : std::min(end, next->begin);
    add_functions(to, {{begin, end, {{begin, SONDE_RULE_END, 0}}}});
}

} // namespace

std::vector<UnwindRow> rows_of_prologue(uint64_t address, uint64_t size, std::string_view code, bool is_32_bit) {
    constexpr std::string_view endbr64("\xf3\x0f\x1e\xfa"), endbr32("\xf3\x0f\x1e\xfb"), push_rbp("\x55");
    std::string_view moves[] = {"\x48\x89\xe5", "\x48\x8b\xec"}; // the two encodings of mov %rsp,%rbp
    if (is_32_bit)
        for (std::string_view& move : moves) // without the REX prefix
            move.remove_prefix(1);
    code = code.substr(0, size);
    uint64_t known = code.starts_with(endbr64) || code.starts_with(endbr32) ? endbr64.size() : 0;
    std::vector<UnwindRow> rows = {{address, SONDE_RULE(SONDE_RULE_RSP, 1, 0), 0}};
    bool pushed = code.substr(known).starts_with(push_rbp), moved = false;
    known++; // the shortest instruction
    if (pushed) {
        rows.push_back({address + known, SONDE_RULE(SONDE_RULE_RSP, 2, 2), 0});
        std::string_view next = code.substr(std::min<size_t>(known, code.size()));
        moved = next.starts_with(moves[0]) || next.starts_with(moves[1]);
        known += moved ? moves[0].size() : 1;
    }
    if (known < size)
        rows.push_back({address + known, SONDE_RULE(SONDE_RULE_NONE, moved ? 2 : 0, 0), 0});
    // Searches for `pop %rbp` or `leave` before a return: after it, the return address is on top of the stack again.
    // These bytes may also occur inside another instruction. That is harmless: the row then covers a byte at which no
    // instruction begins.
    for (size_t at = known; moved && at + 1 < code.size(); at++)
        if ((code[at] == '\x5d' || code[at] == '\xc9') && leaves_function(code.substr(at + 1))) { // pop %rbp, leave
            rows.push_back({address + at + 1, SONDE_RULE(SONDE_RULE_RSP, 1, 0), 0});
            if (at + 2 < size)
                rows.push_back({address + at + 2, SONDE_RULE(SONDE_RULE_NONE, 2, 0), 0});
        }
    return rows;
}

// Decodes the stubs one instruction at a time. Each push moves the return address away from rsp by one word. After an
// unknown instruction, the rest of the stub gets SONDE_RULE_NONE.
std::vector<UnwindRow> rows_of_stubs(uint64_t address, std::string_view code) {
    struct Instruction {
        std::string_view bytes;
        size_t size;
        int pushed;  // words
        bool leaves; // the stub ends here
    };
    static constexpr Instruction known[] = {
        {"\xf3\x0f\x1e\xfa"sv, 4, 0, false},
        {"\xf3\x0f\x1e\xfb"sv, 4, 0, false}, // endbr64, endbr32
        {"\xff\x35"sv, 6, 1, false},
        {"\xff\xb3"sv, 6, 1, false}, // push of a word in memory
        {"\x68"sv, 5, 1, false},     // push of a constant
        {"\xff\x25"sv, 6, 0, true},
        {"\xff\xa3"sv, 6, 0, true}, // indirect jmp
        {"\xf2\xff\x25"sv, 7, 0, true},
        {"\xe9"sv, 5, 0, true}, // indirect jmp with bnd prefix; jmp; below: jmp with bnd prefix
        {"\xf2\xe9"sv, 6, 0, true},
        {"\x90"sv, 1, 0, false},
        {"\xcc"sv, 1, 0, false},
        {"\x66\x90"sv, 2, 0, false},
        {"\x0f\x1f\x40\x00"sv, 4, 0, false},
        {"\x0f\x1f\x44\x00\x00"sv, 5, 0, false},
        {"\x66\x0f\x1f\x44\x00\x00"sv, 6, 0, false},
    };
    constexpr size_t stub = 16;
    std::vector<UnwindRow> rows;
    auto add = [&](size_t at, uint32_t rule) {
        if (rows.empty() || rows.back().rule != rule)
            rows.push_back({address + at, rule, 0});
    };
    // The first stub of .plt (PLT0) is reached by a jump from another stub, which has already pushed its index.
    unsigned words = code.starts_with("\xff\x35"sv) || code.starts_with("\xff\xb3"sv) ? 2 : 1;
    for (size_t at = 0; at < code.size();) {
        if (at % stub == 0 && at != 0)
            words = 1;
        add(at, SONDE_RULE(SONDE_RULE_RSP, words, 0));
        const auto* found = std::find_if(std::begin(known), std::end(known), [&](const Instruction& one) {
            return code.substr(at).starts_with(one.bytes);
        });
        if (found == std::end(known)) {
            add(at, SONDE_RULE_NONE);
            at = (at / stub + 1) * stub;
            words = 1;
            continue;
        }
        words = found->leaves ? 1 : words + static_cast<unsigned>(found->pushed);
        at += found->size;
    }
    return rows;
}

UnwindRules read_unwind_rules(const ElfFile& file, const std::vector<FunctionSymbol>& functions) {
    const CfiWidth& width = file.is_32_bit() ? narrow_cfi : wide_cfi;
    UnwindRules out;
    RuleCompiler rules(out.steps);
    std::vector<CfiFunction> all;
    if (const ElfSection* section = file.find_section(".eh_frame"))
        add_functions(all, read_cfi(file.section_data(".eh_frame"), section->address, CfiKind::EhFrame, width, rules));
    add_go_frames(all, file);
    add_debug_frame(all, file, functions, width, rules);
    add_stubs(all, file);
    add_after_clones(all, file, rules);
    add_entry(all, file, functions);
    add_by_code(all, file, functions, rules);
    out.rows = join_functions(all);
    if (file.is_32_bit())
        for (UnwindRow& row : out.rows)
            row.rule |= SONDE_RULE_NARROW;
    return out;
}

} // namespace sonde
