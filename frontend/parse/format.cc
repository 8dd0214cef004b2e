// Parses printf formats. Source of the rules: the chapter on output functions in the SystemTap language reference.
//
// For example, "%-5d of %%" becomes two directives: an Integer with the flag `-` and the width 5, and the Literal " of
// %". The values and their types are not known here.
#include "frontend/parse/format.h"

#include <cctype>

#include <fmt/format.h>

namespace sonde {
namespace {

using plan::Directive;

void add_literal(std::vector<Directive>& out, std::string_view text) {
    if (out.empty() || out.back().kind != Directive::Literal)
        out.emplace_back();
    out.back().text += text;
}

// Reads digits or `*`. Accepts at most seven digits, so that a typo does not ask for gigabytes of blanks.
bool read_number(std::string_view format, size_t& at, bool& is_arg, int32_t& value) {
    if (at < format.size() && format[at] == '*') {
        is_arg = true;
        at++;
        return true;
    }
    size_t begin = at;
    int32_t number = 0;
    while (at < format.size() && std::isdigit(static_cast<unsigned char>(format[at])) && at - begin < 7)
        number = number * 10 + (format[at++] - '0');
    if (at > begin)
        value = number;
    return at == format.size() || !std::isdigit(static_cast<unsigned char>(format[at]));
}

// Reads `{NAME}`, in which `}}` is the character `}`. Returns false if it has no end.
bool read_name(std::string_view format, size_t& at, std::string& name) {
    for (at++; at < format.size(); at++) {
        const bool closes = format[at] == '}';
        if (closes && !format.substr(at + 1).starts_with('}')) {
            at++;
            return !name.empty();
        }
        name += format[at];
        at += closes;
    }
    return false;
}

} // namespace

Result<std::vector<plan::Directive>> parse_format(std::string_view format, size_t* bad) {
    std::vector<Directive> out;
    size_t at = 0;
    while (at < format.size()) {
        size_t percent = format.find('%', at);
        if (percent == std::string_view::npos) {
            add_literal(out, format.substr(at));
            break;
        }
        if (percent > at)
            add_literal(out, format.substr(at, percent - at));
        at = percent + 1;
        if (at == format.size() || format[at] == '%') {
            add_literal(out, "%");
            at++;
            continue;
        }
        // From here on, errors are about the directive at `percent`.
        if (bad)
            *bad = percent;
        Directive d;
        if (format[at] == '{' && !read_name(format, at, d.name))
            return Error("`%{` must have a name and then `}`: `%{count}d`");
        if (at < format.size() && std::string_view("0+- #").find(format[at]) != std::string_view::npos) {
            d.flag = format[at++];
            if (at < format.size() && std::string_view("0+- #").find(format[at]) != std::string_view::npos)
                return Error(
                    fmt::format("`{}`: a directive takes one flag only", format.substr(percent, at + 1 - percent)));
        }
        if (!read_number(format, at, d.width_is_arg, d.width))
            return Error(fmt::format("`{}`: the width is too large", format.substr(percent, at - percent)));
        if (at < format.size() && format[at] == '.') {
            at++;
            d.precision = 0;
            if (!read_number(format, at, d.precision_is_arg, d.precision))
                return Error(fmt::format("`{}`: the precision is too large", format.substr(percent, at - percent)));
        }
        // `l` and `ll` are accepted as in C, and have no effect: all numbers have 64 bits.
        for (int i = 0; i < 2 && at < format.size() && format[at] == 'l'; i++)
            at++;
        if (at == format.size())
            return Error(fmt::format("`{}` ends without a conversion", format.substr(percent)));
        d.conversion = format[at++];
        switch (d.conversion) {
        case 'i':
            d.conversion = 'd';
            [[fallthrough]];
        case 'd':
        case 'u':
        case 'x':
        case 'X':
        case 'o':
            d.kind = Directive::Integer;
            break;
        case 'p':
            d.kind = Directive::Integer;
            break;
        case 'c':
            d.kind = Directive::Char;
            break;
        case 's':
        case 'v':
            d.kind = Directive::String;
            break;
        case 'b':
            d.kind = Directive::Binary;
            break;
        case 'm':
        case 'M':
            d.kind = Directive::Memory;
            break;
        default:
            if (!isgraph(static_cast<unsigned char>(d.conversion)))
                return Error(
                    fmt::format("`{}` has no conversion letter; the conversions are d i u x X o p c s v b m M %",
                                format.substr(percent, at - 1 - percent)));
            return Error(fmt::format("`{}` is not a directive; the conversions are d i u x X o p c s v b m M %",
                                     format.substr(percent, at - percent)));
        }
        out.push_back(std::move(d));
    }
    return out;
}

} // namespace sonde
