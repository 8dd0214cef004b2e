// Where functions of C receive arguments and return values, on each architecture that sonde knows. The programs are
// tests/triggers/passing.c, unoptimized and optimized, for each architecture.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "frontend/dwarf/dwarf_module.h"

namespace sonde {
namespace {

std::unique_ptr<DwarfModule> open_passing(const std::string& build) {
    Result<std::unique_ptr<DwarfModule>> module = DwarfModule::open(SONDE_TRIGGERS "/passing-" + build);
    EXPECT_TRUE(module.ok()) << build << ": " << (module.ok() ? "" : module.error().message);
    return module.ok() ? *std::move(module) : nullptr;
}

// A location in few letters:
//
//     x0          a register, or a value that is computed from one
//     x0:8 x1:8   parts with their sizes
//     v           a register that a probe cannot read
//     [sp+8]      memory; [[sp+8]]: memory whose address is there
//     entry [x8]  memory, by a register's value at the function's entry
std::string describe(const Location& location, const RegisterFile& registers) {
    switch (location.kind) {
    case Location::Unavailable:
        return location.why.find("floating point") != std::string::npos ||
                       location.why.find("vector register") != std::string::npos
                   ? "v"
                   : "<" + location.why + ">";
    case Location::Register:
        return std::string(registers.name(location.reg));
    case Location::Pieces: {
        std::string out;
        for (const Location::Piece& piece : location.pieces)
            out += (out.empty() ? "" : " ") + describe(piece.place, registers) + ":" + std::to_string(piece.byte_size);
        return out;
    }
    case Location::Memory:
        break;
    case Location::Value: // computed from a register
        if (std::ranges::count(location.ops, LocationOp::Register, &LocationOp::code) == 1)
            return std::string(
                registers.name(std::ranges::find(location.ops, LocationOp::Register, &LocationOp::code)->operand));
        return "value";
    case Location::Bytes:
        return "value";
    }
    std::string out;
    for (size_t i = 0; i < location.ops.size(); i++) {
        const LocationOp& op = location.ops[i];
        if (op.code == LocationOp::Register)
            out += registers.name(op.operand);
        else if (op.code == LocationOp::Constant && op.operand != 0)
            out += "+" + std::to_string(op.operand);
        else if (op.code == LocationOp::Deref)
            out = "[" + out + "]";
    }
    return (location.of_entry ? "entry [" : "[") + out + "]";
}

FunctionInstance function(DwarfModule& module, const std::string& name) {
    std::vector<FunctionInstance> found = module.functions(*FunctionPattern::parse(name));
    EXPECT_EQ(found.size(), 1u) << name;
    return found.empty() ? FunctionInstance() : found[0];
}

// "NAME=LOCATION" for each argument, then "-> LOCATION" for the result.
std::string passing(DwarfModule& module, const std::string& name) {
    const FunctionInstance one = function(module, name);
    const RegisterFile& registers = module.file().architecture().registers();
    std::string out;
    for (const Variable& argument : module.parameters(one))
        out += argument.name + "=" + describe(module.calling_convention().argument_location(one, argument), registers) +
               " ";
    return out + "-> " + describe(module.calling_convention().result_location(one), registers);
}

using Expected = std::map<std::string, std::string>;

// System V ABI for x86-64, section 3.2.3.
const Expected x86_64 = {
    {"plain", "a=rdi b=rsi c=rdx d=rcx e=r8 -> rax"},
    {"two", "p=rdi:8 rsi:8 i=rdx -> rax:8 rdx:8"},
    {"bytes", "o=rdi:8 rsi:3 n=rdx -> rax:8 rdx:3"},
    {"mix", "m=v:8 rdi:8 d=v f=v i=rsi -> v:8 rax:8"},
    {"vector", "f=v:8 v:4 n=rdi -> v"},
    {"four", "d=[rsp+8] n=rsi -> [rax]"},
    {"many_floats", "f=[rsp+8] n=rsi -> [rax]"},
    {"big", "l=[rsp+8] n=rsi -> [rax]"},
    {"inside", "s=v n=rdi -> v"},
    {"fields", "b=rdi n=rsi -> rax"},
    {"stack", "a=rdi b=rsi c=rdx d=rcx e=r8 f=r9 g=[rsp+8] h=[rsp+16] i=[rsp+24] j=[rsp+32] k=[rsp+40] l=[rsp+56] -> "
              "rax"},
    {"split", "a=rdi b=rsi c=rdx d=rcx e=r8 f=r9 g=[rsp+8] p=[rsp+16] i=[rsp+32] -> rax"},
    {"even", "a=rdi b=rsi:8 rdx:8 c=rcx d=r8:8 r9:8 e=[rsp+8] -> rax"},
    {"after_floats", "a=v b=v c=v d=v e=v f=v g=v h=[rsp+8] i=v j=rdi -> rax"},
    {"pointers", "a=rdi b=rsi c=rdx d=rcx e=r8 f=r9 g=[rsp+8] h=[rsp+16] l=[rsp+24] i=[rsp+48] -> rax"},
    {"variadic", "count=rdi -> rax"},
    {"number", "d=v n=rdi -> v"},
    {"sum", "a=rdi:8 rsi:8 b=rdx -> rax:8 rdx:8"},
};

// AAPCS64, sections 6.8.2 and 6.9.
const Expected arm64 = {
    {"plain", "a=x0 b=x1 c=x2 d=x3 e=x4 -> x0"},
    {"two", "p=x0:8 x1:8 i=x2 -> x0:8 x1:8"},
    {"bytes", "o=x0:8 x1:3 n=x2 -> x0:8 x1:3"},
    {"mix", "m=x0:8 x1:8 d=v f=v i=x2 -> x0:8 x1:8"},
    {"vector", "f=v:4 v:4 v:4 n=x0 -> v"},
    {"four", "d=v:8 v:8 v:8 v:8 n=x0 -> v"},
    {"many_floats", "f=[x0] n=x1 -> entry [x8]"},
    {"big", "l=[x0] n=x1 -> entry [x8]"},
    {"inside", "s=v:4 v:4 n=x0 -> v"},
    {"fields", "b=x0 n=x1 -> x0"},
    {"stack", "a=x0 b=x1 c=x2 d=x3 e=x4 f=x5 g=x6 h=x7 i=[sp] j=[sp+8] k=[sp+16] l=[sp+32] -> x0"},
    {"split", "a=x0 b=x1 c=x2 d=x3 e=x4 f=x5 g=x6 p=[sp] i=[sp+16] -> x0"},
    {"even", "a=x0 b=x2:8 x3:8 c=x4 d=x6:8 x7:8 e=[sp] -> x0"},
    {"after_floats", "a=v b=v c=v d=v e=v f=v g=v h=[sp] i=[sp+16] j=x0 -> x0"},
    {"pointers", "a=x0 b=x1 c=x2 d=x3 e=x4 f=x5 g=x6 h=x7 l=[[sp]] i=[sp+8] -> x0"},
    {"variadic", "count=x0 -> x0"},
    {"number", "d=v n=x0 -> v"},
    {"sum", "a=x0:8 x1:8 b=x2 -> x0:8 x1:8"},
};

struct Build {
    const char* name;
    const Expected& expected;
};
class Passing : public testing::TestWithParam<Build> {};
INSTANTIATE_TEST_SUITE_P(Programs, Passing,
                         testing::Values(Build{"x86_64-O0", x86_64}, Build{"x86_64-O2", x86_64},
                                         Build{"arm64-O0", arm64}, Build{"arm64-O2", arm64}),
                         [](const auto& info) {
                             std::string name = info.param.name;
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

TEST_P(Passing, FollowsTheConvention) {
    const std::unique_ptr<DwarfModule> module = open_passing(GetParam().name);
    ASSERT_TRUE(module);
    for (const auto& [name, places] : GetParam().expected)
        EXPECT_EQ(passing(*module, name), places) << name;
}

// In optimized code, the compiler describes where the parameters are at the entry. That must be the same place. In
// unoptimized code, the convention decides.
TEST_P(Passing, AgreesWithTheDebugInformation) {
    const std::unique_ptr<DwarfModule> module = open_passing(GetParam().name);
    ASSERT_TRUE(module);
    const RegisterFile& registers = module->file().architecture().registers();
    for (const auto& [name, places] : GetParam().expected) {
        const FunctionInstance one = function(*module, name);
        for (const Variable& parameter : module->parameters(one)) {
            const Location place = module->parameter_locations().at_entry(one, parameter, one.entry);
            std::string text = describe(place, registers);
            // Parts that the code does not use have no place, and the last part can lack its padding.
            const bool is_known = text.find("was optimized out") == std::string::npos;
            text = text.substr(0, std::min(text.rfind(':'), text.size()));
            EXPECT_TRUE(!is_known || places.find(parameter.name + "=" + text) != std::string::npos)
                << name << ' ' << parameter.name << ' ' << text;
        }
    }
}

} // namespace
} // namespace sonde
