// Where calls of an inlined copy come in: by machine code, lines and the addresses of the copy.
#include <string>
#include <vector>

#include <elf.h>

#include <gtest/gtest.h>

#include "frontend/dwarf/copy_flow.h"
#include "frontend/dwarf/copy_verdict.h"

namespace sonde {
namespace {

const Architecture& x86_64() { return *architecture_of(EM_X86_64, false); }

constexpr Address start = 0x1000, sink = 0x3000;
constexpr bool copy = true, caller = false;

struct Instruction {
    bool in_copy = false;
    int line = 0; // negative: a statement begins
    std::string bytes;
    bool to_sink = false; // its displacement, the last four bytes, gives the address of `sink`
};

const std::string load = {'\x48', '\x8b', '\x15', 0, 0, 0, 0};  // mov sink(%rip),%rdx
const std::string store = {'\x48', '\x89', '\x15', 0, 0, 0, 0}; // mov %rdx,sink(%rip)
const std::string add = {'\x48', '\x01', '\x15', 0, 0, 0, 0};   // add %rdx,sink(%rip)
const std::string inc = "\x48\xff\xc1";                         // inc %rcx
const std::string lea = "\x48\x8d\x41\xfe";                     // lea -2(%rcx),%rax
const std::string ret = "\xc3";
const std::string move = "\x48\x89\xc2";           // mov %rax,%rdx
const std::string compare = "\x48\x39\xca";        // cmp %rcx,%rdx
const std::string shift = "\x48\xc1\xe8\x03";      // shr $3,%rax
const std::string packed_add = "\x66\x0f\xfe\xc1"; // paddd %xmm1,%xmm0

// The addresses, counted in instructions, where calls come in; -1 at the end: some code is of more calls; -2: some may
// be; -3: there is another doubt.
std::vector<int> beginnings(const std::vector<Instruction>& instructions) {
    CodeFlow::Part part{start, ""};
    std::vector<std::pair<Address, Address>> ranges;
    std::vector<SourcePlace> places;
    for (const Instruction& one : instructions) {
        const Address at = start + part.bytes.size(), next = at + one.bytes.size();
        std::string bytes = one.bytes;
        for (size_t i = 0; one.to_sink && i < 4; i++)
            bytes[bytes.size() - 4 + i] = static_cast<char>((sink - next) >> (8 * i));
        part.bytes += bytes;
        if (one.in_copy)
            ranges.emplace_back(at, next);
        places.push_back({"f.c", std::abs(one.line), 1, one.line < 0});
    }
    const CodeFlow flow(x86_64(), {part}, [](Address, size_t) { return std::string(); });
    Copy inlined(flow, ranges);
    inlined.remove(moved_nodes(inlined, 0));
    std::vector<bool> has_line;
    for (const Instruction& one : instructions)
        has_line.push_back(one.line != 0);
    const std::vector<bool> of_caller = nodes_of_caller(inlined, has_line);
    inlined.add(neutral_between(inlined, of_caller));
    CopyEntries entries = entries_of(inlined, 0);
    meet(inlined, entries);
    const bool is_whole = drop_continuations(inlined, 0, places, entries);
    std::vector<int> out(entries.targets.begin(), entries.targets.end());
    if (!is_whole)
        out.push_back(-1);
    if (entries.is_doubtful)
        out.push_back(-2);
    if (doubt_of_entries(inlined, entries, 0, of_caller))
        out.push_back(-3);
    return out;
}

TEST(CopyFlow, EffectsAreThePlacesThatAreWritten) {
    // add %rdx,sink; mov %rdx,sink; mov sink,%rdx; mov %rdx,8(%rsp); mov %rdx,8(%rax)
    const std::string bytes = std::string("\x48\x01\x15\xf9\x0f\0\0", 7) + std::string("\x48\x89\x15\xf2\x0f\0\0", 7) +
                              std::string("\x48\x8b\x15\xeb\x0f\0\0", 7) + "\x48\x89\x54\x24\x08" + "\x48\x89\x50\x08";
    const CodeFlow flow(x86_64(), {{start, bytes}}, [](Address, size_t) { return std::string(); });
    ASSERT_EQ(flow.nodes().size(), 5u);
    EXPECT_NE(flow.nodes()[0].effect, 0u);
    EXPECT_EQ(flow.nodes()[0].effect, flow.nodes()[1].effect);
    EXPECT_EQ(flow.nodes()[2].effect, 0u);
    EXPECT_EQ(flow.nodes()[3].effect, 0u);
    EXPECT_NE(flow.nodes()[4].effect, 0u);
    EXPECT_NE(flow.nodes()[4].effect, flow.nodes()[0].effect);
}

// gcc's Fortran marks each instruction behind one of the caller's as a statement of the same line.
TEST(CopyFlow, GoingOnBehindTheCallersInstructionsIsNoCall) {
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {copy, -5, load, true},
                          {caller, -9, inc},
                          {copy, -5, lea},
                          {caller, -9, inc},
                          {copy, -5, store, true},
                          {caller, -9, ret}}),
              (std::vector<int>{1}));
}

TEST(CopyFlow, AnUnrolledLoopCallsOnceForEachDuplicate) {
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {copy, -5, load, true},
                          {caller, 9, inc},
                          {copy, 5, store, true},
                          {caller, -9, inc},
                          {copy, -5, load, true},
                          {copy, 5, store, true},
                          {caller, -9, ret}}),
              (std::vector<int>{1, 5}));
    // Nothing of the caller is left between the last two.
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {copy, -5, add, true},
                          {caller, -9, inc},
                          {copy, -5, add, true},
                          {copy, -5, add, true},
                          {caller, -9, ret}}),
              (std::vector<int>{1, 3, 4}));
}

TEST(CopyFlow, TheFirstLineComesTwiceInOneCall) {
    // je over the middle, as in `n = p ? *p + 1 : 1` at -O0, and the store behind both branches
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {copy, -5, inc},
                          {copy, 5, std::string("\x74\x03")},
                          {copy, -5, inc},
                          {copy, -5, store, true},
                          {caller, -9, ret}}),
              (std::vector<int>{1}));
}

// clang puts the loop's preparation into the copy: the loop's head is where it leads to, and others come.
TEST(CopyFlow, ThePreparationOfALoopLeadsToItsHead) {
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {copy, -6, lea},
                          {copy, -5, add, true},
                          {copy, -6, inc},
                          {caller, -9, inc},
                          {caller, 9, std::string("\x75\xf1")}, // jne to the `add`
                          {caller, -9, ret}}),
              (std::vector<int>{2}));
}

TEST(CopyFlow, DuplicatesThatHaveGrownTogetherAreNoticed) {
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {copy, -5, store, true},
                          {copy, 5, add, true},
                          {caller, -9, inc},
                          {copy, -5, add, true},
                          {caller, -9, ret}}),
              (std::vector<int>{1, 4, -1}));
}

// An unrolled loop around the copy, or an unrolled loop in the function: both look like this.
TEST(CopyFlow, CodeThatRepeatsItselfIsDoubtful) {
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {copy, -5, add, true},
                          {copy, 5, inc},
                          {copy, 5, add, true},
                          {copy, 5, add, true},
                          {caller, -9, ret}}),
              (std::vector<int>{1, -2}));
    // Each round of a loop around the copy has two calls.
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {copy, -5, add, true},
                          {copy, 5, add, true},
                          {caller, 9, inc},
                          {caller, 9, std::string("\x75\xed")}, // jne to the first `add`
                          {caller, -9, ret}}),
              (std::vector<int>{1, -2}));
}

TEST(CopyFlow, WhatAllRepetitionsFollowShowsThatTheyAreOneCall) {
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {copy, -5, store, true},
                          {copy, 6, add, true},
                          {copy, 6, add, true},
                          {caller, -9, ret}}),
              (std::vector<int>{1}));
    // The first `add` comes before the other effect.
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {copy, -6, add, true},
                          {copy, 5, store, true},
                          {copy, 6, add, true},
                          {caller, -9, ret}}),
              (std::vector<int>{1, -2}));
}

TEST(CopyFlow, ALoopInTheFunctionIsNotDoubtful) {
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {copy, -5, inc},
                          {copy, 6, add, true},
                          {copy, 6, add, true},
                          {copy, 6, std::string("\x75\xf0")}, // jne to the first `add`
                          {caller, -9, ret}}),
              (std::vector<int>{1}));
}

// The code after the first return is reached by exceptions only.
TEST(CopyFlow, CallsBeginBehindLandingPadsToo) {
    EXPECT_EQ(beginnings({{caller, -9, ret},
                          {caller, -9, inc},
                          {copy, -5, load, true},
                          {caller, -9, inc},
                          {copy, -5, store, true},
                          {caller, -9, ret}}),
              (std::vector<int>{2}));
}

TEST(CopyFlow, BranchesOfOneCallAreNotAddedUp) {
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {copy, -5, inc},
                          {copy, 5, std::string("\x74\x09")}, // je to the second `store`
                          {copy, 6, store, true},
                          {copy, 6, std::string("\xeb\x07")},
                          {copy, 6, store, true},
                          {caller, -9, inc},
                          {copy, -5, inc},
                          {copy, 6, store, true},
                          {caller, -9, ret}}),
              (std::vector<int>{1, 7}));
}

// A loop of the copied function. Its back edge goes through a `mov` that has no line, or one of the caller.
TEST(CopyFlow, ALoopThroughACopiedRegisterIsNoCall) {
    for (int line : {0, 9})
        EXPECT_EQ(beginnings({{caller, -9, inc},
                              {caller, line, move},
                              {copy, -5, shift},
                              {copy, 5, compare},
                              {copy, 5, std::string("\x75\xf4")}, // jne to the `mov`
                              {caller, -9, ret}}),
                  (std::vector<int>{1}))
            << line;
}

TEST(CopyFlow, ALoopOfTheCallerCallsEachTime) {
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {copy, -5, shift},
                          {copy, 5, compare},
                          {caller, 9, inc},
                          {caller, 9, std::string("\x75\xf4")}, // jne to the `shr`
                          {caller, -9, ret}}),
              (std::vector<int>{1}));
}

// The first iteration of the caller's loop is before the loop.
TEST(CopyFlow, ADuplicatedBeginningIsACall) {
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {copy, -5, shift},
                          {copy, 5, compare},
                          {caller, 9, store, true},
                          {copy, -5, shift},
                          {copy, 5, compare},
                          {caller, 9, inc},
                          {caller, 9, std::string("\x75\xf4")}, // jne to the second `shr`
                          {caller, -9, ret}}),
              (std::vector<int>{1, 4}));
    // Nothing of the caller is left between the two calls.
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {copy, -5, shift},
                          {copy, 5, compare},
                          {copy, -5, shift},
                          {copy, 5, compare},
                          {caller, -9, ret}}),
              (std::vector<int>{1, -2}));
}

// `mov $0,%ecx` of the copy is before the caller's loop.
TEST(CopyFlow, WhatWasMovedOutOfALoopIsNoEntry) {
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {copy, 5, std::string("\xb9\0\0\0\0", 5)},
                          {caller, 9, lea},
                          {copy, -6, shift},
                          {copy, 6, compare},
                          {caller, 9, inc},
                          {caller, 9, std::string("\x75\xf0")}, // jne to the `lea`
                          {caller, -9, ret}}),
              (std::vector<int>{3}));
}

// The caller knows that the first part of one of the calls has nothing to do.
TEST(CopyFlow, ACallCanBeginInTheMiddle) {
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {caller, 9, std::string("\x74\x09")}, // je to the `add`
                          {copy, -5, shift},
                          {copy, 5, compare},
                          {copy, 5, std::string("\x75\x07")}, // jne over the `add`
                          {copy, -6, add, true},
                          {caller, -9, ret}}),
              (std::vector<int>{2, 5}));
}

TEST(CopyFlow, VectorizedLoopsAroundTheCopyAreDoubtful) {
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {copy, -5, packed_add},
                          {caller, 9, inc},
                          {caller, 9, std::string("\x75\xf7")}, // jne to the `paddd`
                          {caller, -9, ret}}),
              (std::vector<int>{1, -3}));
    // The loop belongs to the function.
    EXPECT_EQ(beginnings({{caller, -9, inc},
                          {copy, -5, shift},
                          {copy, -6, packed_add},
                          {copy, 6, std::string("\x75\xfa")}, // jne to the `paddd`
                          {caller, -9, ret}}),
              (std::vector<int>{1}));
}

} // namespace
} // namespace sonde
