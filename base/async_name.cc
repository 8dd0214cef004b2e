// An async function has two parts. The function itself only makes the state machine, and the body is a function inside
// of it:
//
//     shop::pay                                           the function
//     shop::pay::{async_fn#0}                             the body
//     shop::pay::{async_fn_env#0}<T>                      the state machine's type
//     shop::pay::{async_fn#0}::{async_block_env#0}        that of a block in the body
//
// The name of a body is the function's name. A block keeps its number.
#include "base/async_name.h"

#include <vector>

namespace sonde {
namespace {

// The parts between `::`, except those inside of template arguments.
std::vector<std::string_view> components(std::string_view name) {
    std::vector<std::string_view> out;
    size_t begin = 0;
    int depth = 0;
    for (size_t i = 0; i < name.size(); i++) {
        if (name[i] == '<' || name[i] == '(')
            depth++;
        else if ((name[i] == '>' && (i == 0 || name[i - 1] != '-')) || name[i] == ')')
            depth--;
        else if (depth == 0 && name.substr(i, 2) == "::") {
            out.push_back(name.substr(begin, i - begin));
            begin = i + 2;
            i++;
        }
    }
    out.push_back(name.substr(begin));
    return out;
}

} // namespace

std::string async_name(std::string_view qualified) {
    constexpr std::string_view function = "{async_fn", environment = "_env#";
    const std::vector<std::string_view> parts = components(qualified);
    if (parts.size() < 2 || !parts.back().starts_with("{async_"))
        return "";
    std::string out;
    for (const std::string_view part : parts) {
        const size_t end = part.find('}');
        if (part.starts_with(function) && end != std::string_view::npos) {
            out += part.substr(end + 1); // generic arguments
            continue;
        }
        std::string text(part);
        if (const size_t at = text.find(environment); at != std::string::npos && text.starts_with("{async_"))
            text.replace(at, environment.size(), "#");
        out += (out.empty() ? "" : "::") + text;
    }
    return out;
}

} // namespace sonde
