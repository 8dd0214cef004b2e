// Compares code with instructions that compilers and linkers generate. If one is missing here, stacks end too early. If
// a comparison also matches other code, stacks are wrong, which is worse: so compare all bits that matter. Encodings:
// Arm Architecture Reference Manual, section C4.1.
#include "arch/arm64/frame_code.h"

#include <cstdint>
#include <cstring>

namespace sonde::arm64 {
namespace {

constexpr size_t width = 4; // of an instruction

uint32_t instruction_at(std::string_view code, size_t at) {
    uint32_t out = 0;
    if (at + width <= code.size())
        std::memcpy(&out, code.data() + at, width);
    return out;
}

bool is_return(uint32_t one) {
    return (one & 0xfffffc1f) == 0xd65f0000 || one == 0xd65f0bff || one == 0xd65f0fff; // ret, retaa, retab
}
// A return, or a jump, which behind the end of a frame is a tail call.
bool leaves_function(uint32_t one) {
    return is_return(one) || (one & 0xfc000000) == 0x14000000 || (one & 0xfefff000) == 0xd61f0000;
}
FrameRow in_link(size_t at) { return {at, FrameRow::Link, 0, 0}; }

} // namespace

// Only the first entry changes the stack: it stores x16 and x30, and jumps to the dynamic loader.
std::vector<FrameRow> stub_frames(std::string_view code) {
    constexpr uint32_t store = 0xa9bf7bf0; // stp x16, x30, [sp, #-16]!
    std::vector<FrameRow> rows = {in_link(0)};
    bool stored = false;
    for (size_t at = 0; at + width <= code.size(); at += width) {
        const uint32_t one = instruction_at(code, at);
        if (one == store || (stored && leaves_function(one))) {
            stored = one == store;
            rows.push_back(stored ? FrameRow{at + width, FrameRow::Alone, 2, 1} : in_link(at + width));
        }
    }
    return rows;
}

// `mov x8, #139; svc #0`: the system call rt_sigreturn().
bool is_signal_return(std::string_view code) {
    return instruction_at(code, 0) == 0xd2801168 && instruction_at(code, width) == 0xd4000001;
}

} // namespace sonde::arm64
