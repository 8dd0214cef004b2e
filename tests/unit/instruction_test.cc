// What architectures say about instructions, in the terms of arch/instruction.h.
#include "arch/architecture.h"

#include <elf.h>

#include <gtest/gtest.h>

namespace sonde {
namespace {

const Architecture& x86_64() { return *architecture_of(EM_X86_64, false); }
const Architecture& i386() { return *architecture_of(EM_386, true); }

// Converts hexadecimal digits, separated by spaces, to bytes.
std::string bytes(std::string_view text) {
    std::string out;
    for (size_t i = 0; i + 1 < text.size(); i += 3)
        out += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
    return out;
}

Instruction decoded(std::string_view text, const Architecture& architecture = x86_64()) {
    const std::optional<Instruction> one = architecture.decode(bytes(text));
    EXPECT_TRUE(one) << text;
    return one.value_or(Instruction());
}

AnalyzedInstruction analyzed(std::string_view text) {
    const std::optional<AnalyzedInstruction> one = x86_64().analyze(bytes(text));
    EXPECT_TRUE(one) << text;
    return one.value_or(AnalyzedInstruction());
}

Effect effect(std::string_view text) { return analyzed(text).effect; }

TEST(Architecture, IsThatOfTheFile) {
    EXPECT_EQ(architecture_of(EM_AARCH64, true), nullptr); // ILP32
    EXPECT_EQ(architecture_of(EM_RISCV, false), nullptr);
    EXPECT_EQ(architecture_of(EM_X86_64, true), nullptr); // x32
    EXPECT_EQ(x86_64().word_size(), 8);
    EXPECT_EQ(i386().word_size(), 4);
}

TEST(Instruction, Flow) {
    const std::pair<const char*, Flow> all[] = {
        {"90", Flow::Next},
        {"e9 00 00 00 00", Flow::Jump},
        {"eb 00", Flow::Jump},
        {"76 00", Flow::ConditionalJump},
        {"0f 86 00 00 00 00", Flow::ConditionalJump},
        {"e3 00", Flow::CountingJump}, // jrcxz
        {"ff e0", Flow::IndirectJump}, // jmp *%rax
        {"ff 28", Flow::FarJump},
        {"e8 00 00 00 00", Flow::Call},
        {"ff 15 00 00 00 00", Flow::IndirectCall}, // call *0(%rip)
        {"f3 c3", Flow::Return},
        {"0f 0b", Flow::Stop}, // ud2
        {"cc", Flow::Stop},
        {"c5 f9 eb c1", Flow::Next}, // vpor has the opcode byte of jmp
        {"ff c0", Flow::Next},       // inc %eax has that of an indirect jump
    };
    for (const auto& [text, flow] : all)
        EXPECT_EQ(static_cast<int>(decoded(text).flow), static_cast<int>(flow)) << text;
    EXPECT_EQ(decoded("eb fe").target(0x1002), 0x1000u);
    EXPECT_EQ(decoded("76 00").condition, decoded("0f 86 00 00 00 00").condition);
}

TEST(Instruction, OperandsHaveNumbersOfDwarf) {
    const Instruction compare = decoded("49 3b 66 10"); // cmp 16(%r14),%rsp
    EXPECT_EQ(compare.operation, Operation::Compare);
    EXPECT_EQ(compare.to, x86_64().registers().stack_pointer);
    EXPECT_EQ(compare.memory.base, 14);
    EXPECT_EQ(compare.memory.displacement, 16);
    const Instruction add = decoded("48 01 d0"); // add %rdx,%rax
    EXPECT_EQ(add.operation, Operation::Add);
    EXPECT_EQ(add.to, 0);
    EXPECT_EQ(add.from, 1);
    EXPECT_EQ(decoded("41 ff e4").from, 12); // jmp *%r12
    EXPECT_EQ(decoded("41 54").from, 12);    // push %r12
}

TEST(Instruction, MemoryOperands) {
    const Instruction relative = decoded("48 8d 05 10 00 00 00"); // lea 16(%rip),%rax
    EXPECT_EQ(relative.operation, Operation::Address);
    EXPECT_EQ(relative.memory.address(0x1000), 0x1010u);
    const Instruction fixed = decoded("8b 05 10 00 00 00", i386()); // mov 16,%eax
    EXPECT_TRUE(fixed.memory.is_fixed);
    EXPECT_EQ(fixed.memory.address(0x1000), 16u);
    EXPECT_TRUE(decoded("ff 24 c5 00 10 40 00").memory.is_element_of_constant_table()); // jmp *0x401000(,%rax,8)
    EXPECT_FALSE(decoded("ff 24 c7").memory.is_element_of_constant_table());            // jmp *(%rdi,%rax,8)
    const Instruction stack = decoded("48 8b 44 24 08");                                // mov 8(%rsp),%rax
    EXPECT_EQ(stack.memory.base, 7);
    EXPECT_FALSE(stack.memory.has_index);
    EXPECT_TRUE(decoded("48 89 07").memory.is_written);
    EXPECT_FALSE(decoded("48 8b 07").memory.is_written);
    const Instruction byte = decoded("c6 43 34 02"); // movb $2,0x34(%rbx)
    EXPECT_EQ(byte.operation, Operation::Constant);
    EXPECT_EQ(byte.to, -1);
    EXPECT_EQ(byte.immediate, 2);
    EXPECT_EQ(byte.memory.base, 3);
    EXPECT_EQ(byte.memory.displacement, 0x34);
    EXPECT_EQ(decoded("c6 c0 02").operation, Operation::Other); // mov $2,%al: the register keeps its other bytes
}

TEST(Effect, OfPrologues) {
    EXPECT_EQ(effect("55").kind, Effect::Push);
    EXPECT_EQ(effect("55").from, x86_64().registers().frame_pointer);
    EXPECT_EQ(effect("48 83 ec 18").distance, -24);                        // sub $24,%rsp
    EXPECT_EQ(effect("48 8d 64 24 08").distance, 8);                       // lea 8(%rsp),%rsp
    EXPECT_EQ(effect("48 83 e4 f0").distance, std::nullopt);               // and $-16,%rsp
    const Effect copy = effect("89 fb"), store = effect("f2 0f 11 45 e8"); // mov %edi,%ebx; movsd %xmm0,-24(%rbp)
    EXPECT_EQ(copy.kind, Effect::Copy);
    EXPECT_FALSE(copy.whole);
    EXPECT_EQ(store.kind, Effect::Store);
    EXPECT_TRUE(store.from_vector);
    EXPECT_EQ(store.size, 8u);
    EXPECT_EQ(effect("48 85 ff").kind, Effect::None);                   // test %rdi,%rdi
    EXPECT_EQ(effect("48 f7 f1").changes, 1u << 0 | 1u << 1 | 1u << 2); // div %rcx: rax and rdx, and rcx in doubt
    EXPECT_EQ(effect("0f 57 c0").changes, 0u);                          // xorps %xmm0,%xmm0
    EXPECT_EQ(effect("0f 57 c0").changes_vectors, 1u);
}

TEST(Instruction, UncommonOnesAndFilling) {
    for (const char* text : {"00 00", "fa", "0f 30", "cc"}) // zeros, cli, wrmsr, int3
        EXPECT_TRUE(decoded(text).is_uncommon) << text;
    for (const char* text : {"00 01", "90", "0f 1f 00", "c5 f9 6f c1"}) // add %al,(%rcx); nops; vmovdqa
        EXPECT_FALSE(decoded(text).is_uncommon) << text;
    for (const char* text : {"90", "cc", "0f 1f 00", "0f 0b"})
        EXPECT_TRUE(decoded(text).is_filling) << text;
    EXPECT_FALSE(decoded("c5 f8 90 c1").is_filling);       // kmovw has the opcode byte of nop
    EXPECT_TRUE(decoded("c5 f9 7f 07").memory.is_written); // vmovdqa %xmm0,(%rdi)
}

TEST(Instruction, BytesThatAreNone) {
    const std::string cut = bytes("48 8b 44"), invalid = bytes("06"); // mov without its displacement; push %es
    for (const std::string& code : {std::string(), cut, invalid}) {
        EXPECT_FALSE(x86_64().decode(code));
        EXPECT_FALSE(x86_64().analyze(code));
        EXPECT_FALSE(x86_64().leaves_state(code));
        EXPECT_EQ(x86_64().hazard(code), Hazard::Unknown);
    }
}

TEST(Instruction, UseOfResult) {
    struct Row {
        const char* code;
        ResultUse rax, rdx;
    };
    using enum ResultUse;
    const Row all[] = {
        {"31 c0", Write, None},          // xor %eax,%eax
        {"85 c0", Read, None},           // test %eax,%eax
        {"89 fb", None, None},           // mov %edi,%ebx
        {"c3", End, End},                // ret
        {"31 d2", None, Write},          // xor %edx,%edx
        {"84 d2", None, Read},           // test %dl,%dl
        {"48 01 d0", Read, Read},        // add %rdx,%rax
        {"48 99", Read, Write},          // cqto
        {"48 f7 e1", Read, Write},       // mul %rcx
        {"48 f7 f9", Read, Read},        // idiv %rcx
        {"f6 e1", Read, None},           // mul %cl
        {"5a", None, Write},             // pop %rdx
        {"ba 01 00 00 00", None, Write}, // mov $1,%edx
        {"05 01 00 00 00", Read, None},  // add $1,%eax
        {"48 8b 02", Write, Read},       // mov (%rdx),%rax
        {"f3 48 0f b8 c7", Write, None}, // popcnt %rdi,%rax
        {"c4 e2 f1 f7 c7", End, End},    // shlx %rcx,%rdi,%rax
        {"0f 94 c0", Write, None},       // sete %al
        {"66 48 0f 7e c0", Write, None}, // movq %xmm0,%rax
        {"0f 31", End, End},             // rdtsc
        {"0f 05", End, End},             // syscall
        {"f0 0f b1 0f", End, End},       // lock cmpxchg %ecx,(%rdi)
    };
    for (const Row& row : all) {
        EXPECT_EQ(static_cast<int>(analyzed(row.code).result_use), static_cast<int>(row.rax)) << row.code;
        EXPECT_EQ(static_cast<int>(x86_64().use_of_second_result(bytes(row.code))), static_cast<int>(row.rdx))
            << row.code;
    }
}

TEST(Architecture, ConditionsTestFlags) {
    constexpr uint64_t carry = 1, zero = 0x40, sign = 0x80, overflow = 0x800;
    const auto of = [](std::string_view text) { return x86_64().registers().conditions[decoded(text).condition >> 1]; };
    EXPECT_EQ(of("76 00").any_set, carry | zero); // jbe
    EXPECT_EQ(of("76 00").differ[0], 0u);
    EXPECT_EQ(of("7e 00").any_set, zero); // jle
    EXPECT_EQ(of("7e 00").differ[0], sign);
    EXPECT_EQ(of("7e 00").differ[1], overflow);
    EXPECT_EQ(decoded("7f 00").condition ^ 1, decoded("7e 00").condition); // jg
}

TEST(Architecture, KnowsWhatKernelsEmulate) {
    for (const char* text : {"55", "41 57", "90", "0f 1f 00", "e8 00 00 00 00", "0f 84 00 00 00 00", "eb 00"})
        EXPECT_FALSE(x86_64().is_single_stepped(bytes(text))) << text;
    for (const char* text : {"48 89 e5", "c3", "0f 05"})
        EXPECT_TRUE(x86_64().is_single_stepped(bytes(text))) << text;
}

TEST(Architecture, ParsesOperands) {
    const auto symbol = [](std::string_view name) {
        return name == "counter" ? std::optional<uint64_t>(0x4010) : std::nullopt;
    };
    const AssemblyOperand place = x86_64().parse_operand("counter+8(%rax,%rcx,4)", symbol);
    EXPECT_EQ(place.kind, AssemblyOperand::Memory);
    EXPECT_TRUE(place.is_linked);
    EXPECT_EQ(place.number, 0x4018);
    EXPECT_EQ(place.base, 0);
    EXPECT_EQ(place.index, 2);
    EXPECT_EQ(place.scale, 4);
    EXPECT_EQ(x86_64().parse_operand("%xmm0", symbol).kind, AssemblyOperand::UnknownRegister);
    EXPECT_EQ(x86_64().parse_operand("gone(%rip)", symbol).kind, AssemblyOperand::UnknownSymbol);
    EXPECT_EQ(x86_64().parse_operand("(%eax)", symbol).kind, AssemblyOperand::UnknownPlace);
    EXPECT_EQ(i386().parse_operand("(%eax)", symbol).kind, AssemblyOperand::Memory);
    EXPECT_EQ(x86_64().parse_operand("$x", symbol).kind, AssemblyOperand::Unknown);
}

TEST(Architecture, FindsBranchesInBytes) {
    std::vector<PossibleBranch> found;
    x86_64().find_branches(bytes("90 e8 01 00 00 00 0f 84 02 00 00 00"),
                           [&](const PossibleBranch& one) { found.push_back(one); });
    ASSERT_EQ(found.size(), 2u);
    EXPECT_TRUE(found[0].is_call);
    EXPECT_EQ(found[0].operand, 2u);
    EXPECT_EQ(found[0].end, 6u);
    EXPECT_FALSE(found[1].is_call);
    EXPECT_EQ(found[1].distance, 2);
}

} // namespace
} // namespace sonde
