// Demangling: C++, and Rust in both schemes.
#include "base/demangle.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(Demangle, Cxx) { EXPECT_EQ(demangle("_ZN2ns1C1fEiPKc"), "ns::C::f(int, char const*)"); }

TEST(Demangle, Readable) {
    for (auto [symbol, text] :
         {std::pair("_ZN2ns1C1fEiPKc", "ns::C::f"),
          {"_ZNK2ns1CclEi", "ns::C::operator()"},
          {"_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f"},
          {"_Z1gIPFivEEvT_", "g<int (*)()>"},
          {"_ZN12_GLOBAL__N_14anonIiEET_S1_", "(anonymous namespace)::anon<int>"},
          {"_ZN2ns2idIiEERKT_S3_", "ns::id<int>"},
          {"_ZN2ns2szIiEEmT_", "ns::sz<int>"},
          {"_ZN2ns3addIiEEDTplfp_fp0_ET_S2_", "ns::add<int>"},
          {"_ZN2ns1CcvPT_IiEEv", "ns::C::operator int*<int>"},
          {"_ZNK2ns1CltIiEEbT_", "ns::C::operator< <int>"},
          {"_ZNK2ns1C1hEv", "ns::C::h"},
          {"_ZZNK2ns1C1hEvENKUliE_clEi", "ns::C::h() const::{lambda(int)#1}::operator()"},
          {"_ZZNK2ns1C1gIiEET_S2_ENKUliE_clEi", "ns::C::g<int>(int) const::{lambda(int)#1}::operator()"},
          {"_ZN2ns2fpIiEEPFicET_", "int (*ns::fp<int>(int))"},
          {"_ZThn8_N2ns1C1fEv", "non-virtual thunk to ns::C::f"},
          {"_ZN4shop4Item5total17h4c05b1b5f55367aaE", "shop::Item::total"},
          {"_ZN49_$LT$shop..Item$u20$as$u20$core..fmt..Display$GT$3fmt17h37f4ff63a3036740E",
           "<shop::Item as core::fmt::Display>::fmt"},
          {"main", "main"},
          {"_Zzz", "_Zzz"},
          {"", ""}})
        EXPECT_EQ(readable_symbol(symbol), text);
}

TEST(Demangle, NotMangled) {
    for (const char* name : {"", "main", "_Z", "_R", "_ZN", "_ZN99999999999999999999a", "_RNv", "_RNvB_", "_RINvC1ai"})
        EXPECT_FALSE(demangle(name)) << name;
}

TEST(Demangle, RustLegacy) {
    EXPECT_EQ(demangle("_ZN4shop4Item5total17h4c05b1b5f55367aaE"), "shop::Item::total");
    EXPECT_EQ(demangle("_ZN49_$LT$shop..Item$u20$as$u20$core..fmt..Display$GT$3fmt17h37f4ff63a3036740E"),
              "<shop::Item as core::fmt::Display>::fmt");
    EXPECT_EQ(demangle("_ZN1a59_$LT$impl$u20$core..fmt..Display$u20$for$u20$shop..Item$GT$3fmt17h37f4ff63a3036740E"),
              "<shop::Item as core::fmt::Display>::fmt");
    EXPECT_EQ(demangle("_ZN1a4main28_$u7b$$u7b$closure$u7d$$u7d$17h319ed05e8a1b4bb5E"), "a::main::{{closure}}");
    EXPECT_EQ(demangle("_ZN1a1f17h319ed05e8a1b4bb5E.llvm.1234"), "a::f");
}

TEST(Demangle, RustV0) {
    EXPECT_EQ(demangle("_RNvCs9mg4hJbtRZk_1a4look"), "a::look");
    EXPECT_EQ(demangle("_RINvCs9mg4hJbtRZk_1a5twicelEB2_"), "a::twice<i32>");
    EXPECT_EQ(demangle("_RNvMNtCs9mg4hJbtRZk_1a4shopNtB2_4Item5total"), "a::shop::Item::total");
    EXPECT_EQ(demangle("_RNvXCs1_1aNtB2_4ItemNtNtCs2_4core3fmt7Display3fmt"), "<a::Item as core::fmt::Display>::fmt");
    EXPECT_EQ(demangle("_RNCNvCs1_1a4main0B3_"), "a::main::{closure#0}");
    EXPECT_EQ(demangle("_RINvC1a1fRSmTlbEAhj3_E"), "a::f<&[u32], (i32, bool), [u8; 3]>");
    EXPECT_EQ(demangle("_RINvC1a1fFlElmE"), "a::f<fn(i32) -> i32, u32>");
    EXPECT_EQ(demangle("_RNvCs9mg4hJbtRZk_1a4look.llvm.1234"), "a::look");
    // A method of a generic type with its own generic arguments.
    EXPECT_EQ(demangle("_RINvMC1aINtB3_4ItemlE3putmE"), "a::Item<i32>::put<u32>");
    EXPECT_EQ(demangle("_RINvC1a1fFUKCPcEuE"), "a::f<unsafe extern \"C\" fn(*const char)>");
}

} // namespace
} // namespace sonde
