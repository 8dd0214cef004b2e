// A definition is [[GROUP:]EVENT=]FUNCTION[@FILE][:LINE|%return] or FILE:LINE, followed by values to print (see `man
// perf-probe`). The words before it are options of `perf probe`, quoted as in a shell. For example,
//
//     -x /bin/bash 'readline%return result=$retval:string'
//
// becomes a return probe of readline that prints the name and number of the process, and its result as a string.
//
// perf names a place by a line counted from the function's first line, while our points use lines of the file unless
// there is a `+`. A value is a variable with members, a register (`%di`), a stack slot, or memory at an offset from one
// of these: `+8(%di):u32`.
//
// A line for tracefs' kprobe_events has other words in front, but the same values. It is converted to a definition
// first.
#include "frontend/bridge/perf.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "frontend/bridge/point.h"

namespace sonde::bridge {
namespace {

struct ShellWord {
    std::string text;
    size_t begin = 0, end = 0;
};

// Splits the text at blanks as a shell does, but without backslashes. Quotes are removed from the words, but their
// places include them.
std::vector<ShellWord> split_words(std::string_view text) {
    std::vector<ShellWord> out;
    bool open = false;
    char quote = 0;
    for (size_t i = 0; i < text.size(); i++) {
        const char c = text[i];
        const bool blank = !quote && isspace(static_cast<unsigned char>(c));
        if (blank) {
            open = false;
            continue;
        }
        if (!open)
            out.push_back({"", i, i});
        open = true;
        if (quote ? c == quote : (c == '\'' || c == '"'))
            quote = quote ? 0 : c;
        else
            out.back().text += c;
        out.back().end = i + 1;
    }
    return out;
}

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The translation of a value: "$var", returnval(), u_register("di").
struct Fetch {
    std::string ours, gap;
};

class Definition {
  public:
    Definition(const ShellWord& word, std::string process, std::string module)
        : word_(word), process_(std::move(process)), module_(std::move(module)) {}

    std::string translate(std::vector<Gap>& gaps) {
        std::vector<ShellWord> words = split_words(word_.text);
        if (words.empty())
            return note(gaps, "the definition is empty"), "";
        std::string place = words[0].text;
        std::string event;
        if (const size_t equals = place.find('='); equals != std::string::npos) {
            event = place.substr(0, equals);
            place.erase(0, equals + 1);
        }
        const std::string point = write_point(place, gaps);
        if (point.empty())
            return "";
        std::string name =
            event.empty() ? place : event.substr(event.find(':') == std::string::npos ? 0 : event.find(':') + 1);
        // printf would read the `%` of a name such as `readline%return` or `%sdt_libc:setjmp` as a directive.
        if (name.starts_with('%'))
            name.erase(0, 1);
        std::ranges::replace(name, '%', '_');
        std::string format = name + ":", values;
        for (size_t i = 1; i < words.size(); i++)
            add_argument(words[i].text, format, values, gaps);
        return fmt::format("probe {} {{ printf(\"%s %d {}\\n\", execname(), pid(){}) }}\n", point, format, values);
    }

  private:
    void note(std::vector<Gap>& gaps, std::string why) const {
        gaps.push_back({word_.begin, word_.end, std::move(why), true});
    }

    // The probe point; empty after a gap.
    std::string write_point(std::string place, std::vector<Gap>& gaps) {
        const std::string base = !process_.empty() ? process_
                                 : module_.empty() ? "kernel"
                                                   : fmt::format("module({})", quoted(module_));
        if (place.starts_with("%") || place.starts_with("sdt_")) {
            const size_t colon = place.find(':');
            const size_t begin = place.starts_with("%") ? 1 : 0;
            std::string group = place.substr(begin, colon - begin);
            if (group.starts_with("sdt_"))
                group.erase(0, 4);
            if (colon == std::string::npos)
                return note(gaps, fmt::format("`{}`: write a mark as `%sdt_PROVIDER:NAME`", place)), "";
            return fmt::format("{}.provider({}).mark({})", process_.empty() ? "process" : process_, quoted(group),
                               quoted(place.substr(colon + 1)));
        }
        if (place.find(';') != std::string::npos)
            return note(gaps,
                        fmt::format("`{}`: sonde does not search source lines by a pattern; give the line: `FILE:LINE`",
                                    place)),
                   "";
        if (place.ends_with("%return")) {
            returns_ = true;
            return fmt::format("{}.function({}).return", base, quoted(place.substr(0, place.size() - 7)));
        }
        if (const size_t plus = place.find('+');
            plus != std::string::npos && place.find("operator") == std::string::npos) {
            if (place.substr(plus) != "+0" && place.substr(plus) != "+0x0")
                return note(gaps, fmt::format("`{}`: name a place inside of a function by its line or its address: "
                                              "`.statement(0xADDRESS)`",
                                              place)),
                       "";
            place.resize(plus);
        }
        const size_t colon = place.rfind(':');
        if (colon != std::string::npos && is_number(place.substr(colon + 1))) {
            const std::string where = place.substr(0, colon), line = place.substr(colon + 1);
            const size_t at = where.find('@');
            const bool file = at == std::string::npos && where.find('.') != std::string::npos;
            in_body_ = true;
            if (file)
                return fmt::format("{}.statement({})", base, quoted(fmt::format("*@{}:{}", where, line)));
            // Lines of a function are counted from its first line.
            return fmt::format("{}.statement({})", base,
                               quoted(fmt::format("{}@{}+{}", where.substr(0, at),
                                                  at == std::string::npos ? "*" : where.substr(at + 1), line)));
        }
        if (place.starts_with("0x"))
            return fmt::format("{}.statement({})", base, place);
        return fmt::format("{}.function({})", base, quoted(place));
    }

    // Adds one value to the format and to the list of values. `name=+8(%di):u32` adds " name=%d" to the format.
    void add_argument(const std::string& text, std::string& format, std::string& values, std::vector<Gap>& gaps) {
        std::string expression = text, name, type;
        if (const size_t equals = expression.find('='); equals != std::string::npos) {
            name = expression.substr(0, equals);
            expression.erase(0, equals + 1);
        }
        if (const size_t colon = expression.rfind(':'); colon != std::string::npos) {
            type = expression.substr(colon + 1);
            expression.resize(colon);
        }
        for (auto [there, ours] : {std::pair{"$vars", "$$vars"}, {"$params", "$$parms"}, {"$locals", "$$locals"}})
            if (expression == there) {
                format += " %s";
                values += fmt::format(", {}", ours);
                return;
            }
        const Fetch fetch = write_fetch(expression, type);
        if (!fetch.gap.empty()) {
            note(gaps, fmt::format("`{}`: {}", text, fetch.gap));
            return;
        }
        const bool program = !process_.empty() || type == "ustring";
        std::string value = fetch.ours.starts_with("user_") ? fetch.ours : as_type(fetch.ours, type);
        std::string directive = "%d";
        if (type == "string" || type == "ustring") {
            directive = "\\\"%s\\\"";
            value = fmt::format("{}_string({}, \"?\")", program ? "user" : "kernel", value);
        } else if (type.starts_with("x")) {
            directive = "%#x";
        } else if (type == "symbol") {
            directive = "%s";
            value = fmt::format("{}({})", program ? "usymname" : "symname", value);
        } else if (type == "u64") {
            directive = "%u";
        } else if (type.starts_with("b") && type.find('@') != std::string::npos) {
            note(gaps, fmt::format("`{}`: extract bits with `>>` and `&`", text));
        }
        if (expression == "$comm")
            directive = "%s";
        if (name.empty())
            name = expression[0] == '$' ? expression.substr(1) : expression;
        std::erase_if(name, [](char c) { return c == '"' || c == '%' || c == '\\'; });
        format += fmt::format(" {}={}", name, directive);
        values += ", " + value;
    }

    // The value's low bits, for a type such as s32, u8 or x16.
    static std::string as_type(const std::string& value, const std::string& type) {
        const std::string bits = type.empty() ? "" : type.substr(1);
        if (bits != "8" && bits != "16" && bits != "32")
            return value;
        const int width = std::stoi(bits);
        if (type[0] == 's')
            return fmt::format("(({0} << {1}) >> {1})", value, 64 - width);
        return type[0] == 'u' || type[0] == 'x' ? fmt::format("({} & {:#x})", value, (uint64_t{1} << width) - 1)
                                                : value;
    }

    // Translates a value. `type` determines how many bytes of memory are read. In `+8(%di):u32`, the inner value `%di`
    // is an address, so the result is `user_uint32(u_register("di") + 8)` in a program. An inner read as in
    // `+0(+8(%di))` always has 8 bytes.
    Fetch write_fetch(const std::string& text, const std::string& type) {
        if (text.empty())
            return {"", "the name is missing"};
        if (text == "$retval")
            return returns_ ? Fetch{process_.empty() ? "$return" : "returnval()", ""}
                            : Fetch{"", "a result is known only at `%return`"};
        if (text == "$comm")
            return {"execname()", ""};
        if (text.starts_with("$arg") && is_number(text.substr(4)))
            return in_body_ ? Fetch{"", "inside of a function, write `$NAME` for an argument"}
                            : Fetch{fmt::format("long_arg({})", text.substr(4)), ""};
        if (text.starts_with("$stack")) {
            const std::string number = text.substr(6);
            if (!number.empty() && !is_number(number))
                return {"", "sonde does not have this word"};
            const RegisterFile& registers = host_architecture().registers();
            const std::string sp = fmt::format("{}({})", process_.empty() ? "register" : "u_register",
                                               quoted(registers.name(registers.stack_pointer)));
            return {number.empty()
                        ? sp
                        : fmt::format("{}({} + 8 * {})", process_.empty() ? "kernel_long" : "user_int64", sp, number),
                    ""};
        }
        if (text[0] == '%')
            return {fmt::format("{}({})", process_.empty() ? "register" : "u_register", quoted(text.substr(1))), ""};
        if (text[0] == '\\' || isdigit(static_cast<unsigned char>(text[0])))
            return {text.substr(text[0] == '\\'), ""};
        if (text[0] == '@')
            return {"", "write `@var(\"NAME\")` for a variable of the file"};
        if (text[0] == '+' || text[0] == '-') {
            const size_t open = text.find('(');
            if (open == std::string::npos || !text.ends_with(')'))
                return {"", "write `+OFFSET(ADDRESS)` to read memory"};
            const bool user = text.starts_with("+u") || text.starts_with("-u") || !process_.empty();
            std::string offset = text.substr(0, open);
            std::erase(offset, 'u');
            Fetch inner = write_fetch(text.substr(open + 1, text.size() - open - 2), "");
            if (!inner.gap.empty())
                return inner;
            const std::string address = fmt::format("{} {} {}", inner.ours, offset[0], offset.substr(1));
            if (type == "string" || type == "ustring")
                return {address, ""};
            const std::string bits = type.size() > 1 && is_number(type.substr(1)) ? type.substr(1) : "64";
            if (user)
                return {fmt::format("user_{}int{}({})", type.starts_with("s") ? "" : "u", bits, address), ""};
            return {fmt::format("kernel_{}({})",
                                bits == "8"    ? "char"
                                : bits == "16" ? "short"
                                : bits == "32" ? "int"
                                               : "long",
                                address),
                    ""};
        }
        // A variable with members.
        std::string out = "$";
        for (size_t i = 0; i < text.size(); i++)
            out += text[i] == '.' ? std::string("->") : std::string(1, text[i]);
        if (std::ranges::any_of(text, [](char c) {
                return !isalnum(static_cast<unsigned char>(c)) &&
                       std::string_view("_.->[]").find(c) == std::string_view::npos;
            }))
            return {"", "this is not a variable with members"};
        return {out, ""};
    }

    ShellWord word_;
    std::string process_, module_;
    bool returns_ = false, in_body_ = false;
};

} // namespace

// Converts a line `p:EVENT SYMBOL ARGUMENTS` or `r:...` of tracefs' kprobe_events to a definition of `perf probe`.
static Result<ShellWord> kprobe_event(const std::vector<ShellWord>& words, std::string& module) {
    std::string event = words[0].text, symbol = words[1].text;
    const size_t colon = event.find(':');
    event =
        colon == std::string::npos ? "" : event.substr(std::max(colon, event.find('/') + 1 ? event.find('/') : 0) + 1);
    if (symbol.starts_with('/'))
        return Error(
            fmt::format("`{}` is a place in a file; write `-x PATH FUNCTION` for a function of a program", symbol));
    if (const size_t in = symbol.find(':'); in != std::string::npos) {
        module = symbol.substr(0, in);
        symbol.erase(0, in + 1);
    }
    ShellWord out{(event.empty() ? "" : event + "=") + symbol + (words[0].text[0] == 'r' ? "%return" : ""),
                  words[0].begin, words.back().end};
    for (size_t i = 2; i < words.size(); i++)
        out.text += " " + words[i].text;
    return out;
}

// The letter `p` or `r` can be followed by a number (`r16:EVENT SYMBOL`). Then comes a colon or a blank, so `probe
// begin` does not match.
bool is_kprobe_event(std::string_view text) {
    if (text.empty() || (text[0] != 'p' && text[0] != 'r') || text.find('{') != std::string_view::npos)
        return false;
    const size_t name = std::min(text.find_first_not_of("0123456789", 1), text.size());
    const size_t blank = text.find(' ', 1);
    if (blank == std::string_view::npos || (name != blank && text[name] != ':'))
        return false;
    const size_t symbol = text.find_first_not_of(' ', blank);
    return symbol != std::string_view::npos &&
           (isalpha(static_cast<unsigned char>(text[symbol])) || text[symbol] == '_' || text[symbol] == '/');
}

Result<Bridged> translate_perf(std::string_view text, const BridgeOptions& options) {
    std::vector<ShellWord> words = split_words(text);
    size_t at = 0;
    if (words.size() > 1 && words[0].text == "perf" && words[1].text == "probe")
        at = 2;
    std::string process, module;
    std::vector<ShellWord> definitions;
    ShellWord plain;
    if (is_kprobe_event(text)) {
        Result<ShellWord> definition = kprobe_event(words, module);
        if (!definition)
            return std::move(definition).error();
        plain = *std::move(definition);
        at = words.size();
    }
    for (; at < words.size(); at++) {
        const std::string& word = words[at].text;
        const bool path = word == "-x" || word == "--exec", in_module = word == "-m" || word == "--module",
                   add = word == "-a" || word == "--add";
        if (path || in_module || add) {
            if (at + 1 >= words.size())
                return Error(fmt::format("nothing follows `{}`", word));
            const ShellWord& value = words[++at];
            if (path)
                process = process_of(value.text, options);
            else if (in_module)
                module = value.text;
            else
                definitions.push_back(value);
        } else if (word.starts_with("--exec=")) {
            process = process_of(word.substr(7), options);
        } else if (word.starts_with("--add=")) {
            definitions.push_back({word.substr(6), words[at].begin, words[at].end});
        } else if (word.starts_with("-") && word.size() > 1 && !plain.text.empty()) {
            plain.text += " " + word; // -8(%sp)
        } else if (word.starts_with("-")) {
            const std::array<std::string_view, 10> harmless = {"-f", "--force",   "-v", "--verbose",   "-q", "--quiet",
                                                               "-n", "--dry-run", "-k", "--no-inlines"};
            if (std::ranges::find(harmless, std::string_view(word)) == harmless.end())
                return Error(fmt::format(
                    "`{}` adds no probe; sonde reads `-x PATH`, `-m MODULE`, `--add` and a definition", word));
        } else {
            plain.text += (plain.text.empty() ? "" : " ") + word;
            plain.begin = plain.end == 0 ? words[at].begin : plain.begin;
            plain.end = words[at].end;
        }
    }
    if (!plain.text.empty())
        definitions.push_back(plain);
    if (definitions.empty())
        return Error(
            "the definition is missing; write `FUNCTION VARIABLE`, `FUNCTION%return $retval` or `FUNCTION:LINE`");
    Bridged out;
    for (const ShellWord& one : definitions)
        out.script += Definition(one, process, module).translate(out.gaps);
    if (out.script.empty() && !out.gaps.empty())
        return Error(out.gaps[0].text);
    return out;
}

} // namespace sonde::bridge
