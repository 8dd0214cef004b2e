// The compiled C functions of a script, which handlers are linked with.
//
// A C function `f` is `i64 sonde_c_f(arguments..., environment, slots, result, error text)`. Numbers are passed by
// value, strings as slots. It returns one of:
// * 0 if it succeeds
// * the number of one of its places, counted from 1, with the bits of the pending error (codegen/emit/environment.h).
//   After a failed read, the place for the result has the address.
// * one of the negative numbers below
//
// A script function `g` that C calls is `i64 sonde_s_g(environment, arguments..., result)`. It returns 0, or sets the
// pending error and returns another number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"
#include "runtime/plan/handler_errors.h"

namespace sonde {

// A place in the script where a C function can fail.
struct CPlace {
    plan::ErrorMessage message;
    Range range;
};

// The properties of one compiled function, which its callers must know.
struct CFunction {
    std::vector<CPlace> places;
    uint64_t slots = 0;     // number of slots for its own strings
    bool uses_text = false; // needs the last argument (error text)
    Range writes;           // where it writes a program's memory; invalid if it does not
    Range kernel_call; // where it calls a kernel function (kfunc), which may have side effects; invalid if it does not
};

// The script's C as a whole. The bitcode is a module for BPF, in which all functions of the C are inlined into those in
// `functions`.
struct CCode {
    std::string bitcode;
    std::map<std::string, CFunction> functions; // by their names in the script
    std::set<std::string> modules;              // kernel modules whose types it uses
};

// Results of a C function: an error is already pending; and continue with the next function of the same name.
constexpr int64_t c_failed_before = -1, c_goes_on = -2;
// Prefix of calls that return the address of a kernel variable (hir::CCall).
constexpr std::string_view c_address_of = "sonde_address_";
// Prefix of script functions with the same name as one in the prelude.
constexpr std::string_view c_own_prefix = "sonde_own_";
// Positions of the last arguments, counted from the end.
constexpr unsigned c_error_argument = 1, c_result_argument = 2, c_slots_argument = 3, c_environment_argument = 4;

// The name as a C identifier. Names that a script cannot write contain a dot.
inline std::string c_name(std::string name) {
    std::replace(name.begin(), name.end(), '.', '$');
    return name;
}
// "sonde_c_f", "sonde_s_g"
inline std::string c_symbol(const std::string& function) { return "sonde_c_" + c_name(function); }
inline std::string script_symbol(const std::string& function) { return "sonde_s_" + c_name(function); }

// The name in the script: `f` for "sonde_c_f_body", `n` for "sonde_c_f_body.n", a static variable of that function.
inline std::string written_name(const std::string& name) {
    if (name.starts_with(c_own_prefix))
        return name.substr(c_own_prefix.size());
    if (!name.starts_with(c_symbol("")))
        return name;
    if (size_t dot = name.rfind('.'); dot != std::string::npos)
        return name.substr(dot + 1);
    const std::string out = name.substr(c_symbol("").size());
    return out.ends_with("_body") ? out.substr(0, out.size() - 5) : out;
}

} // namespace sonde
