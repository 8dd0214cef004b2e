// Compares code with byte sequences that compilers and linkers generate. If a sequence is missing here, stacks end too
// early. If a sequence also matches other code, stacks are wrong, which is worse: so compare all bytes that matter.
#include "arch/x86_64/frame_code.h"

#include <algorithm>
#include <span>

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

// The beginning of a function. Sizes are in bytes.
struct FramePrologue {
    size_t mark = 0; // a mark for the target of indirect jumps
    size_t push = 0; // the instruction behind it, if it pushes the frame pointer
    size_t move = 0; // the instruction behind that, if it sets the frame pointer to the stack pointer
};

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

// Returns the size of an instruction that removes the frame of the frame pointer (pop %rbp, leave), if an instruction
// follows that leaves the function. Otherwise 0.
size_t frame_epilogue(std::string_view code) {
    return code.size() > 1 && (code[0] == '\x5d' || code[0] == '\xc9') && leaves_function(code.substr(1)) ? 1 : 0;
}

// An instruction in the procedure linkage table.
struct StubInstruction {
    std::string_view bytes; // its beginning
    size_t size;
    unsigned pushed; // words
    bool leaves;     // the stub ends here
    // The first stub begins with such an instruction. It is reached by a jump from another stub, which has already
    // pushed its index.
    bool begins_first = false;
};
constexpr StubInstruction stub_instructions[] = {
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

} // namespace

// At the function's first instruction, the return address is on top of the stack. After the prologue, the code has its
// own frame pointer, or nothing is known.
std::vector<FrameRow> function_frames(std::string_view code, size_t size, X86Mode mode) {
    constexpr size_t shortest = 1; // instruction
    const FramePrologue prologue = frame_prologue(code, mode);
    std::vector<FrameRow> rows = {{0, FrameRow::Stack, 1, 0}};
    size_t known = prologue.mark + std::max(prologue.push, shortest);
    if (prologue.push) {
        rows.push_back({known, FrameRow::Stack, 2, 2});
        known += std::max(prologue.move, shortest);
    }
    if (known < size)
        rows.push_back({known, prologue.move ? FrameRow::Frame : FrameRow::Unknown, 0, 0});
    // Searches for the end of the frame before a return: after it, the return address is on top of the stack again.
    // These bytes may also occur inside another instruction. That is harmless: the row then covers a byte at which no
    // instruction begins.
    for (size_t at = known; prologue.move && at < code.size(); at++)
        if (const size_t length = frame_epilogue(code.substr(at))) {
            rows.push_back({at + length, FrameRow::Stack, 1, 0});
            if (at + length + shortest < size)
                rows.push_back({at + length + shortest, FrameRow::Frame, 0, 0});
        }
    return rows;
}

// Decodes the stubs, 16 bytes each, one instruction at a time. Each push moves the return address away from sp by one
// word. After an unknown instruction, nothing is known about the rest of the stub.
std::vector<FrameRow> stub_frames(std::string_view code) {
    const std::span<const StubInstruction> known = stub_instructions;
    auto find = [&](size_t at) {
        return std::ranges::find_if(known,
                                    [&](const StubInstruction& one) { return code.substr(at).starts_with(one.bytes); });
    };
    constexpr size_t stub = 16;
    std::vector<FrameRow> rows;
    auto add = [&](const FrameRow& row) {
        if (rows.empty() || !rows.back().same_frame(row))
            rows.push_back(row);
    };
    const auto first = find(0);
    unsigned words = first != known.end() && first->begins_first ? 2 : 1;
    for (size_t at = 0; at < code.size();) {
        if (at % stub == 0 && at != 0)
            words = 1;
        add({at, FrameRow::Stack, words, 0});
        const auto found = find(at);
        if (found == known.end()) {
            add({at, FrameRow::Unknown, 0, 0});
            at = (at / stub + 1) * stub;
            words = 1;
            continue;
        }
        words = found->leaves ? 1 : words + found->pushed;
        at += found->size;
    }
    return rows;
}

// `mov $15,%eax; syscall`: the system call rt_sigreturn().
bool is_signal_return(std::string_view code) {
    return code.starts_with("\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"sv) ||
           code.starts_with("\xb8\x0f\x00\x00\x00\x0f\x05"sv);
}

} // namespace sonde::x86
