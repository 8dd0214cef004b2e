// Names of Rust's async functions and blocks in debug information.
#pragma once

#include <string>
#include <string_view>

namespace sonde {

// Returns the name as in the source for the qualified name of such a function, or of its state machine: "shop::pay" for
// "shop::pay::{async_fn#0}" and "shop::pay::{async_fn_env#0}", and "shop::pay::{async_block#0}" for a block in that
// function. Returns "" for other names.
std::string async_name(std::string_view qualified);

} // namespace sonde
