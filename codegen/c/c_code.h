// The script's functions in C, compiled: what the code of the handlers is linked with.
//
// A function `f` is `i64 sonde_c_f(arguments..., environment, slots, result, error text)`: numbers by value, strings as
// slots. It gives 0, or the number of one of its places, from 1 on, with the bits that the pending error gets there
// (codegen/lower/errors.h), or one of the numbers below. At a read that failed, the address is left where the result
// would be.
//
// A function `g` of the script that C calls is there as `i64 sonde_s_g(environment, arguments..., result)`, which gives
// 0, or has made an error the pending one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"

namespace sonde {

// Where a function in C can fail.
struct CPlace {
    std::string message;
    Range range;
};

struct CFunction {
    std::vector<CPlace> places;
    uint64_t slots = 0;     // that it needs for texts of its own
    bool uses_text = false; // the last argument may not be null
    Range writes;           // where it writes a program's memory; not valid: nowhere
    Range kernel_call;      // where it calls one of the kernel's functions for BPF, which may change something
};

struct CCode {
    std::string bitcode;
    std::map<std::string, CFunction> functions; // by their names in the program
    std::set<std::string> modules;              // of the kernel, whose types it names
};

// What a function in C gives if an error is the pending one already; and if it goes on to the next of its name.
constexpr int64_t c_failed_before = -1, c_goes_on = -2;
// Names of calls that tell where a variable of the kernel's is (hir::CCall).
constexpr std::string_view c_address_of = "sonde_address_";
// Of functions of the script's that are called as some of ours are.
constexpr std::string_view c_own_prefix = "sonde_own_";
// The last arguments, counted from the end.
constexpr unsigned c_error_argument = 1, c_result_argument = 2, c_slots_argument = 3, c_environment_argument = 4;

// A name in C; those that no script can write have a dot.
inline std::string c_name(std::string name) {
    std::replace(name.begin(), name.end(), '.', '$');
    return name;
}
// "sonde_c_f", "sonde_s_g"
inline std::string c_symbol(const std::string& function) { return "sonde_c_" + c_name(function); }
inline std::string script_symbol(const std::string& function) { return "sonde_s_" + c_name(function); }

// The name as the script has it: `f` of "sonde_c_f_body", `n` of "sonde_c_f_body.n", the static variable there.
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
