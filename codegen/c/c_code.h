// The script's functions in C, compiled: what the code of the handlers is linked with.
//
// A function `f` is `i64 sonde_c_f(arguments..., result, error text)`: numbers by value, strings as slots. It gives 0,
// or the number of one of its places, from 1 on, with the bits that the pending error gets there
// (codegen/lower/errors.h). At a read that failed, the address is left where the result would be.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/source.h"

namespace sonde {

// Where a function in C can fail.
struct CPlace {
    std::string message;
    Range range;
};

struct CCode {
    std::string bitcode;
    std::map<std::string, std::vector<CPlace>> places; // by the function's name in the program
};

// "sonde_c_f"
inline std::string c_symbol(const std::string& function) { return "sonde_c_" + function; }

} // namespace sonde
