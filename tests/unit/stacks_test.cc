// runtime/symbols: rows compiled from call frame information, tables of files, functions, libraries, and the text of
// stacks.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <elfutils/libdw.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <span>

#include <fmt/format.h>

#include <elf.h>

#include "arch/arm64/arm64.h"
#include "arch/x86_64/x86_64.h"
#include "base/elf_file.h"
#include "base/fd.h"
#include "base/shared_libraries.h"
#include "runtime/plan/file_table.h"
#include "runtime/symbols/cfi.h"
#include "runtime/symbols/code_frames.h"
#include "runtime/symbols/functions.h"
#include "runtime/symbols/inlined.h"
#include "runtime/symbols/jit_names.h"
#include "runtime/symbols/lines.h"
#include "runtime/symbols/symbols.h"
#include "runtime/symbols/table.h"
#include "runtime/symbols/unwind_rows.h"
#include "runtime/values/format.h"
#include "tests/unit/of_host.h"

namespace sonde {
namespace {

std::string trigger(const std::string& name) { return std::string(SONDE_TRIGGERS) + "/" + name; }

std::vector<std::string> problems; // must remain empty

ElfFile open_elf(const std::string& path) {
    Result<ElfFile> file = ElfFile::open(path);
    EXPECT_TRUE(file.ok()) << path;
    return *std::move(file);
}

// ---- rules ----------------------------------------------------------------------------------------------------------

constexpr uint64_t section = 0x10000, code = 0x4000;

std::string word(uint32_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }
std::string record(std::string body) {
    body.resize((body.size() + 7) / 8 * 8 + 4); // padded with DW_CFA_nop
    return word(static_cast<uint32_t>(body.size())) + body;
}
std::string bytes(std::initializer_list<int> list) {
    std::string out;
    for (int byte : list)
        out += static_cast<char>(byte);
    return out;
}

std::string words(std::initializer_list<uint32_t> list) {
    std::string out;
    for (uint32_t one : list)
        out += word(one);
    return out;
}

// A CIE as compilers write it for x86-64 (CFA = sp + 8, return address at CFA - 8) or for i386 (CFA = esp + 4), and
// functions of 0x100 bytes.
class Frames {
  public:
    explicit Frames(const std::string& letters = "zR") {
        std::string cie = word(0) + bytes({1}) + letters + bytes({0, 1, 0x78, 16, 1, 0x1b});
        text_ = record(cie + bytes({0x0c, 7, 8, 0x90, 1}));
    }
    static Frames narrow() {
        Frames out;
        out.architecture_ = architecture_of(EM_386, true);
        std::string cie = word(0) + bytes({1}) + "zR" + bytes({0, 1, 0x7c, 8, 1, 0x1b});
        out.text_ = record(cie + bytes({0x0c, 4, 4, 0x88, 1}));
        return out;
    }
    // For arm64: CFA = sp, and the return address is in x30.
    static Frames with_link(const std::string& letters = "zR") {
        Frames out;
        out.architecture_ = &arm64_architecture();
        std::string cie = word(0) + bytes({1}) + letters + bytes({0, 4, 0x78, 30, 1, 0x1b});
        out.text_ = record(cie + bytes({0x0c, 31, 0}));
        return out;
    }
    Frames& function(uint64_t begin, const std::string& instructions, uint32_t size = 0x100) {
        uint64_t field = section + text_.size() + 8;
        std::string fde = word(static_cast<uint32_t>(text_.size() + 4)) + word(static_cast<uint32_t>(begin - field));
        text_ += record(fde + word(size) + bytes({0}) + instructions);
        return *this;
    }
    std::string text() const { return text_ + word(0); }
    std::string rows() const;

  private:
    std::string text_;
    const Architecture* architecture_ = &x86_64_architecture();
};

// A program without its end.
std::string describe_steps(const std::vector<uint64_t>& steps, size_t at) {
    static const char* const kinds[] = {
        "end", "rest", "number", "reg",   "cfa",   "add",  "read", "pick", "drop", "swap",   "rotate", "negate",
        "not", "abs",  "plus",   "minus", "times", "and",  "or",   "xor",  "shl",  "shr",    "sar",    "eq",
        "ne",  "lt",   "le",     "gt",    "ge",    "jump", "bra",  "CFA=", "set",  "forget", "signal",
    };
    static_assert(std::size(kinds) == SONDE_STEP_KINDS);
    std::string out;
    for (; at < steps.size() && SONDE_STEP_KIND(steps[at]) != SONDE_STEP_END; at++) {
        const uint64_t kind = SONDE_STEP_KIND(steps[at]);
        out += (out.empty() ? "" : " ") + std::string(kinds[kind]);
        if (kind == SONDE_STEP_REGISTER || kind == SONDE_STEP_SET || kind == SONDE_STEP_FORGET)
            out += fmt::format(":{}", SONDE_STEP_REGISTER_OF(steps[at]));
        if (SONDE_STEP_NUMBER_OF(steps[at]))
            out += fmt::format("{:+}", SONDE_STEP_NUMBER_OF(steps[at]));
    }
    return out;
}
std::string describe(const std::vector<UnwindRow>& rows, const std::vector<uint64_t>& steps = {}) {
    static const char* const kinds[] = {"none", "sp", "fp", "end", "unknown", "steps", "link", "alone"};
    std::string out;
    for (const UnwindRow& row : rows) {
        out += fmt::format("{}{:x}:{}", out.empty() ? "" : " ", row.address, kinds[SONDE_RULE_KIND(row.rule)]);
        if (SONDE_RULE_KIND(row.rule) == SONDE_RULE_STEPS) {
            out += "(" + describe_steps(steps, SONDE_RULE_STEP(row.rule)) + ")";
            continue;
        }
        if (SONDE_RULE_CFA(row.rule))
            out += fmt::format("+{}", SONDE_RULE_CFA(row.rule));
        if (SONDE_RULE_SAVED_FP(row.rule))
            out += fmt::format("/{}", SONDE_RULE_SAVED_FP(row.rule));
        if (row.saves)
            out += fmt::format("{{{:x}}}", row.saves);
    }
    return out;
}
std::string describe(const UnwindRules& rules) { return describe(rules.rows, rules.steps); }
std::string Frames::rows() const { return describe(compile_cfi(text(), section, CfiKind::EhFrame, *architecture_)); }

TEST(Cfi, FollowsAFramePointer) {
    // push %rbp; mov %rsp,%rbp; ... leave
    std::string instructions = bytes({0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x50, 0x0c, 7, 8});
    EXPECT_EQ(Frames().function(code, instructions).rows(), "4000:sp+1 4001:sp+2/2 4004:fp+2/2 4054:sp+1/2 4100:none");
}

TEST(Cfi, FollowsTheStackPointer) {
    std::string instructions =
        bytes({0x44, 0x0e, 0xb0, 0x02, 0x03, 0x10, 0x00, 0x0e, 8, 0x04, 0x10, 0, 0, 0, 0x0e, 16});
    EXPECT_EQ(Frames().function(code, instructions).rows(), "4000:sp+1 4004:sp+38 4014:sp+1 4024:sp+2 4100:none");
}

TEST(Cfi, RemembersAndRestores) {
    std::string instructions = bytes({0x41, 0x0e, 16, 0x86, 2, 0x44, 0x0a, 0x0e, 8, 0xc6, 0x41, 0x0b});
    EXPECT_EQ(Frames().function(code, instructions).rows(), "4000:sp+1 4001:sp+2/2 4005:sp+1 4006:sp+2/2 4100:none");
    EXPECT_EQ(Frames().function(code, bytes({0x44, 0x0b})).rows(), "4000:sp+1 4004:unknown 4100:none");
}

TEST(Cfi, KnowsTheOutermostFunction) {
    EXPECT_EQ(Frames().function(code, bytes({0x07, 16})).rows(), "4000:end 4100:none");
}

constexpr const char* return_at_cfa = " cfa-8 read+8 set:16 rest";

TEST(Cfi, CompilesExpressions) {
    auto rows = [](std::initializer_list<int> expression, std::initializer_list<int> more = {}) {
        std::string code_of_cfa = bytes(expression);
        std::string text = bytes({0x41, 0x0f, static_cast<int>(code_of_cfa.size())}) + code_of_cfa + bytes(more);
        return Frames().function(code, text).rows();
    };
    auto steps = [](const std::string& text) { return "4000:sp+1 4001:steps(" + text + ") 4100:none"; };
    // A linkage table of lazy binding: sp + 8 + ((pc & 15) >= 11) << 3.
    EXPECT_EQ(rows({0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}),
              steps(std::string("reg:19+8 reg:16 number+15 and number+11 ge number+3 shl plus CFA=") + return_at_cfa));
    // A function that aligns its stack: *(fp - 8), and its caller's fp at fp.
    EXPECT_EQ(rows({0x76, 0x78, 0x06}, {0x10, 6, 2, 0x76, 0}),
              steps("reg:4-8 read+8 CFA= cfa-8 read+8 set:16 cfa reg:4 read+8 set:4 rest"));
    // Assembly: *(sp + 8) + 8; *(sp + 8 + r9 * 8) + 8.
    EXPECT_EQ(rows({0x77, 8, 0x06, 0x23, 8}), steps(std::string("reg:19+8 read+8 add+8 CFA=") + return_at_cfa));
    EXPECT_EQ(rows({0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8}),
              steps(std::string("reg:19+8 reg:8 number+8 times plus read+8 add+8 CFA=") + return_at_cfa));
    // if (rax) rcx else rdx
    EXPECT_EQ(rows({0x70, 0, 0x28, 5, 0, 0x71, 0, 0x2f, 2, 0, 0x72, 0}),
              steps(std::string("reg:10 bra+2 reg:12 jump+1 reg:11 CFA=") + return_at_cfa));
    // A jump into an operand, a division, an address as linked, and a number that is too large for a step.
    for (auto expression : {std::initializer_list<int>{0x2f, 1, 0, 0x70, 0},
                            {0x70, 0, 0x32, 0x1b},
                            {0x03, 1, 2, 3, 4, 5, 6, 7, 8},
                            {0x0e, 1, 2, 3, 4, 5, 6, 7, 8}})
        EXPECT_EQ(rows(expression), "4000:sp+1 4001:unknown 4100:none");
}

TEST(Cfi, FollowsOtherRegisters) {
    auto rows = [](std::initializer_list<int> instructions) {
        return Frames().function(code, bytes(instructions)).rows();
    };
    // Saved below the CFA, in words of their own: rbx 2 words below, r12 7 words below.
    EXPECT_EQ(rows({0x83, 2, 0x8c, 7}), "4000:sp+1{1c2} 4100:none");
    // Too far below, and saved elsewhere.
    EXPECT_EQ(rows({0x83, 70}),
              std::string("4000:steps(reg:19+8 CFA=") + return_at_cfa + " cfa-560 read+8 set:5) 4100:none");
    EXPECT_EQ(rows({0x0c, 10, 0}), std::string("4000:steps(reg:7 CFA=") + return_at_cfa + ") 4100:none"); // from r10
    EXPECT_EQ(rows({0x09, 6, 3}), "4000:steps(reg:19+8 CFA= cfa-8 read+8 set:16 reg:5 set:4 rest) 4100:none");
    EXPECT_EQ(rows({0x09, 16, 3}), "4000:steps(reg:19+8 CFA= reg:5 set:16 rest) 4100:none");
    EXPECT_EQ(rows({0x90, 2}), "4000:steps(reg:19+8 CFA= cfa-16 read+8 set:16 rest) 4100:none");
    EXPECT_EQ(rows({0x07, 6}), "4000:steps(reg:19+8 CFA= cfa-8 read+8 set:16 forget:4 rest) 4100:none");
    EXPECT_EQ(rows({0x16, 7, 2, 0x77, 24}), // sp itself
              "4000:steps(reg:19+8 CFA= cfa-8 read+8 set:16 cfa reg:19+24 set:19 rest) 4100:none");
    EXPECT_EQ(rows({0x0e, 12}), std::string("4000:steps(reg:19+12 CFA=") + return_at_cfa + ") 4100:none");
    // A frame of 4 MB.
    EXPECT_EQ(rows({0x0e, 0x90, 0x80, 0x80, 0x02}),
              std::string("4000:steps(reg:19+4194320 CFA=") + return_at_cfa + ") 4100:none");
}

// The rows of _dl_runtime_resolve() in glibc for arm64 (2.36): entered with two words on the stack, which it pops.
TEST(Cfi, IncludesThePushOfTheLinkageTable) {
    const std::string instructions =
        bytes({0x41, 0x11, 30, 0x7f, 0x41, 0x0e, 0xd0, 0x01, 0x88, 26, 0x41, 0x0e, 0, 0x41, 0x13, 2, 0xde});
    EXPECT_EQ(Frames::with_link().function(code, instructions).rows(),
              "4000:link 4004:alone+2/1 4008:alone+28/1 400c:alone+2/1 4010:link 4100:none");
}

TEST(Cfi, ReadsDebugFrames) {
    // A CIE of version 4 at offset 0, and a function. Both have fields that .eh_frame lacks.
    std::string cie = record(word(0xffffffff) + bytes({4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1}));
    std::string function = word(0) + word(code) + word(0) + word(0x100) + word(0) + bytes({0x41, 0x0e, 16, 0x86, 2});
    std::string text = cie + record(function);
    EXPECT_EQ(describe(compile_cfi(text, 0, CfiKind::DebugFrame, x86_64_architecture())),
              "4000:sp+1 4001:sp+2/2 4100:none");
    EXPECT_EQ(describe(compile_cfi(text, 0, CfiKind::EhFrame, x86_64_architecture())), "");
    std::vector<uint64_t> steps;
    RuleCompiler rules(x86_64_architecture(), steps);
    std::vector<CfiFunction> all = read_cfi(text, 0, CfiKind::DebugFrame, rules);
    add_functions(all,
                  {{0x3f00, 0x4001, {{0x3f00, SONDE_RULE_END, 0}}}, {0x5000, 0x5010, {{0x5000, SONDE_RULE_END, 0}}}});
    EXPECT_EQ(describe(join_functions(all)), "4000:sp+1 4001:sp+2/2 4100:none 5000:end 5010:none");
}

TEST(Cfi, KnowsLinkageTables) {
    // The head and an entry as lld writes them, then an entry with endbr64 and an unknown stub.
    std::string text = bytes({0xff, 0x35, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0, 0x0f, 0x1f, 0x40, 0x00}) +
                       bytes({0xff, 0x25, 0, 0, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0}) +
                       bytes({0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0, 0, 0, 0, 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00}) +
                       bytes({0x4c, 0x8d, 0x1d, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0, 0x90, 0x90, 0x90});
    EXPECT_EQ(describe(rows_of_stubs(0x100, text, x86_64_architecture())),
              "100:sp+2 106:sp+3 10c:sp+1 11b:sp+2 120:sp+1 130:none");
}

TEST(Cfi, ReadsCodeOf32Bits) {
    // push %ebp; mov %esp,%ebp; ... leave; and the saved esi and edi, whose numbers are those of fp and sp in x86-64
    std::string instructions =
        bytes({0x41, 0x0e, 8, 0x85, 2, 0x42, 0x0d, 5, 0x41, 0x86, 3, 0x87, 4, 0x02, 0x50, 0xc5, 0x0c, 4, 4});
    EXPECT_EQ(Frames::narrow().function(code, instructions).rows(),
              "4000:sp+1 4001:sp+2/2 4003:fp+2/2 4004:fp+2/2{40c0} 4054:sp+1{40c0} 4100:none");
    std::string plt = bytes({0x41, 0x0f, 11, 0x74, 4, 0x78, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x32, 0x24, 0x22});
    EXPECT_EQ(
        Frames::narrow().function(code, plt).rows(),
        "4000:sp+1 4001:steps(reg:19+4 reg:16 number+15 and number+11 ge number+2 shl plus CFA= cfa-4 read+4 set:16 "
        "rest) 4100:none");
    std::string realign = bytes({0x41, 0x0f, 3, 0x75, 0x7c, 0x06, 0x10, 5, 2, 0x75, 0});
    EXPECT_EQ(Frames::narrow().function(code, realign).rows(),
              "4000:sp+1 4001:steps(reg:4-4 read+4 CFA= cfa-4 read+4 set:16 cfa reg:4 read+4 set:4 rest) 4100:none");
    EXPECT_EQ(Frames::narrow().function(code, bytes({0x0e, 12})).rows(), "4000:sp+3 4100:none");
    EXPECT_EQ(Frames::narrow().function(code, bytes({0x07, 8})).rows(), "4000:end 4100:none");
    EXPECT_EQ(describe(rows_by_code(0x10, 0x20, bytes({0x55, 0x89, 0xe5}), {{0x10}}, *architecture_of(EM_386, true))),
              "10:sp+1 11:sp+2 13:fp+2/2 14:none+2");
    EXPECT_EQ(describe(compile_cfi(Frames().function(code, "").text(), section, CfiKind::EhFrame,
                                   *architecture_of(EM_386, true))),
              ""); // of x86-64
}

TEST(Cfi, KnowsSignalFrames) {
    // The location of registers is not described: it is the kernel's layout.
    const std::string rows = Frames("zRS").function(code, "").rows();
    EXPECT_EQ(rows.substr(0, rows.find(" rest")), "4000:steps(reg:19+160 read+8 CFA= signal reg:19+120 read+8 set:4 "
                                                  "reg:19+160 read+8 set:19 reg:19+168 read+8 set:16");
    EXPECT_EQ(Frames("zRS").function(code, bytes({0x0f, 4, 0x77, 0xa0, 1, 6, 0x10, 16, 3, 0x77, 0xa8, 1})).rows(),
              "4000:steps(reg:19+160 read+8 CFA= signal cfa reg:19+168 read+8 set:16 rest) 4100:none");
}

TEST(Cfi, FollowsALinkRegister) {
    auto rows = [](std::initializer_list<int> instructions) {
        return Frames::with_link().function(code, bytes(instructions)).rows();
    };
    // stp x29, x30, [sp, #-48]!; mov x29, sp; ... ldp x29, x30, [sp], #48
    EXPECT_EQ(rows({0x41, 0x0e, 48, 0x9d, 6, 0x9e, 5, 0x44, 0xdd, 0xde, 0x0e, 0}),
              "4000:link 4004:sp+6/6 4014:link 4100:none");
    // As clang describes it, from x29; and with a local variable in a function that has saved nothing.
    EXPECT_EQ(rows({0x41, 0x0c, 29, 16, 0x9d, 2, 0x9e, 1}), "4000:link 4004:fp+2/2 4100:none");
    EXPECT_EQ(rows({0x41, 0x0e, 32}), "4000:link 4004:link+4 4100:none");
    // Only x30 is saved. x29 and x30 are apart. x30 is in another register. The frame is larger than a rule's.
    EXPECT_EQ(rows({0x0e, 16, 0x9e, 2}), "4000:alone+2/2 4100:none");
    EXPECT_EQ(rows({0x0e, 48, 0x9d, 6, 0x9e, 1}),
              "4000:steps(reg:31+48 CFA= cfa-8 read+8 set:32 cfa-48 read+8 set:29 rest) 4100:none");
    EXPECT_EQ(rows({0x09, 30, 16}), "4000:steps(reg:31 CFA= reg:16 set:32 rest) 4100:none");
    EXPECT_EQ(rows({0x0e, 0x90, 0x80, 1, 0x9d, 0x82, 0x10, 0x9e, 0x81, 0x10}),
              "4000:steps(reg:31+16400 CFA= cfa-16392 read+8 set:32 cfa-16400 read+8 set:29 rest) 4100:none");
    // The CFA is not from sp or x29: x30 is read as a register.
    EXPECT_EQ(rows({0x0c, 19, 0}), "4000:steps(reg:19 CFA= reg:30 set:32 rest) 4100:none");
    EXPECT_EQ(rows({0x07, 30}), "4000:end 4100:none");
    // x19 is saved 10 words below the CFA. x24 has no place in a saves word. v8 is not followed.
    EXPECT_EQ(rows({0x0e, 96, 0x9d, 12, 0x9e, 11, 0x93, 10}), "4000:sp+12/12{a} 4100:none");
    EXPECT_EQ(rows({0x0e, 96, 0x9d, 12, 0x9e, 11, 0x93, 10, 0x98, 5}), "4000:sp+12/12{4000000a} 4100:none");
    EXPECT_EQ(rows({0x05, 72, 4}), "4000:link 4100:none");
}

TEST(Cfi, PassesOverTheSigningOfReturnAddresses) {
    for (int opcode : {0x2c, 0x2d})
        EXPECT_EQ(Frames::with_link().function(code, bytes({0x41, opcode, 0x41, 0x0e, 16, 0x9d, 2, 0x9e, 1})).rows(),
                  "4000:link 4008:sp+2/2 4100:none");
    EXPECT_EQ(Frames::with_link("zRB").function(code, "").rows(), "4000:link 4100:none"); // with the other key
    // On other processors the number has another meaning.
    EXPECT_EQ(Frames().function(code, bytes({0x41, 0x2d})).rows(), "4000:sp+1 4001:unknown 4100:none");
}

TEST(Cfi, KnowsSignalFramesWithALinkRegister) {
    const std::string rows = Frames::with_link("zRS").function(code, "").rows();
    EXPECT_EQ(rows.substr(0, rows.find(" reg:31+320")),
              "4000:steps(reg:31+560 read+8 CFA= signal reg:31+544 read+8 set:29 reg:31+552 read+8 set:30 "
              "reg:31+560 read+8 set:31 reg:31+568 read+8 set:32 rest reg:31+312 read+8 set:0");
    const Architecture& arm64 = arm64_architecture();
    EXPECT_TRUE(arm64.is_signal_return(words({0xd2801168, 0xd4000001})));
    EXPECT_FALSE(arm64.is_signal_return(words({0xd2801168, 0xd65f03c0})));
    EXPECT_FALSE(arm64.is_signal_return(words({0xd2801168})));
}

TEST(Cfi, ReadsPrologues_LinkRegister) {
    auto rows = [](std::initializer_list<uint32_t> list, uint64_t size = 0) {
        const std::string code = words(list);
        return describe(rows_by_code(0x100, size ? size : code.size(), code, {{0x100}}, arm64_architecture()));
    };
    constexpr uint32_t call = 0x94000010, ret = 0xd65f03c0, paciasp = 0xd503233f, autiasp = 0xd50323bf;
    // paciasp; stp x29, x30, [sp, #-48]!; mov x29, sp; stp x19, x20, [sp, #16]; bl; ldp; ldp; autiasp; ret; bl
    EXPECT_EQ(rows({paciasp, 0xa9bd7bfd, 0x910003fd, 0xa90153f3, call, 0xa94153f3, 0xa8c37bfd, autiasp, ret, call}),
              "100:link 108:link+6 10c:fp+6/6 11c:link 124:fp+6/6");
    // sub sp, sp, #48; stp x29, x30, [sp, #32]; add x29, sp, #32; bl; ldp x29, x30, [sp, #32]; add sp, sp, #48; ret
    EXPECT_EQ(rows({0xd100c3ff, 0xa9027bfd, 0x910083fd, call, 0xa9427bfd, 0x9100c3ff, ret}),
              "100:link 104:link+6 10c:fp+2/2 114:link+6 118:link");
    // A retaa. No path leads to what follows, but its frame pointer is still that of the function.
    EXPECT_EQ(rows({0xa9bd7bfd, 0x910003fd, 0xa8c37bfd, 0xd65f0bff, 0xa8c37bfd, 0x14000010, 0xa9447bfd, call}),
              "100:link 104:link+6 108:fp+6/6 10c:link 110:fp+6/6");
    // A function without a frame: add w0, w0, #1; cmp w0, #3; b.ne; ret.
    EXPECT_EQ(rows({0x11000400, 0x71000c1f, 0x54000041, ret}), "100:link");
    EXPECT_EQ(rows({0x11000400, 0x71000c1f, 0x54000041, ret}, 32), "100:link 111:none");
    EXPECT_EQ(rows({0x11000400, call, ret}), "100:link 108:none");
    // str x30, [sp, #-16]!; bl. And x29 at another distance: add x29, sp, #16.
    EXPECT_EQ(rows({0xf81f0ffe, call, ret}), "100:link 104:link+2 108:alone+2/2");
    EXPECT_EQ(rows({0xa9bd7bfd, 0x910043fd, ret}), "100:link 104:link+6 108:fp+4/6");
}

TEST(Cfi, KnowsLinkageTables_LinkRegister) {
    // stp x16, x30, [sp, #-16]!; adrp; ldr; add; br x17; three nops. Then an entry: adrp; ldr; add; br x17.
    const std::string code = words({0xa9bf7bf0, 0x90000090, 0xf9400211, 0x91000210, 0xd61f0220, 0xd503201f, 0xd503201f,
                                    0xd503201f, 0x90000090, 0xf9400211, 0x91000210, 0xd61f0220});
    EXPECT_EQ(describe(rows_of_stubs(0x100, code, arm64_architecture())), "100:link 104:alone+2/1 114:link");
}

TEST(Cfi, RefusesWhatARuleCannotHold) {
    EXPECT_EQ(Frames().function(code, bytes({0x0c, 40, 0})).rows(),
              "4000:unknown 4100:none"); // from a register that is not followed
    EXPECT_EQ(Frames().function(code, bytes({0x08, 16})).rows(), "4000:unknown 4100:none"); // no return address
    EXPECT_EQ(Frames().function(code, bytes({0x41, 0x3f, 0x41})).rows(), "4000:sp+1 4001:unknown 4100:none");
}

TEST(Cfi, SortsFunctionsAndKeepsGaps) {
    Frames frames;
    frames.function(0x5000, "").function(0x4100, bytes({0x0e, 16})).function(0x4000, "").function(0x4180, "");
    EXPECT_EQ(frames.rows(), "4000:sp+1 4100:sp+2 4200:none 5000:sp+1 5100:none");
    EXPECT_EQ(Frames().function(0x4000, "").function(0x4100, "").rows(), "4000:sp+1 4200:none");
    EXPECT_EQ(Frames().function(0x4000, "", 0).rows(), "");
}

TEST(Cfi, EndsWhereTheBytesEnd) {
    std::string text = Frames().function(code, bytes({0x41, 0x0e, 16})).function(0x5000, "").text();
    const auto rows = [](std::string_view some) {
        return compile_cfi(some, section, CfiKind::EhFrame, x86_64_architecture()).rows;
    };
    EXPECT_EQ(rows(text).size(), 5u);
    for (size_t size = 0; size < text.size(); size++)
        EXPECT_LE(rows(std::string_view(text).substr(0, size)).size(), 5u);
    // If any one byte is changed, the rows are still sorted.
    for (size_t at = 0; at < text.size(); at++)
        for (int bit = 0; bit < 8; bit++) {
            std::string mutant = text;
            mutant[at] = static_cast<char>(mutant[at] ^ (1 << bit));
            const std::vector<UnwindRow> changed = rows(mutant);
            EXPECT_TRUE(std::is_sorted(changed.begin(), changed.end(),
                                       [](const UnwindRow& a, const UnwindRow& b) { return a.address < b.address; }));
        }
}

TEST(Cfi, ReadsPrologues) {
    const auto rows = [](uint64_t size, const std::string& code) {
        return describe(rows_by_code(0x10, size, code, {{0x10}}, x86_64_architecture()));
    };
    std::string standard = bytes({0x55, 0x48, 0x89, 0xe5, 0x90});
    EXPECT_EQ(rows(0x20, standard), "10:sp+1 11:sp+2 14:fp+2/2 16:none+2");
    EXPECT_EQ(rows(0x20, bytes({0xf3, 0x0f, 0x1e, 0xfa}) + standard), "10:sp+1 15:sp+2 18:fp+2/2 1a:none+2");
    EXPECT_EQ(rows(0x20, bytes({0x55, 0x53})), "10:sp+1 11:sp+2 12:sp+3 13:none");
    EXPECT_EQ(rows(0x20, bytes({0x31, 0xc0})), "10:sp+1 13:none");
    EXPECT_EQ(rows(1, bytes({0xc3, 0x55})), "10:sp+1");
    // Where the function restores fp: leave, ret. No path leads to what follows.
    EXPECT_EQ(rows(9, standard + bytes({0xc9, 0xc3, 0x5d, 0xe9})), "10:sp+1 11:sp+2 14:fp+2/2 16:sp+1 17:none+2");
}

TEST(Cfi, FollowsCode) {
    const auto rows = [](std::initializer_list<int> list) {
        return describe(rows_by_code(0x10, list.size(), bytes(list), {{0x10}}, x86_64_architecture()));
    };
    // sub $8,%rsp; test %rax,%rax; je 1f; call *%rax; 1: add $8,%rsp; ret
    EXPECT_EQ(rows({0x48, 0x83, 0xec, 8, 0x48, 0x85, 0xc0, 0x74, 2, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3}),
              "10:sp+1 14:sp+2 1f:sp+1");
    // push %r12; push %rbp; mov %rsp,%rbp; sub %rax,%rsp; leave; pop %r12; ret
    EXPECT_EQ(rows({0x41, 0x54, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x29, 0xc4, 0xc9, 0x41, 0x5c, 0xc3}),
              "10:sp+1 12:sp+2 13:sp+3 16:fp+3/3 1a:sp+2 1c:sp+1");
    // push %rbp; xor %ebp,%ebp; pop %rbp; ret
    EXPECT_EQ(rows({0x55, 0x31, 0xed, 0x5d, 0xc3}), "10:sp+1 11:sp+2 13:sp+2/2 14:sp+1");
    // xor %ebp,%ebp without having saved it; and %rsp from elsewhere; and a word that is pushed from memory.
    EXPECT_EQ(rows({0x31, 0xed, 0xc3}), "10:sp+1 12:none");
    EXPECT_EQ(rows({0x48, 0x89, 0xc4, 0x90, 0xc3}), "10:sp+1 13:none");
    EXPECT_EQ(rows({0xff, 0x30, 0x90, 0xc3}), "10:sp+1 12:none");
    // Two paths with different frames: je 1f; push %rax; 1: nop; ret
    EXPECT_EQ(rows({0x74, 1, 0x50, 0x90, 0xc3}), "10:sp+1 13:none");
    // The saved rbp is overwritten: push %rbp; mov %rax,(%rsp); xor %ebp,%ebp; nop
    EXPECT_EQ(rows({0x55, 0x48, 0x89, 0x04, 0x24, 0x31, 0xed, 0x90}), "10:sp+1 11:sp+2 17:none");
    // A local function: call 1f; ret; int3; 1: push %rax; pop %rax; ret. And code that nothing reaches.
    EXPECT_EQ(rows({0xe8, 2, 0, 0, 0, 0xc3, 0xcc, 0x50, 0x58, 0xc3}), "10:sp+1 16:none 17:sp+1 18:sp+2 19:sp+1");
    // A loop that pushes.
    EXPECT_EQ(rows({0x50, 0xeb, 0xfd}), "10:none");
}

// Startup code has no tables, and the libraries have no symbols for it. A stack in a destructor leads through it.
TEST(Cfi, KnowsStartupCode) {
    std::vector<std::string> paths =
        shared_libraries(trigger("dwarf_cxx-gcc-O2-5"), host_architecture().library_search());
    paths.push_back(trigger("dwarf_cxx-gcc-O2-5"));
    size_t seen = 0;
    for (const std::string& path : paths) {
        ElfFile file = open_elf(path);
        const UnwindRules rules = read_unwind_rules(file, read_functions(file));
        std::vector<uint64_t> places;
        for (const char* name : {".init", ".fini"})
            if (const ElfSection* section = file.find_section(name))
                places.push_back(section->address);
        for (const char* name : {".init_array", ".fini_array"}) {
            const std::string_view entries = file.section_data(name);
            for (size_t at = 0; at + sizeof(uint64_t) <= entries.size(); at += sizeof(uint64_t))
                std::memcpy(&places.emplace_back(), entries.data() + at, sizeof(uint64_t));
        }
        for (uint64_t place : places) {
            const auto next = std::ranges::upper_bound(rules.rows, place, {}, &UnwindRow::address);
            ASSERT_NE(next, rules.rows.begin()) << path;
            EXPECT_NE(SONDE_RULE_KIND(std::prev(next)->rule), SONDE_RULE_NONE) << path << " " << std::hex << place;
            seen++;
        }
    }
    EXPECT_GE(seen, 5u);
}

// The numbers of registers in unwinding tables.
struct Columns {
    uint64_t fp, sp;
    int return_address;
    bool calls_store; // the return address
};

// The rule of libdw for the same instructions.
std::string describe_by_libdw(Dwarf_CFI* cfi, uint64_t address) {
    const Columns columns = of_host(Columns{6, 7, 16, true}, Columns{29, 31, 30, false});
    Dwarf_Frame* frame = nullptr;
    if (dwarf_cfi_addrframe(cfi, address, &frame) != 0)
        return "none";
    std::unique_ptr<Dwarf_Frame, decltype(&free)> owner(frame, free);
    Dwarf_Op memory[3];
    Dwarf_Op* ops = nullptr;
    size_t count = 0;
    // No operations: the register has no value, or it is unchanged (null), as a link register before it is saved.
    if (dwarf_frame_register(frame, columns.return_address, memory, &ops, &count) != 0 || (count == 0 && ops))
        return "end";
    const bool is_saved = count == 2;
    const int64_t saved_at = is_saved ? -static_cast<int64_t>(ops[1].number) / 8 : 0;
    const bool is_link = count == 0;
    if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count != 1)
        return "other";
    uint64_t number = ops[0].atom == 0x92 ? ops[0].number : ops[0].atom - 0x70u;
    int64_t offset = static_cast<int64_t>(ops[0].atom == 0x92 ? ops[0].number2 : ops[0].number);
    std::string base = number == columns.sp ? "sp" : number == columns.fp ? "fp" : "other";
    std::string cfa = offset ? fmt::format("+{}", offset / 8) : "";
    if (is_link && number == columns.sp)
        return "link" + cfa;
    if (dwarf_frame_register(frame, static_cast<int>(columns.fp), memory, &ops, &count) == 0 && count == 2)
        return fmt::format("{}{}/{}", base, cfa, -static_cast<int64_t>(ops[1].number) / 8);
    // Behind a call that stores it, the return address has one place. Otherwise the rule names the place.
    return columns.calls_store || !is_saved ? base + cfa : fmt::format("alone{}/{}", cfa, saved_at);
}

TEST(Cfi, AgreesWithLibdw) {
    std::vector<std::string> paths = {trigger("stacks-O2"), trigger("stacks-fixed"), trigger("dwarf_cxx-gcc-O2-5")};
    for (const std::string& library : shared_libraries(trigger("stacks-O2"), host_architecture().library_search()))
        if (library.find("libc.so") != std::string::npos)
            paths.push_back(library);
    ASSERT_EQ(paths.size(), 4u);
    for (const std::string& path : paths) {
        ElfFile file = open_elf(path);
        Dwarf_CFI* cfi = dwarf_getcfi_elf(file.elf());
        ASSERT_TRUE(cfi) << path;
        std::vector<UnwindRow> rows =
            compile_cfi(file.section_data(".eh_frame"), file.find_section(".eh_frame")->address).rows;
        EXPECT_GT(rows.size(), 20u);
        size_t compared = 0;
        for (size_t i = 0; i < rows.size(); i++) {
            uint64_t end = i + 1 < rows.size() ? rows[i + 1].address : rows[i].address + 1;
            uint32_t kind = SONDE_RULE_KIND(rows[i].rule);
            if (kind == SONDE_RULE_NONE || kind == SONDE_RULE_UNKNOWN || kind == SONDE_RULE_STEPS)
                continue;
            for (uint64_t address : {rows[i].address, end - 1}) {
                std::string ours = describe(std::vector<UnwindRow>{{0, rows[i].rule, 0}}).substr(2);
                ASSERT_EQ(ours, describe_by_libdw(cfi, address)) << path << fmt::format(" {:#x}", address);
                compared++;
            }
        }
        EXPECT_GT(compared, rows.size());
        dwarf_cfi_end(cfi);
    }
}

// ---- functions, lines, libraries
// ----------------------------------------------------------------------------------------

const FunctionSymbol* find_function(const std::vector<FunctionSymbol>& functions, const std::string& name) {
    for (const FunctionSymbol& function : functions)
        if (function.name == name)
            return &function;
    return nullptr;
}

TEST(Functions, AreSortedAndApart) {
    for (const char* name : {"stacks-O2", "dwarf_cxx-gcc-O2-5", "dwarf_basic-id"}) {
        std::vector<FunctionSymbol> functions = read_functions(open_elf(trigger(name)));
        EXPECT_TRUE(find_function(functions, "main")) << name; // for a stripped program: from its debug file
        for (size_t i = 0; i + 1 < functions.size(); i++)
            EXPECT_LE(functions[i].address + functions[i].size, functions[i + 1].address) << functions[i].name;
    }
}

TEST(Lines, OfOneAddressAreTheTablesOnes) {
    ElfFile file = open_elf(trigger("stacks-O2"));
    LineTable all = read_lines(file, problems);
    LineFinder finder(file, problems);
    ASSERT_GT(all.rows.size(), 20u);
    size_t known = 0;
    for (const SourceRow& row : all.rows) {
        std::optional<LineFinder::Line> one = finder.find(row.address);
        EXPECT_EQ(one ? one->line : 0, row.line) << fmt::format("{:#x}", row.address);
        known += one && one->file == all.files[row.file];
    }
    EXPECT_GT(known, 20u);
    EXPECT_TRUE(read_lines(open_elf(trigger("dwarf_basic-plain")), problems).rows.empty());
    EXPECT_FALSE(LineFinder(open_elf(trigger("dwarf_basic-plain")), problems).find(0x1000));
}

std::string join(const std::vector<InlinedCall>& calls) {
    std::string out;
    for (const InlinedCall& call : calls)
        out += call.name + ";";
    return out;
}

TEST(Inlined, OfOneAddressAreTheTablesOnes) {
    for (const char* name : {"inlined", "dwarf_cxx-gcc-O2-5", "dwarf_cxx-clang-O2-4", "stacks-O2"}) {
        ElfFile file = open_elf(trigger(name));
        InlineTable all = read_inlined(file, problems);
        InlineFinder finder(file, problems);
        ASSERT_FALSE(all.rows.empty()) << name;
        for (const InlineTable::Row& row : all.rows) {
            std::string chain;
            for (uint32_t node = row.node; node; node = all.nodes[node].outer)
                chain += all.names[all.nodes[node].name] + ";";
            EXPECT_EQ(join(finder.find(row.address)), chain) << fmt::format("{} {:#x}", name, row.address);
        }
    }
}

TEST(Inlined, AreNamedFromTheInside) {
    ElfFile file = open_elf(trigger("inlined"));
    InlineFinder finder(file, problems);
    std::set<std::string> chains;
    for (const InlineTable::Row& row : read_inlined(file, problems).rows)
        chains.insert(join(finder.find(row.address)));
    EXPECT_TRUE(chains.count("shop::check<int>;shop::order;"));
    EXPECT_TRUE(chains.count("shop::leaf;"));
    EXPECT_TRUE(chains.count(""));
    EXPECT_TRUE(InlineFinder(open_elf(trigger("dwarf_basic-plain")), problems).find(0x1000).empty());
    EXPECT_TRUE(read_inlined(open_elf(trigger("dwarf_basic-plain")), problems).rows.empty());
}

// ---- tables
// -----------------------------------------------------------------------------------------------------------

// The value at this offset in packed rows. The rows must be sorted, and neighbors must differ.
uint32_t value_at(std::span<const uint64_t> rows, uint32_t place) {
    uint32_t value = 0;
    for (size_t i = 0; i < rows.size() && static_cast<uint32_t>(rows[i]) <= place; i++) {
        if (i > 0) {
            EXPECT_LT(static_cast<uint32_t>(rows[i - 1]), static_cast<uint32_t>(rows[i]));
            EXPECT_NE(rows[i - 1] >> 32, rows[i] >> 32);
        }
        value = static_cast<uint32_t>(rows[i] >> 32);
    }
    return value;
}

TEST(Table, HasTheRulesOfEveryRow) {
    // main() of the first program saves r14, r13, r12 and rbx one after the other. On arm64 it saves x19 to x23 in
    // three steps, and restores them at several places. 0: unknown.
    for (auto [name, saves] : {std::pair("stacks-O2", of_host(6u, 17u)), std::pair("dwarf_cxx-gcc-O2-5", 0u)}) {
        ElfFile file = open_elf(trigger(name));
        UnwindRules unwind = read_unwind_rules(file, read_functions(file));
        std::vector<uint64_t> table = compile_table(file, "x", {&unwind, {}, nullptr, nullptr});
        sonde_table_head head;
        std::memcpy(&head, table.data(), sizeof head);
        EXPECT_TRUE(saves == 0 || head.saves == saves) << head.saves;
        std::span<const uint64_t> all(table);
        size_t saved = 0;
        for (const UnwindRow& row : unwind.rows) {
            std::optional<uint64_t> place = file.file_offset(row.address);
            if (!place) // the end of a segment
                continue;
            const auto at = static_cast<uint32_t>(*place);
            EXPECT_EQ(value_at(all.subspan(SONDE_TABLE_HEAD, head.unwind), at), row.rule) << name << row.address;
            EXPECT_EQ(value_at(all.subspan(head.first_save, head.saves), at), row.saves) << name << row.address;
            saved += row.saves != 0;
        }
        EXPECT_GE(saved, of_host(5u, 4u)) << name;
    }
}

TEST(Table, HasBothThreadsAfterClone) {
    if (host_architecture().clone_call().empty())
        return; // the tables describe clone() completely
    Dl_info libc{};
    ASSERT_NE(dladdr(reinterpret_cast<void*>(&std::getenv), &libc), 0);
    const std::string path = libc.dli_fname;
    ElfFile file = open_elf(path);
    const std::string bytes = *read_file(path);
    UnwindRules unwind = read_unwind_rules(file, read_functions(file));
    size_t calls = 0;
    const std::string_view call = host_architecture().clone_call();
    for (size_t i = 1; i < unwind.rows.size(); i++) {
        const UnwindRow &row = unwind.rows[i], &before = unwind.rows[i - 1];
        const std::optional<uint64_t> place = file.file_offset(row.address);
        if (SONDE_RULE_KIND(row.rule) == SONDE_RULE_STEPS && before.rule == SONDE_RULE(SONDE_RULE_SP, 1, 0) && place &&
            *place >= 2 && bytes.substr(*place - 2, call.size()) == call)
            calls++;
    }
    EXPECT_GE(calls, 2u); // clone() and clone3()
}

TEST(Table, EndsAtTheEntryOfTheLoader) {
    size_t loaders = 0;
    for (const std::string& path : shared_libraries(trigger("stacks-O2"), host_architecture().library_search())) {
        ElfFile file = open_elf(path);
        const ElfSection* text = file.find_section(".text");
        if (file.find_section(".interp") || !text || file.entry() == 0 || file.entry() == text->address)
            continue;
        UnwindRules unwind = read_unwind_rules(file, read_functions(file));
        auto next = std::ranges::upper_bound(unwind.rows, file.entry(), {}, &UnwindRow::address);
        ASSERT_NE(next, unwind.rows.begin()) << path;
        EXPECT_EQ(std::prev(next)->rule, SONDE_RULE_END) << path;
        loaders++;
    }
    EXPECT_EQ(loaders, 1u);
}

TEST(Table, HasEverythingAtItsPlace) {
    ElfFile file = open_elf(trigger("stacks-O2"));
    std::vector<FunctionSymbol> functions = read_functions(file);
    UnwindRules unwind = read_unwind_rules(file, functions);
    LineTable lines = read_lines(file, problems);
    std::vector<uint64_t> table = compile_table(file, "/bin/stacks", {&unwind, functions, &lines, nullptr});
    sonde_table_head head;
    std::memcpy(&head, table.data(), sizeof head);
    auto text = [&](unsigned element) { return std::string(reinterpret_cast<const char*>(&table[element])); };
    EXPECT_EQ(text(head.path), "/bin/stacks");
    EXPECT_EQ(text(head.name), "stacks");
    EXPECT_EQ(text(head.build_id), file.build_id());
    EXPECT_GT(head.unwind, unwind.rows.size() / 2); // rows that differ only in saved registers are merged
    EXPECT_LE(head.unwind, unwind.rows.size());
    EXPECT_TRUE(std::equal(unwind.steps.begin(), unwind.steps.end(), table.begin() + head.first_step));
    EXPECT_EQ(head.symbols, functions.size());
    std::vector<sonde_table_row> rows(head.symbols + head.lines);
    std::memcpy(rows.data(), &table[SONDE_TABLE_HEAD + head.unwind], rows.size() * sizeof rows[0]);
    const FunctionSymbol* hit = find_function(functions, "hit");
    ASSERT_TRUE(hit);
    bool named = false, on_line = false;
    for (size_t i = 0; i < rows.size(); i++) {
        if (rows[i].place != file.file_offset(hit->address))
            continue;
        if (i < head.symbols)
            named = text(rows[i].text) == "hit" && rows[i].value == hit->size;
        else
            on_line = text(rows[i].text).ends_with("stacks.c") && rows[i].value == 10;
    }
    EXPECT_TRUE(named);
    EXPECT_TRUE(on_line);
    for (size_t i = 1; i < head.unwind; i++)
        EXPECT_LE(static_cast<uint32_t>(table[SONDE_TABLE_HEAD + i - 1]),
                  static_cast<uint32_t>(table[SONDE_TABLE_HEAD + i]));
}

TEST(Table, HasInlinedFunctionsAsChains) {
    ElfFile file = open_elf(trigger("inlined"));
    InlineTable inlined = read_inlined(file, problems);
    std::vector<uint64_t> table = compile_table(file, "x", {nullptr, {}, nullptr, &inlined});
    sonde_table_head head;
    std::memcpy(&head, table.data(), sizeof head);
    ASSERT_EQ(head.inlined, inlined.rows.size());
    auto text = [&](uint64_t element) { return std::string(reinterpret_cast<const char*>(&table[element])); };
    std::vector<sonde_table_row> rows(head.inlined);
    std::memcpy(rows.data(), &table[SONDE_TABLE_HEAD], rows.size() * sizeof rows[0]);
    for (size_t i = 0; i < rows.size(); i++) {
        std::string chain, expected;
        for (uint64_t element = rows[i].text; element; element = table[element] >> 32)
            chain += text(static_cast<uint32_t>(table[element])) + ";";
        for (uint32_t node = inlined.rows[i].node; node; node = inlined.nodes[node].outer)
            expected += inlined.names[inlined.nodes[node].name] + ";";
        EXPECT_EQ(chain, expected);
    }
}

TEST(Table, OfNothingHasItsName) {
    const ElfFile file = open_elf(trigger("stacks-O2"));
    std::vector<uint64_t> table = compile_table(file, "x", {});
    EXPECT_EQ(table.size(), SONDE_TABLE_HEAD + 1u + file.build_id().size() / 8 + 1u); // the name, and the build-id
}

// ---- the text of stacks
// -------------------------------------------------------------------------------------------------

std::string print_stack(plan::StackStyle style, sonde_stack_state state, const std::vector<uint64_t>& addresses) {
    plan::Directive directive;
    directive.kind = plan::Directive::Stack;
    directive.width = 4;
    directive.conversion = style;
    std::vector<uint64_t> words = {static_cast<uint64_t>(getpid()), state, addresses.size()};
    words.insert(words.end(), addresses.begin(), addresses.end());
    words.resize(7);
    Symbols symbols;
    return render_print({{directive}}, {reinterpret_cast<const uint8_t*>(words.data()), words.size() * 8}, &symbols);
}

TEST(StackText, SaysWhatIsMissing) {
    EXPECT_EQ(print_stack(plan::FullStack, SONDE_STACK_WHOLE, {16, 32}), " 0x10\n 0x20\n");
    EXPECT_EQ(print_stack(plan::BriefStack, SONDE_STACK_CUT, {16}),
              "0x10\n ... more callers follow: use -DMAXBACKTRACE=128\n");
    EXPECT_EQ(print_stack(plan::BriefStack, SONDE_STACK_LOST, {16, 32}),
              "0x10\n0x20\n ... more callers follow: sonde cannot unwind 0x20\n");
    EXPECT_EQ(print_stack(plan::BriefStack, SONDE_STACK_EARLY, {16}),
              "0x10\n ... callers may be missing: sonde had not read, or could not read, unwinding tables\n");
    EXPECT_EQ(print_stack(plan::FullStack, SONDE_STACK_WHOLE, {}), "");
    EXPECT_EQ(print_stack(plan::FullStack, SONDE_STACK_KERNEL_THREAD, {}),
              " (no user stack: this is a kernel thread)\n");
}

TEST(StackText, NamesTheKernelsCodeInAProcess) {
    // Also without a session, which has no handlers with a table.
    const uint64_t start = getauxval(AT_SYSINFO_EHDR);
    ASSERT_NE(start, 0u);
    const std::string text = print_stack(plan::FullStack, SONDE_STACK_WHOLE, {start});
    EXPECT_TRUE(text.starts_with(fmt::format(" {:#x} [[vdso]+0x0/0x", start))) << text;
}

TEST(Rendered, MakesALineOnceUntilTheProcessHasSomethingElse) {
    Rendered lines;
    int made = 0;
    auto make = [&] { return std::to_string(++made); };
    EXPECT_EQ(lines.line(7, 16, 0, make), "1");
    EXPECT_EQ(lines.line(7, 16, 0, make), "1");
    EXPECT_EQ(lines.line(7, 16, 1, make), "2");
    EXPECT_EQ(lines.line(8, 16, 0, make), "3");
    EXPECT_EQ(lines.line(0, 16, 0, make), "4");
    lines.forget(7);
    EXPECT_EQ(lines.line(7, 16, 0, make), "5");
    EXPECT_EQ(lines.line(8, 16, 0, make), "3");
    EXPECT_EQ(lines.line(0, 16, 0, make), "6");
    for (uint64_t address = 0; address < 200000; address++)
        lines.line(9, address, 0, [] { return std::string("x"); });
    EXPECT_EQ(lines.line(8, 16, 0, make), "7");
}

TEST(JitNames, TakesWholeLinesTheNewestOfWhichHolds) {
    JitNames names(getpid());
    const auto at = [&](uint64_t address) {
        const FunctionSymbol* function = names.find(address);
        return function ? function->name : "none";
    };
    EXPECT_EQ(names.add("1000 10 first\n1010 10 second one\n0x1020 8 third\n1000 10 unfin"), 48U);
    EXPECT_EQ(at(0xfff) + at(0x1000) + at(0x100f) + at(0x1028), "nonefirstfirstnone");
    EXPECT_EQ(at(0x1010) + at(0x1020), "second onethird");
    names.add("1008 10 over both\n");
    EXPECT_EQ(at(0x1000) + at(0x1008) + at(0x1018) + at(0x1020), "noneover bothnonethird");
}

TEST(JitNames, PassesOverWhatIsNoLine) {
    JitNames names(getpid());
    const std::string lines = "\n \nx y z\n10\n10 10\n10 10 \n10 0 empty\nffffffffffffffff 10 round the end\n"
                              "10000000000000000 10 too large\n-10 10 negative\n20 10 good\n";
    EXPECT_EQ(names.add(lines), lines.size());
    for (uint64_t address : {0ull, 0x10ull, 0x1full, 0xfull, ~0ull})
        EXPECT_EQ(names.find(address), nullptr) << address;
    ASSERT_NE(names.find(0x2f), nullptr);
    EXPECT_EQ(names.find(0x2f)->name, "good");
}

TEST(JitNames, HasNoneOfAProcessThatIsNotThere) {
    JitNames names(INT32_MAX);
    EXPECT_FALSE(names.read_on());
    EXPECT_EQ(names.path(), "");
}

TEST(StackText, IsSafeFromAnyRecord) {
    plan::Directive directive;
    directive.width = INT32_MAX;
    Symbols symbols;
    for (auto kind : {plan::Directive::Stack, plan::Directive::Addresses})
        for (size_t size : {0u, 8u, 20u, 24u, 40u}) {
            directive.kind = kind;
            std::vector<uint8_t> record(size, 0xff);
            EXPECT_NO_FATAL_FAILURE(render_print({{directive}}, record, &symbols));
        }
}

} // namespace
} // namespace sonde
