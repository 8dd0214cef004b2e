// Compares code with instructions that compilers and linkers generate. If one is missing here, stacks end too early. If
// a comparison also matches other code, stacks are wrong, which is worse: so compare all bits that matter. Encodings:
// Arm Architecture Reference Manual, section C4.1.
//
// A frame of gcc is at the lower end of what the function reserves, one of clang at the upper end:
//
//     stp x29, x30, [sp, #-48]!         sub sp, sp, #48
//     mov x29, sp                       stp x29, x30, [sp, #32]
//                                       add x29, sp, #32
//     ldp x29, x30, [sp], #48           ldp x29, x30, [sp, #32]
//     ret                               add sp, sp, #48
//                                       ret
#include "arch/arm64/frame_code.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace sonde::arm64 {
namespace {

constexpr size_t width = 4; // of an instruction
constexpr unsigned word = 8;

uint32_t instruction_at(std::string_view code, size_t at) {
    uint32_t out = 0;
    if (at + width <= code.size())
        std::memcpy(&out, code.data() + at, width);
    return out;
}

// A field of an instruction as a signed number.
int64_t signed_field(uint32_t one, unsigned first, unsigned bits) {
    const auto top = static_cast<int32_t>(one << (32 - first - bits));
    return top >> (32 - bits);
}
int64_t pair_offset(uint32_t one) { return word * signed_field(one, 15, 7); }

// `sub sp, sp, #n` and `add sp, sp, #n`: n; otherwise 0.
uint64_t adjusts_stack(uint32_t one, uint32_t opcode) {
    if ((one & 0xff8003ff) != (opcode | 31 << 5 | 31))
        return 0;
    return uint64_t{one >> 10 & 0xfff} << (one >> 22 & 1 ? 12 : 0);
}
constexpr uint32_t sub = 0xd1000000, add = 0x91000000;

// Pairs x29, x30 at sp, by the way in which they change sp.
constexpr uint32_t pair_mask = 0xffc07fff, push_pair = 0xa9807bfd, store_pair = 0xa9007bfd, pop_pair = 0xa8c07bfd,
                   load_pair = 0xa9407bfd;
bool is_pair(uint32_t one, uint32_t which) { return (one & pair_mask) == which; }

// Nops, the signing of return addresses, and marks for the targets of indirect jumps.
bool is_hint(uint32_t one) { return (one & 0xfffff01f) == 0xd503201f; }
bool is_return(uint32_t one) {
    return (one & 0xfffffc1f) == 0xd65f0000 || one == 0xd65f0bff || one == 0xd65f0fff; // ret, retaa, retab
}
// A return, or a jump, which behind the end of a frame is a tail call.
bool leaves_function(uint32_t one) {
    return is_return(one) || (one & 0xfc000000) == 0x14000000 || (one & 0xfefff000) == 0xd61f0000;
}
// Stores relative to sp that change no register: stp, str of one register with an offset.
bool is_store_to_stack(uint32_t one) {
    const bool pair = (one & 0x3bc00000) == 0x29000000, single = (one & 0x3bc00000) == 0x39000000;
    return (pair || single) && (one >> 5 & 31) == 31;
}

// Whether the instruction perhaps changes sp or x30. Comparisons, whose result has the same number as sp, do not.
bool may_change_frame(uint32_t one) {
    if (is_hint(one) || is_return(one) || is_store_to_stack(one))
        return false;
    const bool branches = (one & 0x1c000000) == 0x14000000;
    if (branches) {
        const bool is_call = (one & 0xfc000000) == 0x94000000 || (one & 0xfe600000) == 0xd6200000,
                   is_system = (one & 0xff000000) == 0xd5000000 && (one & 31) == 30;
        return is_call || is_system;
    }
    const bool is_memory = (one & 0x0a000000) == 0x08000000;
    const uint32_t to = one & 31, second = one >> 10 & 31, base = one >> 5 & 31;
    if (is_memory)
        return to == 30 || second == 30 || base == 31;
    const bool sets_flags = (one & 0x3f000000) == 0x31000000 || (one & 0x3f000000) == 0x2b000000 ||
                            (one & 0x7f800000) == 0x72000000 || (one & 0x7f000000) == 0x6a000000;
    return to == 30 || (to == 31 && !sets_flags);
}
bool is_leaf(std::string_view code) {
    for (size_t at = 0; at + width <= code.size(); at += width)
        if (may_change_frame(instruction_at(code, at)))
            return false;
    return true;
}

FrameRow in_link(size_t at, uint64_t reserved) {
    return {at, FrameRow::Link, static_cast<unsigned>(reserved / word), 0};
}

// A frame while the prologue is followed. Sizes are in bytes.
struct Frame {
    uint64_t reserved = 0; // from sp to the CFA
    uint64_t saved = 0;    // x29 is saved so far below the CFA, x30 above it; 0: nothing is saved
    bool alone = false;    // only x30 is saved, so far below the CFA
    bool is_own = false;   // x29 points to the saved one

    FrameRow row(size_t at) const {
        const auto cfa = static_cast<unsigned>(reserved / word), below = static_cast<unsigned>(saved / word);
        if (is_own)
            return {at, FrameRow::Pointer, below, below};
        if (alone)
            return {at, FrameRow::Alone, cfa, below};
        return saved ? FrameRow{at, FrameRow::Stack, cfa, below} : in_link(at, reserved);
    }
    // Whether rules can hold these distances, and x30 is inside of the frame.
    bool is_valid() const {
        constexpr uint64_t most = 1000;
        return reserved % word == 0 && saved <= reserved && saved / word <= most && (alone || saved != word);
    }
    // Follows an instruction. Returns false if it is not one of a prologue.
    bool follow(uint32_t one) {
        if (is_hint(one))
            return true;
        if (const uint64_t more = adjusts_stack(one, sub)) {
            reserved += more;
            saved += saved ? more : 0;
            return saved == 0; // frames that grow later have other rules
        }
        if (saved == 0 && (is_pair(one, push_pair) || is_pair(one, store_pair))) {
            const int64_t offset = pair_offset(one);
            const bool push = is_pair(one, push_pair);
            if (push ? offset >= 0 : offset < 0 || static_cast<uint64_t>(offset) >= reserved)
                return false;
            reserved += push ? static_cast<uint64_t>(-offset) : 0;
            saved = push ? reserved : reserved - static_cast<uint64_t>(offset);
            return true;
        }
        if (saved == 0 && (one & 0xffe00fff) == 0xf8000ffe && signed_field(one, 12, 9) < 0) { // str x30, [sp, #-n]!
            reserved += static_cast<uint64_t>(-signed_field(one, 12, 9));
            saved = reserved;
            return alone = true;
        }
        const uint64_t frame_at = one >> 10 & 0xfff;
        if (saved && !alone && (one & 0xffc003ff) == (add | 31 << 5 | 29) && frame_at == reserved - saved)
            return is_own = true; // add x29, sp, #n
        return is_store_to_stack(one) && (one & 31) != 30 && (one >> 10 & 31) != 30;
    }
};

} // namespace

// A function without a frame, and without calls, keeps the return address in x30. Other functions are followed up to
// the first instruction that is not one of a prologue; from there on, their own frame pointer leads on, until the end
// of the frame before each return.
std::vector<FrameRow> function_frames(std::string_view code, size_t size) {
    std::vector<FrameRow> rows = {in_link(0, 0)};
    auto push = [&](const FrameRow& row) {
        if (row.at < size && !rows.back().same_frame(row))
            rows.push_back(row);
    };
    if (is_leaf(code) && code.size() == size)
        return rows;
    Frame frame;
    size_t at = 0;
    for (; at + width <= code.size() && frame.follow(instruction_at(code, at)) && frame.is_valid(); at += width) {
        push(frame.row(at + width));
        if (frame.is_own)
            break;
    }
    if (!frame.is_own || !frame.is_valid()) {
        push({at + width, FrameRow::Unknown, 0, 0});
        return rows;
    }
    const FrameRow own = frame.row(0);
    uint64_t reserved = 0;
    bool ends = false;
    for (at += width; at + width <= code.size(); at += width) {
        const uint32_t one = instruction_at(code, at);
        if (is_pair(one, pop_pair) || is_pair(one, load_pair)) {
            // If the pair is at sp, the CFA is above it; the pop has already moved sp. Otherwise sp is as after the
            // prologue, or this is another pair.
            const bool pop = is_pair(one, pop_pair);
            const auto offset = static_cast<uint64_t>(pair_offset(one));
            if (pop ? offset > frame.saved : offset != frame.reserved - frame.saved)
                continue;
            ends = true;
            reserved = pop ? frame.saved - offset : frame.reserved;
        } else if (!ends) {
            continue;
        } else if (const uint64_t less = adjusts_stack(one, add)) {
            reserved -= std::min(reserved, less);
        } else if (leaves_function(one)) {
            ends = false;
            push({at + width, own.kind, own.cfa, own.saved});
            continue;
        }
        push(in_link(at + width, reserved));
    }
    return rows;
}

// Only the first entry changes the stack: it stores x16 and x30, and jumps to the dynamic loader.
std::vector<FrameRow> stub_frames(std::string_view code) {
    constexpr uint32_t store = 0xa9bf7bf0; // stp x16, x30, [sp, #-16]!
    std::vector<FrameRow> rows = {in_link(0, 0)};
    bool stored = false;
    for (size_t at = 0; at + width <= code.size(); at += width) {
        const uint32_t one = instruction_at(code, at);
        if (one == store || (stored && leaves_function(one))) {
            stored = one == store;
            rows.push_back(stored ? FrameRow{at + width, FrameRow::Alone, 2, 1} : in_link(at + width, 0));
        }
    }
    return rows;
}

// `mov x8, #139; svc #0`: the system call rt_sigreturn().
bool is_signal_return(std::string_view code) {
    return instruction_at(code, 0) == 0xd2801168 && instruction_at(code, width) == 0xd4000001;
}

} // namespace sonde::arm64
