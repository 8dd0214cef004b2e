// Relocations of arm64 code, and entries of its procedure linkage table.
#include <elf.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "arch/architecture.h"

namespace sonde {
namespace {

const Architecture& arm64() { return *architecture_of(EM_AARCH64, false); }

std::string code_of(std::initializer_list<uint32_t> words) {
    std::string out(4 * words.size(), 0);
    std::memcpy(out.data(), std::data(words), out.size());
    return out;
}

// ---- relocations

// An instruction or a number in memory, and a symbol at a distance from it.
struct Place {
    std::array<uint32_t, 4> words{};

    uint64_t address() const { return reinterpret_cast<uint64_t>(words.data()); }
    Relocated apply(uint32_t type, uint64_t symbol, int64_t addend = 0, uint64_t stub = 0, uint64_t room = 16) {
        return arm64().relocate({.type = type,
                                 .place = reinterpret_cast<uint8_t*>(words.data()),
                                 .room = room,
                                 .symbol = symbol,
                                 .addend = addend,
                                 .stub = stub});
    }
};

void expect_word(uint32_t before, uint32_t type, uint64_t symbol, int64_t addend, uint32_t after) {
    Place place{{before}};
    EXPECT_EQ(place.apply(type, symbol, addend), Relocated::Done) << type;
    EXPECT_EQ(place.words[0], after) << type;
}

TEST(Arm64Files, AbsoluteAddresses) {
    constexpr uint64_t symbol = 0x123456789abcdef0;
    // movz x8, #0x1234, lsl #48; movk x8, #0x5678, lsl #32; movk x8, #0x9abc, lsl #16; movk x8, #0xdef8
    expect_word(0xd2e00008, R_AARCH64_MOVW_UABS_G3, symbol, 0, 0xd2e24688);
    expect_word(0xf2c00008, R_AARCH64_MOVW_UABS_G2_NC, symbol, 0, 0xf2cacf08);
    expect_word(0xf2a00008, R_AARCH64_MOVW_UABS_G1_NC, symbol, 0, 0xf2b35788);
    expect_word(0xf2800008, R_AARCH64_MOVW_UABS_G0_NC, symbol, 8, 0xf29bdf08);
    // The offset in the page: add x0, x0, #0xef0; ldrb, ldrh, ldr w, ldr x, ldr q
    expect_word(0x91000000, R_AARCH64_ADD_ABS_LO12_NC, symbol, 0, 0x913bc000);
    expect_word(0x39400000, R_AARCH64_LDST8_ABS_LO12_NC, symbol, 1, 0x397bc400);
    expect_word(0x79400000, R_AARCH64_LDST16_ABS_LO12_NC, symbol, 0, 0x795de000);
    expect_word(0xb9400000, R_AARCH64_LDST32_ABS_LO12_NC, symbol, 0, 0xb94ef000);
    expect_word(0xf9400000, R_AARCH64_LDST64_ABS_LO12_NC, symbol, 0, 0xf9477800);
    expect_word(0x3dc00000, R_AARCH64_LDST128_ABS_LO12_NC, symbol, 0, 0x3dc3bc00);
    // Data.
    Place number{{1, 2}};
    EXPECT_EQ(number.apply(R_AARCH64_ABS64, symbol, 1), Relocated::Done);
    EXPECT_EQ(number.words[0], 0x9abcdef1u);
    EXPECT_EQ(number.words[1], 0x12345678u);
    expect_word(7, R_AARCH64_ABS32, 0x89abcdef, 0, 0x89abcdef);
    expect_word(7, R_AARCH64_NONE, symbol, 0, 7);
}

TEST(Arm64Files, Distances) {
    Place place;
    const uint64_t here = place.address();
    const auto after = [&](uint32_t before, uint32_t type, uint64_t symbol, int64_t addend = 0, uint64_t stub = 0) {
        place.words = {before};
        EXPECT_EQ(place.apply(type, symbol, addend, stub), Relocated::Done) << type;
        return place.words[0];
    };
    EXPECT_EQ(after(0x94000000, R_AARCH64_CALL26, here + 0x100), 0x94000040u); // bl
    EXPECT_EQ(after(0x14000000, R_AARCH64_JUMP26, here - 4), 0x17ffffffu);     // b
    EXPECT_EQ(after(0x14000000, R_AARCH64_JUMP26, here, 8), 0x14000002u);
    EXPECT_EQ(after(0x10000000, R_AARCH64_ADR_PREL_LO21, here + 7), 0x70000020u);   // adr x0, .+7
    EXPECT_EQ(after(0x10000000, R_AARCH64_ADR_PREL_LO21, here - 1), 0x70ffffe0u);   // adr x0, .-1
    EXPECT_EQ(after(0x54000000, R_AARCH64_CONDBR19, here + 16), 0x54000080u);       // b.eq
    EXPECT_EQ(after(0x36000000, R_AARCH64_TSTBR14, here - 8), 0x3607ffc0u);         // tbz w0, #0
    EXPECT_EQ(after(0x58000000, R_AARCH64_LD_PREL_LO19, here + 0x20), 0x58000100u); // ldr x0
    EXPECT_EQ(after(0, R_AARCH64_PREL32, here - 16), 0xfffffff0u);
    const uint64_t page = here & ~uint64_t{0xfff};
    EXPECT_EQ(after(0x90000000, R_AARCH64_ADR_PREL_PG_HI21, page + 0x5123), 0xb0000020u); // adrp x0, 5 pages on
    EXPECT_EQ(after(0x90000000, R_AARCH64_ADR_PREL_PG_HI21, page - 1), 0xf0ffffe0u);      // the page before
    place.words = {};
    EXPECT_EQ(place.apply(R_AARCH64_PREL64, here - 3), Relocated::Done);
    EXPECT_EQ(place.words[0], 0xfffffffdu);
    EXPECT_EQ(place.words[1], 0xffffffffu);
    // A far call leads to the stub, if there is one.
    EXPECT_EQ(after(0x94000000, R_AARCH64_CALL26, here + (uint64_t{1} << 40), 0, here + 0x200), 0x94000080u);
    EXPECT_EQ(after(0x94000000, R_AARCH64_CALL26, here + 0x100, 0, here + 0x200), 0x94000040u);
}

TEST(Arm64Files, RefusesWhatDoesNotFit) {
    Place place{{0x94000000}};
    const uint64_t here = place.address(), far = here + (uint64_t{1} << 40);
    for (uint32_t type : {R_AARCH64_CALL26, R_AARCH64_JUMP26, R_AARCH64_ADR_PREL_PG_HI21, R_AARCH64_ADR_PREL_LO21,
                          R_AARCH64_CONDBR19, R_AARCH64_TSTBR14, R_AARCH64_PREL32, R_AARCH64_ABS32})
        EXPECT_EQ(place.apply(type, far), Relocated::OutOfReach) << type;
    EXPECT_EQ(place.apply(R_AARCH64_CALL26, far, 0, far), Relocated::OutOfReach);
    EXPECT_EQ(place.apply(R_AARCH64_CALL26, far, 4, here),
              Relocated::OutOfReach); // the stub jumps to the symbol itself
    EXPECT_EQ(place.apply(R_AARCH64_CALL26, here + 128 * 1024 * 1024), Relocated::OutOfReach);
    EXPECT_EQ(place.apply(R_AARCH64_CALL26, here + 2), Relocated::OutOfReach);
    EXPECT_EQ(place.apply(R_AARCH64_LDST64_ABS_LO12_NC, 0x1004), Relocated::OutOfReach);
    EXPECT_EQ(place.apply(R_AARCH64_MOVW_UABS_G0, 0x10000), Relocated::OutOfReach);
    EXPECT_EQ(place.apply(R_AARCH64_ABS64, here, 0, 0, 7), Relocated::TooLong);
    EXPECT_EQ(place.apply(R_AARCH64_CALL26, here, 0, 0, 3), Relocated::TooLong);
    EXPECT_EQ(place.apply(R_AARCH64_ADR_GOT_PAGE, here), Relocated::Unknown);
    EXPECT_EQ(place.words[0], 0x94000000u);
}

TEST(Arm64Files, CallStub) {
    ASSERT_EQ(arm64().call_stub_size(), 16u);
    std::array<uint32_t, 4> stub{};
    arm64().write_call_stub(reinterpret_cast<uint8_t*>(stub.data()), 0x1122334455667788);
    EXPECT_EQ(stub, (std::array<uint32_t, 4>{0x58000050, 0xd61f0200, 0x55667788, 0x11223344})); // ldr x16; br x16
}

// ---- the procedure linkage table

TEST(Arm64Files, PltEntries) {
    constexpr uint32_t adrp = 0x90000110, load = 0xf9427211, add = 0x91138210, jump = 0xd61f0220, bti = 0xd503245f,
                       authenticate = 0xd503219f, nop = 0xd503201f;
    constexpr uint64_t at = 0x103c0, slot = 0x304e0;
    EXPECT_EQ(arm64().plt_slot(code_of({adrp, load, add, jump}), at), slot);
    EXPECT_EQ(arm64().plt_slot(code_of({bti, adrp, load, add, jump, nop}), at), slot);
    EXPECT_EQ(arm64().plt_slot(code_of({adrp, load, add, authenticate, jump, nop}), at), slot);
    EXPECT_EQ(arm64().plt_slot(code_of({bti, adrp, load, add, authenticate, jump}), at), slot);
    EXPECT_EQ(arm64().plt_slot(code_of({adrp, load, jump}), at), slot);
    // The page of the second instruction counts, which can be another one than that of the entry.
    EXPECT_EQ(arm64().plt_slot(code_of({bti, adrp, load, add, jump, nop}), 0x10ffc), slot + 0x1000);
    EXPECT_EQ(arm64().plt_slot(code_of({0x90ffff10, load, add, jump}), at), 0xfff0000 - 0x10000000 + slot - 0x30000);
    // Other code.
    EXPECT_EQ(arm64().plt_slot("", at), std::nullopt);
    EXPECT_EQ(arm64().plt_slot(code_of({adrp, load, add}), at), std::nullopt);
    EXPECT_EQ(arm64().plt_slot(code_of({adrp, load, add, nop, nop, jump}), at), std::nullopt);
    EXPECT_EQ(arm64().plt_slot(code_of({adrp, 0xf9427200, add, jump}), at), std::nullopt); // ldr x0
    EXPECT_EQ(arm64().plt_slot(code_of({0x90000111, load, add, jump}), at), std::nullopt); // adrp x17
    EXPECT_EQ(arm64().plt_slot(code_of({load, add, jump, nop}), at), std::nullopt);
}

} // namespace
} // namespace sonde
