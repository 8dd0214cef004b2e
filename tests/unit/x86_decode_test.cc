// Lengths of instructions, and details of some.
#include <gtest/gtest.h>

#include "arch/x86_64/decode.h"

namespace sonde {
namespace {

// Converts hexadecimal digits, separated by spaces, to bytes.
std::string bytes(std::string_view text) {
    std::string out;
    for (size_t i = 0; i + 1 < text.size(); i += 3)
        out += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
    return out;
}

size_t length(std::string_view text) {
    std::optional<X86Instruction> one = decode_x86(bytes(text) + std::string(16, '\xcc'));
    return one ? one->length : 0;
}

TEST(X86Code, Lengths) {
    const char* whole[] = {
        "90",                            // nop
        "c3",                            // ret
        "f3 c3",                         // rep ret
        "c2 08 00",                      // ret 8
        "55",                            // push
        "41 57",                         // push r15
        "49 3b 66 10",                   // cmp rsp, [r14+0x10]
        "76 6b",                         // jbe
        "0f 86 d5 00 00 00",             // jbe, far
        "48 83 ec 18",                   // sub rsp, 0x18
        "48 81 ec 80 01 00 00",          // sub rsp, 0x180
        "48 89 6c 24 10",                // mov [rsp+0x10], rbp
        "4c 8d a4 24 80 fe ff ff",       // lea r12, [rsp-0x180]
        "48 8b 05 12 34 56 00",          // mov rax, [rip+...]
        "64 48 8b 0c 25 f8 ff ff ff",    // mov rcx, fs:[-8]
        "48 c7 40 08 10 00 00 00",       // mov qword [rax+8], 0x10
        "66 c7 40 08 10 00",             // mov word [rax+8], 0x10
        "c6 44 24 1f 01",                // mov byte [rsp+0x1f], 1
        "48 b8 01 02 03 04 05 06 07 08", // mov rax, 64 bits
        "b8 01 00 00 00",                // mov eax, 1
        "66 b8 01 00",                   // mov ax, 1
        "48 a1 01 02 03 04 05 06 07 08", // mov rax, [64 bits]
        "f6 44 24 08 01",                // test byte [rsp+8], 1
        "f6 d8",                         // neg al
        "f7 c1 01 00 00 00",             // test ecx, 1
        "48 f7 fb",                      // idiv rbx
        "0f b6 04 08",                   // movzx eax, byte [rax+rcx]
        "0f ba e0 03",                   // bt eax, 3
        "44 0f 11 7c 24 20",             // movups [rsp+0x20], xmm15
        "66 0f 70 c0 00",                // pshufd
        "66 0f 38 00 c8",                // pshufb
        "66 0f 3a 0f c1 08",             // palignr
        "f0 48 0f b1 0a",                // lock cmpxchg
        "f3 48 a5",                      // rep movsq
        "e8 00 00 00 00",                // call
        "eb fe",                         // jmp
        "c8 10 00 00",                   // enter
        "c5 f8 77",                      // vzeroupper
        "c5 fe 6f 06",                   // vmovdqu ymm0, [rsi]
        "c4 e2 7d 78 c0",                // vpbroadcastb
        "c4 e3 7d 39 c1 01",             // vextracti128
        "62 f1 fe 48 6f 06",             // vmovdqu64 zmm0, [rsi]
        "62 f3 7d 48 3f c1 00",          // vpcmpb with an immediate
        "8d 04 cd 00 00 00 00",          // lea eax, [rcx*8+0]
        "cc",                            // int3
        "0f 0b",                         // ud2
        "0f 0f c8 9e",                   // pfadd
        "0f 0f 08 0d",                   // pi2fd
        "0f 0e",                         // femms
        "8f e9 f8 12 c0",                // llwpcb
        "8f e8 78 c0 d1 03",             // vprotb with an immediate
        "8f e9 60 90 d9",                // vprotb
        "8f ea 78 10 c8 78 56 34 12",    // bextr with an immediate
        "8f 00",                         // pop qword [rax]
        "66 0f 78 c1 01 02",             // extrq
        "f2 0f 78 d1 01 02",             // insertq
        "0f 78 c1",                      // vmread
        "c4 e3 e9 69 cb 50",             // vfmaddps
        "c5 f9 70 d1 03",                // vpshufd
        "c5 f0 c6 d2 03",                // vshufps
        "c4 e3 fb f0 c8 03",             // rorx
        "62 f5 6c 48 58 d9",             // vaddph
        "62 f6 6d 48 98 58 48",          // vfmadd132ph
        "62 f3 6c 48 c2 c9 03",          // vcmpph
        "62 f3 6d 48 25 d9 07",          // vpternlogd
        "c7 f8 00 00 00 00",             // xbegin
        "66 66 48 e8 00 00 00 00",       // call with the prefixes of thread-local storage
        "67 e8 00 00 00 00",             // the same, shortened by a linker
        "3e ff e0",                      // notrack jmp
        "0f 05",                         // syscall
    };
    for (const char* one : whole)
        EXPECT_EQ(length(one), bytes(one).size()) << one;
}

TEST(X86Code, CutOffAndInvalid) {
    EXPECT_FALSE(decode_x86(""));
    EXPECT_FALSE(decode_x86(bytes("48")));
    EXPECT_FALSE(decode_x86(bytes("0f")));
    EXPECT_FALSE(decode_x86(bytes("e8 00 00")));
    EXPECT_FALSE(decode_x86(bytes("c4 e3 7d")));
    EXPECT_FALSE(decode_x86(bytes("06 90")));
    // Processors of Intel and AMD decode different lengths.
    EXPECT_FALSE(decode_x86(bytes("66 e8 00 00 00 00")));
    EXPECT_FALSE(decode_x86(bytes("66 0f 84 00 00 00 00")));
    // A prefix after a REX prefix, and maps and opcodes that do not exist.
    EXPECT_FALSE(decode_x86(bytes("48 66 90 90")));
    EXPECT_FALSE(decode_x86(bytes("c4 e9 7d 39 c1 01")));
    EXPECT_FALSE(decode_x86(bytes("62 f4 7d 48 39 c1 01")));
    EXPECT_FALSE(decode_x86(bytes("0f 04 c0")));
    // More prefixes than an instruction may have.
    EXPECT_FALSE(decode_x86(std::string(20, '\x66')));
}

TEST(X86Code, Parts) {
    std::optional<X86Instruction> check = decode_x86(bytes("49 3b 66 10"));
    ASSERT_TRUE(check);
    EXPECT_EQ(check->opcode, 0x3b);
    EXPECT_EQ(check->base, 14);
    EXPECT_EQ(check->displacement, 0x10);

    std::optional<X86Instruction> jump = decode_x86(bytes("76 fe"));
    ASSERT_TRUE(jump);
    EXPECT_TRUE(jump->is_jump_if(6));
    EXPECT_FALSE(jump->is_jump_if(2));
    EXPECT_EQ(jump->immediate, -2);

    EXPECT_TRUE(decode_x86(bytes("e8 00 00 00 00"))->is_call());
    EXPECT_TRUE(decode_x86(bytes("ff 50 10"))->is_call());
    EXPECT_FALSE(decode_x86(bytes("ff 60 10"))->is_call());
    EXPECT_TRUE(decode_x86(bytes("ff 60 10"))->is_indirect_jump());
    EXPECT_TRUE(decode_x86(bytes("3e ff e0"))->is_indirect_jump());
    for (const char* jump : {"eb fe", "e9 00 00 00 00", "74 00", "0f 8f 00 00 00 00", "e3 00"})
        EXPECT_TRUE(decode_x86(bytes(jump))->is_direct_jump()) << jump;
    for (const char* other : {"80 c0 01", "e8 00 00 00 00", "0f 90 c0", "ff e0"})
        EXPECT_FALSE(decode_x86(bytes(other))->is_direct_jump()) << other;
    EXPECT_TRUE(decode_x86(bytes("48 01 d0"))->is_register_add());
    EXPECT_FALSE(decode_x86(bytes("48 03 42 08"))->is_register_add());
    EXPECT_TRUE(decode_x86(bytes("c3"))->is_return());
    EXPECT_TRUE(decode_x86(bytes("c2 08 00"))->is_return());
    // The same byte as an opcode of another map.
    EXPECT_FALSE(decode_x86(bytes("0f c3 08"))->is_return());
}

} // namespace
} // namespace sonde
