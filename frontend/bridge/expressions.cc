// Operators are those of C in all languages. Words, calls, maps and reads of memory differ. In our language, a read
// says whether the memory is a program's or the kernel's, and whether it is a string or a number of a given size:
//
//     *(int32 *)$p                     kernel_int(p) or user_int32(p), depending on the probe
//     str(kptr($p))                    kernel_string(p, "?")
//     ((struct sock *)$p)->sk_state    @cast(p, "sock", "kernel")->sk_state
//
// The functions return text. An expression without a counterpart becomes a gap and the text `0 /* ... */`, which is
// valid in every place of a number. is_gap() recognizes such a text, so that no operator is added.
//
// An operand of another operator gets parentheses (`inner`), except where nobody is in doubt, such as for a product in
// a sum.
#include "frontend/bridge/expressions.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "frontend/bridge/words.h"
#include "frontend/hints/tracepoint_fields.h"

namespace sonde::bridge {
namespace {

struct Integer {
    std::string_view name;
    int bytes;
    bool is_signed;
};
constexpr Integer integers[] = {
    {"int8", 1, true},
    {"int16", 2, true},
    {"int32", 4, true},
    {"int64", 8, true},
    {"uint8", 1, false},
    {"uint16", 2, false},
    {"uint32", 4, false},
    {"uint64", 8, false},
    {"char", 1, true},
    {"short", 2, true},
    {"int", 4, true},
    {"long", 8, true},
    {"unsigned", 4, false},
    {"unsigned int", 4, false},
    {"unsigned long", 8, false},
    {"long long", 8, true},
    {"unsigned char", 1, false},
    {"int8_t", 1, true},
    {"int16_t", 2, true},
    {"int32_t", 4, true},
    {"int64_t", 8, true},
    {"uint8_t", 1, false},
    {"uint16_t", 2, false},
    {"uint32_t", 4, false},
    {"uint64_t", 8, false},
    {"u8", 1, false},
    {"u16", 2, false},
    {"u32", 4, false},
    {"u64", 8, false},
    {"size_t", 8, false},
    {"uintptr_t", 8, false},
    {"pid_t", 4, true},
    {"unsigned short", 2, false},
    {"bool", 1, false},
};

const Integer* find_integer(std::string_view type) {
    const auto found = std::ranges::find(integers, type, &Integer::name);
    return found == std::end(integers) ? nullptr : found;
}

// "struct sock" for "struct sock *".
std::string pointee(const std::string& type) {
    std::string out = type.substr(0, type.rfind('*'));
    while (out.ends_with(' '))
        out.pop_back();
    return out;
}

// "sock" for "struct sock".
std::string_view without_tag(std::string_view type) {
    for (std::string_view word : {"struct ", "union "})
        if (type.starts_with(word))
            type.remove_prefix(word.size());
    return type;
}

bool is_args(const Node& node) { return node.kind == NodeKind::Name && node.text == "args"; }

// Whether an address is a program's. uptr() and kptr() decide, and otherwise the point. The search follows first
// operands, so uptr() also decides in `*(uint32 *)(uptr($p) + 4)`.
bool is_in_program(const Node& address, const Writing& w) {
    if (address.kind == NodeKind::Call && address.text == "uptr")
        return true;
    if (address.kind == NodeKind::Call && address.text == "kptr")
        return false;
    if (address.kind == NodeKind::Member || address.kind == NodeKind::Name || address.parts.empty() ||
        !address.parts[0])
        return w.point->in_program;
    return is_in_program(*address.parts[0], w);
}

// Reads an integer. The kernel functions give signed values, so unsigned values are cut to their size.
std::string read_integer(const std::string& address, int bytes, bool is_signed, bool in_program) {
    if (in_program)
        return fmt::format("user_{}int{}({})", is_signed ? "" : "u", bytes * 8, address);
    const std::string value = fmt::format("kernel_{}({})",
                                          bytes == 1   ? "char"
                                          : bytes == 2 ? "short"
                                          : bytes == 4 ? "int"
                                                       : "long",
                                          address);
    return is_signed || bytes == 8 ? value : fmt::format("({} & {:#x})", value, (uint64_t{1} << (bytes * 8)) - 1);
}

// Do not add operators to a gap.
bool is_gap(std::string_view written) { return written.starts_with("0 /* "); }

// The type that a pointer was cast to; empty if unknown.
std::string cast_type(const Writing& w, const Node& node) {
    if (node.kind == NodeKind::Cast && node.text.ends_with('*'))
        return pointee(node.text);
    if (node.kind == NodeKind::Name && (node.text == "curtask" || node.text == "curthread"))
        return "struct task_struct";
    if (node.kind == NodeKind::Variable) {
        const auto found = w.facts.variable_types.find(node.text);
        return found == w.facts.variable_types.end() ? "" : found->second;
    }
    return "";
}

std::string write_name(Writing& w, const Node& node) {
    const Word word = find_word(node.text, w.dialect, *w.point, false);
    w.uses_start |= node.text == "elapsed" && w.dialect == Dialect::Bpftrace;
    return word.ours.empty() ? w.gap(node, word.gap) : word.ours;
}

// Translates `a->b` and `a.b`. The first cases are values that only look like structures: `args`, `ctx` of an iterator,
// DTrace's `curpsinfo`, and the pair `$kv` of a loop. For a real structure, a pointer with a known cast needs `@cast`.
// Any other pointer is left to sonde's own types.
std::string write_member(Writing& w, const Node& node) {
    const Node& base = *node.parts[0];
    if (is_args(base))
        return argument_named(node.text, *w.point);
    if (base.kind == NodeKind::Name && base.text == "ctx" && w.point->kind == PointKind::Iterator)
        return "$" + node.text;
    if (base.kind == NodeKind::Name && base.text == "curpsinfo") {
        if (node.text == "pr_psargs")
            return "cmdline_str()";
        if (node.text == "pr_fname")
            return "execname()";
        return w.gap(node,
                     "sonde does not have this field of a process; use `cmdline_str()`, `execname()` or `ppid()`");
    }
    if (base.kind == NodeKind::Variable && (node.text == "0" || node.text == "1") &&
        w.facts.variables.contains(base.text + "." + node.text))
        return node.text == "0" ? variable_name(base.text, w.facts) : variable_name(base.text + "_value", w.facts);
    if (isdigit(static_cast<unsigned char>(node.text[0])))
        return w.gap(node, "sonde has no tuples: a value is a number or a string");
    if (is_file_name(node))
        return fmt::format("fullpath_struct_file(task_current(), task_fd_lookup(task_current(), {}))",
                           write(w, *base.parts[1]));
    const std::string type = cast_type(w, base);
    if (type.empty()) {
        const std::string address = write(w, base, true);
        return is_gap(address) ? address : fmt::format("{}->{}", address, node.text);
    }
    const std::string_view name = without_tag(type);
    const Node& address = base.kind == NodeKind::Cast ? *base.parts[0] : base;
    return fmt::format("@cast({}, \"{}\"{})->{}", write_pointer(w, address), name,
                       w.point->in_program ? "" : ", \"kernel\"", node.text);
}

// Our language has only 64-bit integers. A cast to a smaller unsigned type becomes a mask; one to a smaller signed type
// becomes two shifts, which copy the sign bit.
std::string write_cast(Writing& w, const Node& node) {
    const std::string value = write(w, *node.parts[0], true);
    const Integer* type = find_integer(node.text);
    if (!type || type->bytes == 8)
        return node.text.ends_with('*') ? write_pointer(w, *node.parts[0]) : value;
    if (node.text == "bool")
        return fmt::format("({} != 0)", value);
    if (!type->is_signed)
        return fmt::format("({} & {:#x})", value, (uint64_t{1} << (type->bytes * 8)) - 1);
    return fmt::format("(({0} << {1}) >> {1})", value, 64 - type->bytes * 8);
}

std::string write_prefix(Writing& w, const Node& node) {
    const Node& operand = *node.parts[0];
    if (node.text != "*") {
        const std::string value = write(w, operand, true);
        const bool would_join = value.starts_with(node.text.back()); // `- -x` is not `--x`
        return node.text + (would_join ? " " : "") + value;
    }
    // A read through a pointer has the size of the cast's type. Without a cast it has 8 bytes.
    const std::string type = cast_type(w, operand);
    const Integer* integer = find_integer(type);
    const bool in_program = is_in_program(operand, w);
    const Node& address = operand.kind == NodeKind::Cast ? *operand.parts[0] : operand;
    if (!integer && !type.empty() && !type.ends_with('*'))
        return w.gap(node, "read a structure's members with `->`");
    return read_integer(write_pointer(w, address), integer ? integer->bytes : 8, integer && integer->is_signed,
                        in_program);
}

std::string write_index(Writing& w, const Node& node) {
    const Node& base = *node.parts[0];
    // args.args[1] of raw_syscalls:sys_enter, and DTrace's args[1]
    const bool by_number = base.kind == NodeKind::Member && is_args(*base.parts[0]) && base.text == "args" &&
                           w.point->kind == PointKind::AnySyscallEntry;
    if ((by_number || is_args(base)) && node.parts[1]->kind == NodeKind::Number) {
        if (node.parts[1]->text.size() > 1)
            return w.gap(node, "a number from 0 to 9 is expected");
        const Word word = find_word("arg" + node.parts[1]->text, w.dialect, *w.point, true);
        return word.ours.empty() ? w.gap(node, word.gap) : word.ours;
    }
    if (base.kind == NodeKind::Name && base.text == "fds")
        return w.gap(node, "sonde reads only the path of an open file: `fds[FD].fi_pathname`");
    if (base.kind == NodeKind::Name)
        return w.gap(node, "declare an array as a global: `global seen`, `seen[key]`");
    if (value_of(base, w.facts, *w.point) == Value::Text)
        return fmt::format("stringat({}, {})", write_text(w, base), write(w, *node.parts[1]));
    return fmt::format("{}[{}]", write(w, base, true), write(w, *node.parts[1]));
}

// A read of a map. Where our map is a statistic, an extractor is needed to get a number.
std::string write_map(Writing& w, const Node& node) {
    const MapFacts& map = w.map_of(node);
    std::string element = write_element(w, node);
    switch (map.collects) {
    case Collects::Average:
        return fmt::format("@avg({})", element);
    case Collects::Least:
        return fmt::format("@min({})", element);
    case Collects::Most:
        return fmt::format("@max({})", element);
    case Collects::Statistics:
        return w.gap(node, "read a number from a statistic: `@avg(x)`, `@count(x)`, `@sum(x)`");
    case Collects::Powers:
    case Collects::Linear:
        return w.gap(node, "print the histogram, or read a bucket: `@hist_log(x)[n]`");
    default:
        return element;
    }
}

// ---- calls

// str(p), str(p, 16)
std::string write_string_at(Writing& w, const Node& node) {
    const Node& address = *node.parts[0];
    if (address.kind == NodeKind::Positional)
        return "@" + address.text;
    if (value_of(address, w.facts, *w.point) == Value::Text)
        return write_text(w, address);
    const bool program = is_in_program(address, w) || node.text == "copyinstr";
    const char* space = program ? "user" : "kernel";
    const std::string from = write_pointer(w, address);
    // An argument of a kernel function can be an address of the kernel or of a program. bpftrace tries both.
    const bool is_argument = address.kind == NodeKind::Name || address.kind == NodeKind::Variable ||
                             (address.kind == NodeKind::Member && is_args(*address.parts[0]));
    if (!program && is_argument && w.point->tracepoint.empty() && node.parts.size() == 1) {
        w.uses_either = true;
        return fmt::format("text_at({})", from);
    }
    if (node.parts.size() > 1)
        return fmt::format("{}_string_n({}, {}, \"?\")", space, from, write(w, *node.parts[1]));
    return fmt::format("{}_string({}, \"?\")", space, from);
}

// Translates the second argument of strftime(), nanoseconds since the boot, to seconds since 1970.
std::string write_seconds(Writing& w, const Node& value) {
    const std::string now = find_word("nsecs", w.dialect, *w.point, false).ours, text = write(w, value);
    return text == now ? "gettimeofday_s()" : fmt::format("gettimeofday_s() - ({} - ({})) / 1000000000", now, text);
}

// Translates the format of strftime() to parts of the result of tz_ctime(), such as "Wed Nov 25 09:26:46 2026". In the
// table, a part is its offset and its length: "%H:%M" becomes `substr(tz_ctime(gettimeofday_s()), 11, 5)`. Returns
// nothing for a directive without a row.
std::optional<std::string> write_time(const std::string& format, const std::string& seconds) {
    constexpr std::pair<std::string_view, std::string_view> pieces[] = {
        {"%H:%M:%S", "11, 8"}, {"%T", "11, 8"}, {"%H:%M", "11, 5"}, {"%R", "11, 5"}, {"%H", "11, 2"}, {"%M", "14, 2"},
        {"%S", "17, 2"},       {"%Y", "20, 4"}, {"%b", "4, 3"},     {"%d", "8, 2"},  {"%e", "8, 2"},  {"%a", "0, 3"}};
    std::vector<std::string> out;
    std::string text;
    const auto end_text = [&] {
        if (!text.empty())
            out.push_back(fmt::format("\"{}\"", text));
        text.clear();
    };
    for (std::string_view rest = format; !rest.empty();) {
        const auto* piece = std::ranges::find_if(pieces, [&](const auto& one) { return rest.starts_with(one.first); });
        if (piece != std::end(pieces)) {
            end_text();
            out.push_back(fmt::format("substr(tz_ctime({}), {})", seconds, piece->second));
            rest.remove_prefix(piece->first.size());
        } else if (rest[0] == '%') {
            return {};
        } else {
            text += rest[0];
            rest.remove_prefix(1);
        }
    }
    end_text();
    return fmt::format("{}", fmt::join(out, " . "));
}

// Functions that have the same parameters as ours. All others need code in write_call().
struct Renamed {
    std::string_view there, ours;
    size_t least, most; // number of arguments
};
constexpr Renamed renamed[] = {
    {"usym", "usymname", 1, 1},      {"ksym", "symname", 1, 1},    {"sym", "symname", 1, 1},
    {"func", "symname", 1, 1},       {"strlen", "strlen", 1, 1},   {"strcontains", "isinstr", 2, 2},
    {"strerror", "errno_str", 1, 1}, {"reg", "register", 1, 1},    {"ufunc", "usymname", 1, 1},
    {"usymbol", "usymname", 1, 1},   {"substr", "substr", 3, 3},   {"inet_ntoa", "ip_ntop", 1, 1},
    {"ntohs", "ntohs", 1, 1},        {"ntohl", "ntohl", 1, 1},     {"htonl", "htonl", 1, 1},
    {"htons", "htons", 1, 1},        {"assert", "assert", 1, 2},   {"speculation", "speculation", 0, 0},
    {"commit", "commit", 1, 1},      {"discard", "discard", 1, 1},
};
constexpr std::pair<std::string_view, std::string_view> no_such_call[] = {
    {"cat", "use `system(\"cat FILE\")` to print a file"},
    {"kaddr",
     "sonde has no function for a symbol's address; `@var(\"NAME\", \"kernel\")` reads a variable of the kernel"},
    {"uaddr", "sonde has no function for a symbol's address; `@var(\"NAME\", \"PATH\")` reads a variable of a program"},
    {"macaddr", "sonde has no function for hardware addresses; print the bytes with `%M`: `printf(\"%.6M\", address)`"},
    {"cgroupid", "sonde has no function for the number of a control group"},
    {"cgroup_path", "sonde has no function for a control group's path"},
    {"override",
     "use `probe kernel.function(\"NAME\").return { $return = VALUE }` with -g; the function then does not run"},
    {"unwatch", "a watchpoint lasts for the whole session"},
    {"skboutput", "sonde cannot write packets to a file"},
    {"buf", "print bytes from their address: `printf(\"%.16M\", address)`, with `#` for a program's memory"},
    {"strstr", "`strpos(s, t)` returns the position of a string in another"},
    {"basename", "sonde has no function for a path's last component"},
    {"copyin", "read memory by its type: `user_int32(address)`"},
    {"llquantize", "histograms are by powers of two or linear"},
    {"stddev", "`@variance(x)` is the square of the standard deviation"},
    {"alloca", "a handler cannot allocate memory"},
    {"speculate", "only text can be speculative: `speculate(id, text)`"},
};

// strcmp() and strncmp() return 0 for equal texts. So the condition `strcmp(a, b)` is `a != b`, and `strcmp(a, b) == 0`
// is `a == b`. Returns "" for other calls.
std::string write_comparison(Writing& w, const Node& node, const char* op) {
    const std::vector<NodePtr>& args = node.parts;
    if (node.kind != NodeKind::Call)
        return "";
    if (node.text == "strcmp" && args.size() == 2)
        return fmt::format("{} {} {}", write_text(w, *args[0]), op, write_text(w, *args[1]));
    if (node.text != "strncmp" || args.size() != 3)
        return "";
    const std::string n = write(w, *args[2]);
    const auto head = [&](const Node& text) {
        const bool whole = text.kind == NodeKind::String && std::to_string(text.text.size()) == n;
        return whole ? write(w, text) : fmt::format("substr({}, 0, {})", write_text(w, text), n);
    };
    return fmt::format("{} {} {}", head(*args[0]), op, head(*args[1]));
}

// The function that swaps the bytes of a value, whose size comes from a cast or from the name of a port; null if it is
// unknown.
const char* byte_swap(const Node& value, const Facts& facts) {
    if (value.kind == NodeKind::Variable && facts.ports.contains(value.text))
        return "ntohs";
    if (value.kind == NodeKind::Member && value.text.ends_with("port"))
        return "ntohs";
    const Integer* type = value.kind == NodeKind::Cast ? find_integer(value.text) : nullptr;
    return !type              ? nullptr
           : type->bytes == 2 ? "ntohs"
           : type->bytes == 4 ? "ntohl"
           : type->bytes == 8 ? "ntohll"
                              : nullptr;
}

// Whether this is a member that contains an IPv6 address, of which our function needs the address.
bool is_ipv6(const Node& address) {
    constexpr std::string_view names[] = {"u6_addr8", "u6_addr16", "u6_addr32", "s6_addr", "s6_addr16", "s6_addr32"};
    return address.kind == NodeKind::Member &&
           (std::ranges::find(names, std::string_view(address.text)) != std::end(names) ||
            (is_args(*address.parts[0]) && address.text.ends_with("_v6")));
}

// Translates a call whose value is used. Calls that need more than another name come first, then the calls without a
// counterpart, then the renamed ones. A row of `no_such_call` therefore wins over a row of `renamed`. A call with an
// unexpected number of arguments matches none of these, and becomes a gap at the end.
std::string write_call(Writing& w, const Node& node) {
    const std::string& name = node.text;
    const std::vector<NodePtr>& args = node.parts;
    const auto has = [&](size_t least, size_t most) { return args.size() >= least && args.size() <= most; };
    const bool is_dtrace = w.dialect == Dialect::Dtrace;
    if ((name == "str" && has(1, 2)) || (name == "copyinstr" && has(1, 2)) || (name == "stringof" && has(1, 1)))
        return write_string_at(w, node);
    if ((name == "uptr" || name == "kptr") && has(1, 1))
        return write_pointer(w, *args[0]);
    if (name == "kstack" || (is_dtrace && name == "stack"))
        return args.empty() ? "backtrace()"
                            : (w.gaps.push_back({node.begin, node.end,
                                                 "`kstack` with a number of frames: `backtrace()` takes no number; "
                                                 "limit it with `-D MAXBACKTRACE=N`",
                                                 false}),
                               "backtrace()");
    if (name == "ustack")
        return args.empty() ? "ubacktrace()"
                            : (w.gaps.push_back({node.begin, node.end,
                                                 "`ustack` with a number of frames: `ubacktrace()` takes no number; "
                                                 "limit it with `-D MAXBACKTRACE=N`",
                                                 false}),
                               "ubacktrace()");
    if (name == "reg" && has(1, 1) && args[0]->kind == NodeKind::String)
        return fmt::format("{}(\"{}\")", w.point->in_program ? "u_register" : "register", args[0]->text);
    if (const std::string compared = write_comparison(w, node, "!="); !compared.empty())
        return "(" + compared + ")";
    if (name == "strjoin" && has(2, 2))
        return fmt::format("({} . {})", write(w, *args[0], true), write(w, *args[1], true));
    if (name == "lltostr" && has(1, 1))
        return fmt::format("sprint({})", write(w, *args[0]));
    if (is_dtrace && name == "substr" && has(2, 2))
        return fmt::format("substr({0}, {1}, 512)", write(w, *args[0]), write(w, *args[1]));
    if (name == "ntop" && has(1, 1) && is_ipv6(*args[0]))
        return fmt::format("format_ipaddr({}, 10)", write_pointer(w, *args[0]));
    if (name == "ntop" && has(1, 1))
        return fmt::format("ip_ntop({})", write(w, *args[0]));
    if (name == "ntop" && has(2, 2))
        return fmt::format("format_ipaddr({}, {})", write(w, *args[1]), write(w, *args[0]));
    if (name == "strftime" && has(2, 2) && args[0]->kind == NodeKind::String)
        if (std::optional<std::string> time = write_time(args[0]->text, write_seconds(w, *args[1])))
            return "(" + *time + ")";
    if (name == "bswap" && has(1, 1) && byte_swap(*args[0], w.facts))
        return fmt::format("{}({})", byte_swap(*args[0], w.facts), write(w, *args[0]));
    if (name == "len" && has(1, 1) && args[0]->kind == NodeKind::Map && !w.map_of(*args[0]).keys.empty()) {
        const std::string& map = w.map_of(*args[0]).name;
        if (std::ranges::find(w.counted, map) == w.counted.end())
            w.counted.push_back(map);
        return fmt::format("length_of_{}()", map);
    }
    if (name == "path" && has(1, 1)) {
        // A member that is a path is a whole structure; an argument is a pointer to one.
        const bool is_pointer = args[0]->kind != NodeKind::Member || is_args(*args[0]->parts[0]);
        return fmt::format("fullpath_struct_path({}{})", is_pointer ? "" : "&", write_pointer(w, *args[0]));
    }
    if (name == "offsetof" && has(2, 2) && args[0]->kind == NodeKind::String && args[1]->kind == NodeKind::String)
        return fmt::format("&@cast(0, \"{}\"{})->{}", without_tag(args[0]->text),
                           w.point->in_program ? "" : ", \"kernel\"", args[1]->text);
    if (name == "bswap" && has(1, 1))
        return w.gap(node, "`ntohs(x)`, `ntohl(x)` and `ntohll(x)` swap two, four and eight bytes");
    if (name == "has_key" && has(2, 2))
        return fmt::format("({} in {})", write(w, *args[1], true), w.map_of(*args[0]).name);
    if (name == "join" && has(1, 2)) {
        w.uses_words = true;
        return fmt::format("join_words({})", write_pointer(w, *args[0]));
    }
    if (name == "nsecs" && args.size() <= 1)
        return find_word(name, w.dialect, *w.point, false).ours;
    if ((name == "pid" || name == "tid" || name == "ppid" || name == "rand") && args.empty())
        return find_word(name, w.dialect, *w.point, false).ours;
    for (const auto& [there, why] : no_such_call)
        if (name == there)
            return w.gap(node, std::string(why));
    for (const Renamed& one : renamed)
        if (name == one.there && has(one.least, one.most)) {
            std::string list;
            for (const NodePtr& arg : args)
                list += (list.empty() ? "" : ", ") + write(w, *arg);
            return fmt::format("{}({})", one.ours, list);
        }
    if (find_collector(name, w.dialect) != Collects::Nothing)
        return w.gap(node, "assign an aggregation to a map");
    return w.gap(node, fmt::format("sonde has no function `{}` with {} arguments", name, args.size()));
}

std::string write_binary(Writing& w, const Node& node) {
    const auto operand = [&](const Node& part) {
        // An operand of the same kind, a product in a sum, and a comparison in && need no parentheses. All others get
        // them.
        const bool plain =
            part.kind == NodeKind::Binary &&
            (((node.text == "&&" || node.text == "||") &&
              (part.text == "==" || part.text == "!=" || part.text == "<" || part.text == ">" || part.text == "<=" ||
               part.text == ">=")) ||
             (node.text == "&&" && part.text == "&&") || (node.text == "||" && part.text == "||") ||
             ((node.text == "+" || node.text == "-" || node.text == "==" || node.text == "<" || node.text == ">") &&
              (part.text == "*" || part.text == "/")) ||
             ((node.text == "<" || node.text == ">" || node.text == "<=" || node.text == ">=" || node.text == "==" ||
               node.text == "!=") &&
              (part.text == "+" || part.text == "-")));
        const bool logic = node.text == "&&" || node.text == "||";
        std::string text = logic ? write_condition(w, part) : write(w, part, !plain);
        const bool loose = logic && !plain && part.kind == NodeKind::Binary;
        return loose ? "(" + text + ")" : text;
    };
    if ((node.text == "==" || node.text == "!=") && node.parts[1]->kind == NodeKind::Number &&
        node.parts[1]->text == "0")
        if (std::string compared = write_comparison(w, *node.parts[0], node.text.c_str()); !compared.empty())
            return compared;
    const std::string left = operand(*node.parts[0]);
    // `a ^^ b` is true if exactly one of them is.
    if (node.text == "^^")
        return fmt::format("!({}) != !({})", left, operand(*node.parts[1]));
    return fmt::format("{} {} {}", left, node.text, operand(*node.parts[1]));
}

} // namespace

std::string comment_text(std::string_view text) {
    std::string out;
    for (char c : text)
        out += c == '/' && out.ends_with('*') ? std::string(" /") : std::string(1, c == '\n' ? ' ' : c);
    return out;
}

const MapFacts& Writing::map_of(const Node& node) const {
    static const MapFacts none;
    if (node.kind != NodeKind::Map && node.kind != NodeKind::OfThread)
        return none;
    const auto found = facts.maps.find(node.kind == NodeKind::OfThread ? "self->" + node.text : node.text);
    return found == facts.maps.end() ? none : found->second;
}

std::string Writing::gap(const Node& node, const std::string& why) {
    gaps.push_back({node.begin, node.end, fmt::format("`{}`: {}", original(node), why), true});
    return fmt::format("0 /* {} has no counterpart */", comment_text(original(node)));
}

std::string write_element(Writing& w, const Node& map) {
    const std::string& name = w.map_of(map).name;
    if (map.kind == NodeKind::OfThread)
        return fmt::format("{}[tid()]", name);
    std::string keys;
    for (const NodePtr& part : map.parts) {
        if (part->kind != NodeKind::Tuple) {
            keys += (keys.empty() ? "" : ", ") + write(w, *part);
            continue;
        }
        for (const NodePtr& inner : part->parts)
            keys += (keys.empty() ? "" : ", ") + write(w, *inner);
    }
    return keys.empty() ? name : fmt::format("{}[{}]", name, keys);
}

std::string write_pointer(Writing& w, const Node& node) {
    if (node.kind != NodeKind::Name)
        return write(w, node);
    const Word word = find_word(node.text, w.dialect, *w.point, true);
    w.uses_start |= node.text == "elapsed";
    return word.ours.empty() ? w.gap(node, word.gap) : word.ours;
}

std::string write_condition(Writing& w, const Node& node) {
    if (value_of(node, w.facts, *w.point) == Value::Text)
        return fmt::format("{} != \"\"", write(w, node, true));
    return write(w, node);
}

std::string write_text(Writing& w, const Node& node) {
    switch (value_of(node, w.facts, *w.point)) {
    case Value::KernelStack:
        return node.kind == NodeKind::Name || node.kind == NodeKind::Call
                   ? "sprint_backtrace()"
                   : fmt::format("sprint_syms({})", write(w, node));
    case Value::UserStack:
        return node.kind == NodeKind::Name || node.kind == NodeKind::Call
                   ? "sprint_ubacktrace()"
                   : fmt::format("sprint_usyms({})", write(w, node));
    case Value::Text:
        break;
    case Value::Number:
        // bpftrace prints a member that is an array of characters as a string. sonde needs a read of that string.
        if (node.kind == NodeKind::Member || node.kind == NodeKind::Index)
            return fmt::format("{}_string({}, \"?\")", w.point->in_program ? "user" : "kernel", write(w, node));
        if (node.kind != NodeKind::Number && node.kind != NodeKind::Positional)
            break;
        return fmt::format("sprint({})", write(w, node));
    }
    // `$task->comm` is an array of characters, unlike the field `comm` of a tracepoint, for which hints::find_field()
    // returns a string.
    if (node.kind == NodeKind::Member && node.text == "comm" && !hints::find_field(w.point->tracepoint, "comm"))
        return fmt::format("kernel_string({}, \"?\")", write(w, node));
    return write(w, node);
}

// Translates each directive together with its value, because one affects the other. `%s` of a stack needs
// sprint_backtrace(), and `%d` of a string becomes `%s`. Length modifiers as in `%lld` are dropped, because all our
// numbers have 64 bits.
std::string write_format(Writing& w, const std::vector<NodePtr>& parts, size_t first) {
    std::string format, list;
    size_t next = first + 1;
    const std::string& there = parts[first]->text;
    for (size_t i = 0; i < there.size(); i++) {
        if (there[i] != '%') {
            format += there[i];
            continue;
        }
        const size_t begin = i++;
        if (i < there.size() && there[i] == '%') {
            format += "%%";
            continue;
        }
        std::string flags;
        while (i < there.size() && std::string_view("-+ #0123456789.*").find(there[i]) != std::string_view::npos) {
            if (there[i] == '*' && next < parts.size())
                list += ", " + write(w, *parts[next++]);
            flags += there[i++];
        }
        while (i < there.size() && std::string_view("lhzjtq").find(there[i]) != std::string_view::npos)
            i++;
        const char conversion = i < there.size() ? there[i] : 's';
        const std::string directive = there.substr(begin, i - begin + 1);
        if (next >= parts.size()) {
            w.gaps.push_back(
                {parts[first]->begin, parts[first]->end, fmt::format("`{}` has no value", directive), true});
            continue;
        }
        const Node& value = *parts[next++];
        if ((conversion == 'r' || conversion == 'B') && value.kind == NodeKind::Call && value.text == "buf" &&
            value.parts.size() == 2) {
            const bool program = is_in_program(*value.parts[0], w);
            format += fmt::format("%{}.*M", program ? "#" : "");
            list += fmt::format(", {}, {}", write(w, *value.parts[1]), write_pointer(w, *value.parts[0]));
            continue;
        }
        if (conversion == 'Y') { // nanoseconds since 1970, as a date
            format += fmt::format("%{}s", flags);
            list += fmt::format(", tz_ctime({} / 1000000000)", write(w, value, true));
        } else if (conversion == 's' || conversion == 'k') {
            format += fmt::format("%{}s", flags);
            const std::string text = write_text(w, value);
            list += ", " + (is_gap(text) ? "\"\"" + text.substr(1) : text);
        } else if (std::string_view("diuxXocp").find(conversion) != std::string_view::npos) {
            const bool text = value_of(value, w.facts, *w.point) == Value::Text;
            format += fmt::format("%{}{}", flags, text ? 's' : conversion);
            list += ", " + write(w, value);
        } else if (conversion == 'a' || conversion == 'A') { // an address, as a symbol
            format += fmt::format("%{}s", flags);
            list += fmt::format(", {}({})", conversion == 'A' ? "usymname" : "symname", write(w, value));
        } else {
            w.gaps.push_back(
                {parts[first]->begin, parts[first]->end,
                 fmt::format("`{}`: printf does not have this directive; `%d` prints the number", directive)});
            format += "%d";
            list += ", " + write(w, value);
        }
    }
    for (; next < parts.size(); next++)
        w.gaps.push_back({parts[next]->begin, parts[next]->end,
                          fmt::format("`{}`: the format has no directive for this value", w.original(*parts[next])),
                          true});
    return fmt::format("\"{}\"{}", format, list);
}

std::string write(Writing& w, const Node& node, bool inner) {
    std::string out;
    switch (node.kind) {
    case NodeKind::Number:
        return node.text;
    case NodeKind::String:
        return "\"" + node.text + "\"";
    case NodeKind::Name:
        return write_name(w, node);
    case NodeKind::Variable:
        return variable_name(node.text, w.facts);
    case NodeKind::Positional:
        return "$" + node.text;
    case NodeKind::Map:
    case NodeKind::OfThread:
        return write_map(w, node);
    case NodeKind::Call:
        return write_call(w, node);
    case NodeKind::Member:
        return write_member(w, node);
    case NodeKind::Index:
        return write_index(w, node);
    case NodeKind::Cast:
        return write_cast(w, node);
    case NodeKind::SizeOf:
        if (const Integer* integer = find_integer(node.text))
            return std::to_string(integer->bytes);
        if (node.text.ends_with('*'))
            return "8";
        return fmt::format("&@cast(0, \"{}\"{})[1]", without_tag(node.text), w.point->in_program ? "" : ", \"kernel\"");
    case NodeKind::Tuple:
        return w.gap(node, "sonde has no tuples; write the keys of an array without parentheses");
    case NodeKind::Prefix:
        return write_prefix(w, node);
    case NodeKind::Postfix:
        return write(w, *node.parts[0], true) + node.text;
    case NodeKind::Binary:
        out = write_binary(w, node);
        break;
    case NodeKind::Ternary:
        out = fmt::format("{} ? {} : {}", write_condition(w, *node.parts[0]),
                          write(w, *(node.parts[1] ? node.parts[1] : node.parts[0]), true),
                          write(w, *node.parts[2], true));
        break;
    case NodeKind::Assign:
        out = fmt::format("{} {} {}", write(w, *node.parts[0]), node.text, write(w, *node.parts[1]));
        break;
    default:
        return w.gap(node, "a statement has no value");
    }
    return inner ? "(" + out + ")" : out;
}

} // namespace sonde::bridge
