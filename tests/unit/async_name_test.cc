// Names of Rust's async functions and blocks.
#include "base/async_name.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(AsyncName, IsThatOfTheFunction) {
    EXPECT_EQ(async_name("shop::pay::{async_fn#0}"), "shop::pay");
    EXPECT_EQ(async_name("shop::pay::{async_fn_env#0}"), "shop::pay");
    EXPECT_EQ(async_name("shop::{impl#3}::pay::{async_fn#12}"), "shop::{impl#3}::pay");
}

TEST(AsyncName, KeepsGenericArguments) {
    EXPECT_EQ(async_name("shop::pay::{async_fn_env#0}<alloc::vec::Vec<a::b>, fn(u8) -> u8>"),
              "shop::pay<alloc::vec::Vec<a::b>, fn(u8) -> u8>");
}

TEST(AsyncName, NumbersBlocks) {
    EXPECT_EQ(async_name("shop::pay::{async_fn#0}::{async_block_env#1}"), "shop::pay::{async_block#1}");
    EXPECT_EQ(async_name("shop::main::{async_block#0}"), "shop::main::{async_block#0}");
    EXPECT_EQ(async_name("shop::pay::{closure#2}::{async_block_env#0}<u8>"),
              "shop::pay::{closure#2}::{async_block#0}<u8>");
}

TEST(AsyncName, IsEmptyForOtherFunctions) {
    for (const char* other : {"", "shop::pay", "shop::pay::{closure#0}", "{async_fn#0}",
                              "shop::pay::{async_fn#0}::{closure#0}", "shop::run<shop::pay::{async_fn_env#0}>"})
        EXPECT_EQ(async_name(other), "") << other;
}

} // namespace
} // namespace sonde
