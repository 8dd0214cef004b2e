// Compares code with byte sequences that compilers and linkers generate. If a sequence is missing here, stacks end too
// early. If a sequence also matches other code, stacks are wrong, which is worse: so compare all bytes that matter.
#include "arch/x86_64/frame_code.h"

#include <algorithm>
#include <span>

namespace sonde::x86 {
namespace {

using namespace std::literals;

constexpr std::string_view endbr64 = "\xf3\x0f\x1e\xfa"sv, endbr32 = "\xf3\x0f\x1e\xfb"sv;

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
