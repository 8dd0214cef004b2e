// Compares code with byte sequences that compilers and linkers generate. If a sequence is missing here, stacks end too
// early. If a sequence also matches other code, stacks are wrong, which is worse: so compare all bytes that matter.
#include "arch/x86_64/frame_code.h"

namespace sonde::x86 {
namespace {

using namespace std::literals;

constexpr std::string_view endbr64 = "\xf3\x0f\x1e\xfa"sv, endbr32 = "\xf3\x0f\x1e\xfb"sv;

// Whether `code` begins with a return or with a jump, which at a function's end is a tail call.
bool leaves_function(std::string_view code) {
    constexpr std::string_view direct("\xc3\xc2\xe9\xeb");
    if (code.empty() || direct.find(code[0]) != std::string_view::npos)
        return !code.empty();
    if (code.starts_with("\xf3\xc3"sv) || code.starts_with("\xf2\xc3"sv))
        return true;
    const bool prefixed = code[0] == '\x41'; // a REX prefix, for r8 to r15
    return code.size() > 1u + prefixed && code[prefixed] == '\xff' && (code[1u + prefixed] & 0x38) == 0x20;
}

} // namespace

FramePrologue frame_prologue(std::string_view code, X86Mode mode) {
    FramePrologue out;
    out.mark = code.starts_with(endbr64) || code.starts_with(endbr32) ? endbr64.size() : 0;
    code.remove_prefix(out.mark);
    if (!code.starts_with('\x55')) // push %rbp
        return out;
    out.push = 1;
    code.remove_prefix(out.push);
    for (std::string_view move : {"\x48\x89\xe5"sv, "\x48\x8b\xec"sv}) { // the two encodings of mov %rsp,%rbp
        if (mode == X86Mode::Protected)
            move.remove_prefix(1); // without the REX prefix
        if (code.starts_with(move))
            out.move = move.size();
    }
    return out;
}

// pop %rbp, leave
size_t frame_epilogue(std::string_view code) {
    return code.size() > 1 && (code[0] == '\x5d' || code[0] == '\xc9') && leaves_function(code.substr(1)) ? 1 : 0;
}

std::span<const StubInstruction> stub_instructions() {
    static constexpr StubInstruction known[] = {
        {endbr64, 4, 0, false},
        {endbr32, 4, 0, false},
        {"\xff\x35"sv, 6, 1, false, true}, // push of a word in memory
        {"\xff\xb3"sv, 6, 1, false, true},
        {"\x68"sv, 5, 1, false},    // push of a constant
        {"\xff\x25"sv, 6, 0, true}, // indirect jmp
        {"\xff\xa3"sv, 6, 0, true},
        {"\xf2\xff\x25"sv, 7, 0, true}, // with a bnd prefix
        {"\xe9"sv, 5, 0, true},         // jmp
        {"\xf2\xe9"sv, 6, 0, true},
        {"\x90"sv, 1, 0, false}, // nops and padding
        {"\xcc"sv, 1, 0, false},
        {"\x66\x90"sv, 2, 0, false},
        {"\x0f\x1f\x40\x00"sv, 4, 0, false},
        {"\x0f\x1f\x44\x00\x00"sv, 5, 0, false},
        {"\x66\x0f\x1f\x44\x00\x00"sv, 6, 0, false},
    };
    return known;
}

// `mov $15,%eax; syscall`: the system call rt_sigreturn().
bool is_signal_return(std::string_view code) {
    return code.starts_with("\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"sv) ||
           code.starts_with("\xb8\x0f\x00\x00\x00\x0f\x05"sv);
}

} // namespace sonde::x86
