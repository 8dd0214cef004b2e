// Writes clause by clause, in the original order. A `probe end` follows for output that the other tracer prints at its
// end and our language does not: maps that the script reads, histograms, and stacks as symbols.
//
// The head of the script (globals and helper functions) is written last, because it depends on the statements. A use of
// `elapsed` needs the time of the start, and a use of `join()` needs a function.
//
// Statements are written once for each point of a clause, because a word can have different translations there. In
//
//     kprobe:vfs_read, uprobe:/bin/bash:readline { printf("%s", str(arg0)) }
//
// the string is in a program at the second point, but can be in the kernel at the first. Points whose statements come
// out the same share one probe.
#include "frontend/bridge/writer.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/bridge/expressions.h"
#include "frontend/bridge/facts.h"
#include "frontend/bridge/point.h"
#include "frontend/bridge/show.h"

namespace sonde::bridge {
namespace {

using Lines = std::vector<std::string>;

bool is_map(const Node& node) { return node.kind == NodeKind::Map || node.kind == NodeKind::OfThread; }

class ScriptWriter {
  public:
    ScriptWriter(const Tree& tree, std::string_view text, Dialect dialect, const Facts& facts,
                 std::vector<std::vector<OurPoint>> points)
        : tree_(tree), w_{text, dialect, facts, nullptr, {}, false, false, false, false, {}}, facts_(facts),
          points_(std::move(points)) {}

    Bridged write_all() {
        std::string clauses;
        for (const Aside& aside : tree_.asides)
            note_aside(aside);
        for (size_t i = 0; i < tree_.clauses.size(); i++)
            clauses += write_clause(tree_.clauses[i], i);
        clauses += write_end();
        std::string head;
        for (const auto& [there, map] : facts_.maps)
            head += (head.empty() ? "global " : ", ") + map.name + size_of(there, map);
        if (w_.uses_start)
            head += head.empty() ? "global began" : ", began";
        if (!head.empty())
            head += "\n";
        if (w_.uses_start)
            head += "probe begin { began = ktime_get_ns() }\n";
        if (w_.uses_words)
            head += "function join_words:string(list:long)\n{\n    text = \"\"\n    for (i = 0; i < 16; i++) {\n"
                    "        word = user_int64(list + 8 * i)\n        if (!word) break\n"
                    "        text .= (i ? \" \" : \"\") . user_string(word, \"?\")\n    }\n    return text\n}\n";
        // Kernel addresses have the highest bit set.
        if (w_.uses_either)
            head +=
                "function text_at:string(p:long) { return p < 0 ? kernel_string(p, \"?\") : user_string(p, \"?\") }\n";
        for (const std::string& name : w_.counted)
            head += count_function(name);
        std::ranges::stable_sort(w_.gaps, {}, &Gap::begin);
        // A clause with several points is written for each of them, so remove duplicates.
        const auto again = std::ranges::unique(w_.gaps, [](const Gap& a, const Gap& b) {
            return a.begin == b.begin && a.end == b.end && a.text == b.text;
        });
        w_.gaps.erase(again.begin(), again.end());
        return {head + clauses, std::move(w_.gaps), w_.needs_guru};
    }

  private:
    // [100] for `let @x = hash(100)`
    std::string size_of(const std::string& there, const MapFacts& map) const {
        const auto size = tree_.sizes.find(there);
        if (size == tree_.sizes.end() || map.keys.empty())
            return "";
        return fmt::format("{}[{}]", size->second.forgets ? "%" : "", size->second.elements);
    }
    // len(@x)
    std::string count_function(const std::string& name) const {
        const auto map = std::ranges::find_if(facts_.maps, [&](const auto& one) { return one.second.name == name; });
        const std::string keys = fmt::format("{}", fmt::join(map->second.key_names, ", "));
        return fmt::format(
            "function length_of_{0}:long() {{ length = 0; foreach ({1} in {0}) length++; return length }}\n", name,
            map->second.keys.size() == 1 ? keys : "[" + keys + "]");
    }

    void note_aside(const Aside& aside) {
        // Options for output, and headers, have no effect here: types come from debug information.
        const bool harmless = aside.what == "#include" || aside.what == "#pragma" || aside.what == "struct" ||
                              aside.what == "union" || aside.what == "enum" || aside.what == "this" ||
                              aside.what == "self" || aside.what == "int" || aside.what == "import" ||
                              aside.what == "string" || aside.what == "uint64_t";
        const char* why = aside.what == "#include" ? "sonde reads types from debug information"
                          : aside.what == "struct" || aside.what == "union" || aside.what == "enum"
                              ? "sonde reads types from debug information"
                          : aside.what == "import"  ? "sonde finds functions of the library without an import"
                          : harmless                ? ""
                          : aside.what == "#define" ? "write a macro as `@define NAME %( ... %)`"
                          : aside.what == "let"     ? "write a map's size as a number: `global NAME[1000]`"
                          : aside.what == "config"  ? "pass options on the command line"
                          : aside.what == "fn"      ? "write a function as `function NAME:long(a:long) { return a }`"
                          : aside.what == "macro"
                              ? "write a macro as `@define NAME(x) %( @x + 1 %)`, and use it as `@NAME(1)`"
                              : "sonde has no counterpart";
        if (*why)
            w_.gaps.push_back(
                {aside.begin, aside.end, fmt::format("`{}`: {}", first_line(aside.begin, aside.end), why), !harmless});
    }
    std::string first_line(size_t begin, size_t end) const {
        std::string_view line = w_.text.substr(begin, end - begin);
        const std::string_view first = line.substr(0, line.find('\n'));
        return std::string(first) + (first.size() < line.size() ? " ..." : "");
    }

    std::string write_clause(const Clause& clause, size_t index) {
        // Points with the same translated statements become one probe. The statements can differ, because the same
        // field may have another name at another tracepoint.
        struct Group {
            Lines body;
            std::string points;
        };
        std::vector<Group> groups;
        overrides_ = is_override(clause, index);
        for (size_t i = 0; i < clause.points.size(); i++) {
            const OurPoint& point = points_[index][i];
            const SpecText& spec = clause.points[i];
            if (!point.gap.empty()) {
                w_.gaps.push_back({spec.begin, spec.end, fmt::format("`{}`: {}", spec.text, point.gap), true});
                continue;
            }
            Lines body = write_handler(clause, point);
            const std::string text = point.text + (overrides_ ? ".return" : "");
            const auto same = std::ranges::find(groups, body, &Group::body);
            if (same == groups.end())
                groups.push_back({std::move(body), text});
            else
                same->points += ", " + text;
        }
        std::string out = clause.comment;
        if (groups.empty())
            return out + fmt::format("/* has no counterpart: {} */\n",
                                     comment_text(w_.text.substr(clause.begin, clause.end - clause.begin)));
        for (const Group& group : groups)
            if (!group.body.empty()) // otherwise only trunc() and normalize(), which affect printing
                out += write_probe(group.points, group.body);
        return out;
    }

    // Whether the clause sets results of kernel functions. Our handlers for this are `.return` probes.
    bool is_override(const Clause& clause, size_t index) const {
        const auto has_call = [](const auto& self, const std::vector<NodePtr>& nodes) -> bool {
            return std::ranges::any_of(nodes, [&](const NodePtr& node) {
                return node && ((node->kind == NodeKind::Call && node->text == "override") || self(self, node->parts) ||
                                self(self, node->body) || self(self, node->other));
            });
        };
        return has_call(has_call, clause.body) && std::ranges::all_of(points_[index], [](const OurPoint& point) {
                   return !point.gap.empty() || (point.kind == PointKind::Entry && !point.in_program);
               });
    }

    Lines write_handler(const Clause& clause, const OurPoint& point) {
        point_ = point;
        if (overrides_)
            point_.kind = PointKind::Return; // arguments are known by their names only
        w_.point = &point_;
        Lines body;
        for (const NodePtr& statement : clause.body)
            append(body, write_statement(*statement));
        if (body.empty() && !clause.body.empty())
            return body;
        if (clause.body.empty())
            body.emplace_back("println(pn())"); // DTrace's default action prints that the probe fired
        if (clause.condition) {
            const std::string condition = write_condition(w_, *clause.condition);
            body = under(fmt::format("if ({})", condition), body);
        }
        return body;
    }

    static std::string write_probe(const std::string& points, const Lines& body) {
        std::string out;
        if (body.size() == 1 && body[0].size() + points.size() < 130)
            return fmt::format("probe {} {{ {} }}\n", points, body[0]);
        out = fmt::format("probe {}\n{{\n", points);
        for (const std::string& line : body)
            out += fmt::format("    {}\n", line);
        return out + "}\n";
    }

    // Writes the `probe end` that prints maps. At the end of a session, sonde itself prints globals that the script
    // never reads. That suffices for plain numbers and strings. All other maps need a loop: maps that the script reads,
    // statistics, histograms, and maps whose keys or values are stacks.
    std::string write_end() {
        Lines lines;
        for (const auto& [there, map] : facts_.maps) {
            const bool has_stacks = std::ranges::any_of(
                map.keys, [](Value key) { return key == Value::KernelStack || key == Value::UserStack; });
            const bool shown_by_itself =
                !map.is_read && !has_stacks && map.top.empty() && map.divisor.empty() &&
                map.value != Value::KernelStack && map.value != Value::UserStack &&
                (map.collects == Collects::Nothing || map.collects == Collects::Count || map.collects == Collects::Sum);
            if (shown_by_itself || map.cleared_at_end || map.shown_at_end || there.starts_with("self->"))
                continue;
            // DTrace prints aggregations, but not variables.
            if (w_.dialect == Dialect::Dtrace && map.collects == Collects::Nothing)
                continue;
            append(lines, show_map(there, map));
        }
        if (lines.empty())
            return "";
        std::string out = "probe end\n{\n";
        for (const std::string& line : lines)
            out += fmt::format("    {}\n", line);
        return out + "}\n";
    }

    // ---- statements
    static void append(Lines& lines, Lines more) {
        lines.insert(lines.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    // Puts a body under a head such as `if (...)`: on one line if it is short, otherwise in braces.
    static Lines under(const std::string& head, const Lines& body) {
        if (body.size() == 1 && head.size() + body[0].size() < 120)
            return {head + " " + body[0]};
        Lines out{head + " {"};
        for (const std::string& line : body)
            out.push_back("    " + line);
        out.emplace_back("}");
        return out;
    }
    // The statements of a body. If none is left, an empty block, because the grammar requires a statement.
    Lines write_body(const std::vector<NodePtr>& body) {
        Lines out;
        for (const NodePtr& statement : body)
            append(out, write_statement(*statement));
        if (out.empty())
            out.emplace_back("{ }");
        return out;
    }
    std::string expression(const NodePtr& node) { return node ? write(w_, *node) : ""; }

    Lines write_statement(const Node& node) {
        switch (node.kind) {
        case NodeKind::If: {
            const std::string head = fmt::format("if ({})", write_condition(w_, *node.parts[0]));
            const Lines body = write_body(node.body);
            Lines out = under(head, body);
            if (node.other.empty())
                return out;
            // If the body is an `if` without braces, the `else` would belong to that.
            if (out.size() == 1 && body[0].starts_with("if ("))
                out = {head + " {", "    " + body[0], "}"};
            Lines other = write_body(node.other);
            if (node.other.size() == 1 && node.other[0]->kind == NodeKind::If)
                other[0] = "else " + other[0];
            else
                other = under("else", other);
            append(out, std::move(other));
            return out;
        }
        case NodeKind::While:
            return under(fmt::format("while ({})", write_condition(w_, *node.parts[0])), write_body(node.body));
        case NodeKind::Unroll:
            return write_unroll(node);
        case NodeKind::Loop:
            return under(fmt::format("for ({}; {}; {})", node.parts[0] ? expression(node.parts[0]) : "0",
                                     node.parts[1] ? expression(node.parts[1]) : "1",
                                     node.parts[2] ? expression(node.parts[2]) : "0"),
                         write_body(node.body));
        case NodeKind::ForRange: {
            const std::string name = variable_name(node.text, facts_);
            return under(fmt::format("for ({0} = {1}; {0} < {2}; {0}++)", name, expression(node.parts[0]),
                                     expression(node.parts[1])),
                         write_body(node.body));
        }
        case NodeKind::ForMap:
            return write_for_map(node);
        case NodeKind::Jump:
            return {node.text == "return" ? "next" : node.text};
        case NodeKind::Block:
            return write_body(node.body);
        case NodeKind::Assign:
            return write_assignment(node);
        case NodeKind::Prefix:
            if (node.text == "++" || node.text == "--")
                return {(is_map(*node.parts[0]) ? write_element(w_, *node.parts[0]) : write(w_, *node.parts[0])) +
                        node.text};
            break;
        case NodeKind::Call:
            return write_call_statement(node);
        default:
            break;
        }
        return statement_of(write(w_, node));
    }
    // The comment for a gap is not a statement; put it into a block where a statement is required.
    static Lines statement_of(const std::string& text) {
        return {text.starts_with("0 /* ") && text.ends_with(" */") ? fmt::format("{{ {} }}", text.substr(2)) : text};
    }

    // `for ($kv : @a) { print($kv.1); }` becomes `foreach (kv in a) { kv_value = a[kv]; println(kv_value) }`.
    Lines write_for_map(const Node& node) {
        if (!is_map(*node.parts[0]))
            return statement_of(w_.gap(node, "a loop is over a map or over numbers"));
        const MapFacts& map = w_.map_of(*node.parts[0]);
        const std::string key = variable_name(node.text, facts_), value = variable_name(node.text + "_value", facts_);
        if (map.keys.size() != 1)
            return statement_of(w_.gap(
                node, fmt::format("write the loop as `foreach ([a, b] in {})`, with a name for each key", map.name)));
        Lines body;
        const auto uses_value = w_.original(node).find(".1") != std::string_view::npos;
        if (uses_value)
            body.push_back(fmt::format("{} = {}[{}]", value, map.name, key));
        append(body, write_body(node.body));
        return under(fmt::format("foreach ({} in {})", key, map.name), body);
    }

    Lines write_assignment(const Node& node) {
        const Node &left = *node.parts[0], &right = *node.parts[1];
        if (left.kind == NodeKind::Index || left.kind == NodeKind::Member || left.kind == NodeKind::Name)
            return statement_of(w_.gap(node, left.kind == NodeKind::Index
                                                 ? "declare an array as a global: `global seen`, `seen[key] = value`"
                                                 : "a name without `this->` or `self->` is a global: `global n`"));
        if (!is_map(left))
            return {fmt::format("{} {} {}", write(w_, left), node.text, write(w_, right))};
        const std::string element = write_element(w_, left);
        if (right.kind == NodeKind::Call)
            if (const Collects collects = find_collector(right.text, w_.dialect); collects != Collects::Nothing)
                return write_collecting(left, element, right, collects);
        // This is how DTrace scripts free a thread variable.
        if (w_.dialect == Dialect::Dtrace && left.kind == NodeKind::OfThread && node.text == "=" &&
            right.kind == NodeKind::Number && right.text == "0")
            return {"delete " + element};
        return {fmt::format("{} {} {}", element, node.text, write(w_, right))};
    }

    // `@x = count()` does not assign: it adds to the aggregation. Counts and sums become plain numbers, and all other
    // aggregations become statistics (`<<<`).
    Lines write_collecting(const Node& left, const std::string& element, const Node& call, Collects collects) {
        const MapFacts& map = w_.map_of(left);
        if (map.collects != collects)
            return statement_of(w_.gap(call, fmt::format("`{}` already has another aggregation", map.name)));
        if (collects == Collects::Count)
            return {element + "++"};
        if (call.parts.empty())
            return statement_of(w_.gap(call, "the value is missing"));
        const std::string value = write(w_, *call.parts[0]);
        if (collects == Collects::Sum)
            return {fmt::format("{} += {}", element, value)};
        if (collects == Collects::Linear && map.ranges.empty())
            return statement_of(
                w_.gap(call, "a linear histogram needs numbers for its least value, its largest value and its width"));
        if (collects == Collects::Powers && call.parts.size() > 1)
            w_.gaps.push_back({call.begin, call.end,
                               fmt::format("`{}`: a histogram's rows are powers of two only", w_.original(call)),
                               false});
        return {fmt::format("{} <<< {}", element, value)};
    }

    // Functions that are called for their effect. Some of them have no value in our language, and others are statements
    // there, such as `delete`. All other calls are expressions.
    Lines write_call_statement(const Node& node) {
        const std::string& name = node.text;
        const std::vector<NodePtr>& args = node.parts;
        const bool format_first = !args.empty() && args[0]->kind == NodeKind::String;
        if (name == "printf" && format_first)
            return {fmt::format("printf({})", write_format(w_, args, 0))};
        if ((name == "errorf" || name == "warnf") && format_first)
            return {fmt::format("warn(sprintf({}))", write_format(w_, args, 0))};
        if (name == "system" && format_first)
            return {args.size() == 1 ? fmt::format("system({})", write(w_, *args[0]))
                                     : fmt::format("system(sprintf({}))", write_format(w_, args, 0))};
        if (name == "cat" && format_first)
            return {args.size() == 1 ? fmt::format("system(\"cat {}\")", args[0]->text)
                                     : fmt::format("system(\"cat \" . sprintf({}))", write_format(w_, args, 0))};
        if (name == "override" && args.size() == 1 && overrides_) {
            w_.gaps.push_back(
                {node.begin, node.end, fmt::format("`{}`: changing the kernel needs `-g`", w_.original(node)), false});
            w_.needs_guru = true;
            return {fmt::format("$return = {}", write(w_, *args[0]))};
        }
        if (name == "exit")
            return exit_lines(node);
        if (name == "time" && args.size() <= 1)
            return write_time_statement(node);
        if ((name == "print" || name == "printa" || name == "trace") && !args.empty())
            return write_print(node);
        if (name == "zero" && args.size() == 1 && is_map(*args[0]) && !w_.map_of(*args[0]).keys.empty())
            w_.gaps.push_back(
                {node.begin, node.end,
                 fmt::format("`{}`: sonde deletes the elements instead of keeping them as 0", w_.original(node)),
                 false});
        if ((name == "clear" || name == "zero") && args.size() == 1 && is_map(*args[0]))
            return {"delete " + w_.map_of(*args[0]).name};
        if (name == "delete" && !args.empty() && is_map(*args[0])) {
            if (args.size() == 1)
                return {"delete " + write_element(w_, *args[0])};
            if (args.size() == 2)
                return {fmt::format("delete {}[{}]", w_.map_of(*args[0]).name, write(w_, *args[1]))};
        }
        if (name == "trunc" && args.size() == 1 && is_map(*args[0]))
            return {"delete " + w_.map_of(*args[0]).name};
        // Has been applied to the map's printing by facts.cc.
        if (args.size() == 2 && is_map(*args[0]) && args[1]->kind == NodeKind::Number &&
            ((name == "trunc" && w_.map_of(*args[0]).top == args[1]->text) ||
             (name == "normalize" && w_.map_of(*args[0]).divisor == args[1]->text)))
            return {};
        if (name == "trunc" || name == "normalize" || name == "denormalize" || name == "setopt")
            return statement_of(w_.gap(node, name == "trunc"
                                                 ? "print an array's largest elements with `foreach (k in x- limit 10)`"
                                             : name == "normalize" ? "divide a value where you print it"
                                                                   : "sonde has no counterpart"));
        if (name == "kstack" || (name == "stack" && w_.dialect == Dialect::Dtrace))
            return write(w_, node), Lines{"print_backtrace()"};
        if (name == "ustack")
            return write(w_, node), Lines{"print_ubacktrace()"};
        if (name == "join" && !args.empty())
            return {fmt::format("println({})", write(w_, node))};
        if (w_.dialect == Dialect::Dtrace && (name == "stop" || (name == "raise" && args.size() == 1))) {
            w_.gaps.push_back(
                {node.begin, node.end, fmt::format("`{}`: changing a program needs `-g`", w_.original(node)), false});
            w_.needs_guru = true;
            return {name == "stop" ? "raise(19)" : fmt::format("raise({})", write_signal(*args[0]))};
        }
        if (name == "signal" && args.size() == 1) {
            w_.gaps.push_back(
                {node.begin, node.end, fmt::format("`{}`: changing a program needs `-g`", w_.original(node)), false});
            w_.needs_guru = true;
            return {fmt::format("raise({})", write_signal(*args[0]))};
        }
        return statement_of(write(w_, node));
    }
    // Nested loops need different variables.
    Lines write_unroll(const Node& node) {
        std::string name = unrolled_ == 0 ? "turn" : fmt::format("turn{}", unrolled_ + 1);
        while (w_.text.find("$" + name) != std::string_view::npos)
            name += "_";
        name = variable_name(name, facts_);
        unrolled_++;
        const Lines body = write_body(node.body);
        unrolled_--;
        return under(fmt::format("for ({0} = 0; {0} < {1}; {0}++)", name, expression(node.parts[0])), body);
    }
    Lines exit_lines(const Node& node) {
        if (!node.parts.empty() && node.parts[0]->text != "0")
            w_.gaps.push_back(
                {node.begin, node.end,
                 fmt::format("`{}`: the exit status is 0, or 1 after an error: `error(TEXT)`", w_.original(node)),
                 false});
        return {"exit()"};
    }
    // A number, a text or a name: 9, "KILL", SIGKILL
    std::string write_signal(const Node& node) {
        if (node.kind != NodeKind::String && node.kind != NodeKind::Name)
            return write(w_, node);
        const std::string name = node.text.starts_with("SIG") ? node.text.substr(3) : node.text;
        for (int number = 1; number < NSIG; number++)
            if (const char* known = sigabbrev_np(number); known && name == known)
                return std::to_string(number);
        return node.kind == NodeKind::Name ? write(w_, node) : w_.gap(node, "no signal has this name");
    }

    // time(FORMAT) prints the result of strftime(FORMAT, nsecs), so this builds that call and translates it. A newline
    // at the end of the format becomes println().
    Lines write_time_statement(const Node& node) {
        std::string format = node.parts.empty() ? "%H:%M:%S\\n" : node.parts[0]->text;
        const bool line = format.ends_with("\\n");
        if (line)
            format.resize(format.size() - 2);
        Node call{NodeKind::Call, "strftime", {}, {}, {}, node.begin, node.end};
        call.parts.push_back(std::make_unique<Node>(Node{NodeKind::String, format, {}, {}, {}, node.begin, node.end}));
        call.parts.push_back(std::make_unique<Node>(Node{NodeKind::Name, "nsecs", {}, {}, {}, node.begin, node.end}));
        const std::string value = write(w_, call);
        return {fmt::format("{}{}", line ? "println" : "print", value.starts_with('(') ? value : "(" + value + ")")};
    }

    // print(), printa() and trace(). print(@map) prints the map as at the end of the session, with an optional number
    // of elements and a divisor. print((1, comm)) prints a tuple: `(1, bash)`. Any other value gets println().
    Lines write_print(const Node& node) {
        const std::vector<NodePtr>& args = node.parts;
        if (node.text == "printa" && args[0]->kind == NodeKind::String)
            return write_printa(node);
        const Node& value = *args[0];
        if (args.size() > 1 && !is_map(value))
            w_.gaps.push_back(
                {args[1]->begin, node.end, fmt::format("`{}`: sonde prints one value", w_.original(*args[1])), true});
        if (is_map(value) && value.parts.empty() && value.kind == NodeKind::Map) {
            ShowOptions options;
            if (args.size() > 1)
                options.top = write(w_, *args[1]);
            if (options.top == "0")
                options.top.clear();
            if (args.size() > 2)
                options.divisor = write(w_, *args[2]);
            return show_map(value.text, w_.map_of(value), options);
        }
        if (is_map(value) && (w_.map_of(value).collects == Collects::Powers))
            return {fmt::format("print(@hist_log({}))", write_element(w_, value))};
        if (value.kind == NodeKind::Tuple) {
            std::string directives, list;
            for (const NodePtr& part : value.parts) {
                const bool text = value_of(*part, facts_, *w_.point) != Value::Number;
                directives += fmt::format("{}{}", directives.empty() ? "" : ", ", text ? "%s" : "%d");
                list += ", " + (text ? write_text(w_, *part) : write(w_, *part));
            }
            return {fmt::format("printf(\"({})\\n\"{})", directives, list)};
        }
        const Value kind = value_of(value, facts_, *w_.point);
        if ((kind == Value::KernelStack || kind == Value::UserStack) && !is_map(value))
            return {kind == Value::KernelStack ? "print_backtrace()" : "print_ubacktrace()"};
        return {fmt::format("println({})", kind == Value::Number ? write(w_, value) : write_text(w_, value))};
    }

    // DTrace's printa("%-20s %@d\n", @x) has a directive for each key, in their order, and `%@` for the value in any
    // place. A histogram is not a number, so it follows on separate lines, and its directive is dropped.
    Lines write_printa(const Node& node) {
        if (node.parts.size() != 2 || !is_map(*node.parts[1]))
            return statement_of(w_.gap(node, "`printa` takes a format and one map"));
        const Node& which = *node.parts[1];
        const MapFacts& map = w_.map_of(which);
        const bool histogram = map.collects == Collects::Powers || map.collects == Collects::Linear;
        std::string keys, format = node.parts[0]->text, list;
        std::vector<std::string> names;
        for (size_t i = 0; i < map.keys.size(); i++) {
            names.push_back(map.key_names[i]);
            keys += (keys.empty() ? "" : ", ") + names.back();
        }
        const std::string element = keys.empty() ? map.name : fmt::format("{}[{}]", map.name, keys);
        std::string out;
        size_t next = 0;
        for (size_t i = 0; i < format.size(); i++) {
            out += format[i];
            if (format[i] != '%' || i + 1 >= format.size())
                continue;
            if (format[i + 1] == '%') {
                out += format[++i];
                continue;
            }
            const size_t begin = i;
            while (i + 1 < format.size() &&
                   std::string_view("-+ #0123456789.@l").find(format[i + 1]) != std::string_view::npos) {
                i++;
                if (format[i] != '@' && format[i] != 'l')
                    out += format[i];
            }
            const bool is_value = format.substr(begin, i - begin + 1).find('@') != std::string::npos;
            const char conversion = i + 1 < format.size() ? format[++i] : 'd';
            if (is_value && histogram) {
                out.resize(out.rfind('%'));
                continue;
            }
            if (is_value) {
                out += 'd';
                list += ", " + (map.collects == Collects::Average ? fmt::format("@avg({})", element)
                                : map.collects == Collects::Least ? fmt::format("@min({})", element)
                                : map.collects == Collects::Most  ? fmt::format("@max({})", element)
                                                                  : element);
            } else if (next < names.size()) {
                const bool stack = map.keys[next] == Value::KernelStack || map.keys[next] == Value::UserStack;
                out += stack || conversion == 'k' ? 's' : conversion;
                list += stack ? fmt::format(", {}({})",
                                            map.keys[next] == Value::KernelStack ? "sprint_syms" : "sprint_usyms",
                                            names[next])
                              : ", " + names[next];
                next++;
            } else {
                w_.gaps.push_back({node.begin, node.end, "the format has more directives than the map has keys", true});
                out += '%';
            }
        }
        Lines body{fmt::format("printf(\"{}\"{})", out, list)};
        if (histogram)
            body.push_back(map.collects == Collects::Powers
                               ? fmt::format("print(@hist_log({}))", element)
                               : fmt::format("print(@hist_linear({}, {}))", element, fmt::join(map.ranges, ", ")));
        if (map.keys.empty())
            return body;
        return under(fmt::format("foreach ({} in {}{})", map.keys.size() == 1 ? keys : fmt::format("[{}]", keys),
                                 map.name, map.collects == Collects::Count || map.collects == Collects::Sum ? "+" : ""),
                     body);
    }

    const Tree& tree_;
    Writing w_;
    const Facts& facts_;
    std::vector<std::vector<OurPoint>> points_; // of each clause
    OurPoint point_;                            // of the current handler
    int unrolled_ = 0;                          // number of `unroll` around the current statement
    bool overrides_ = false;                    // the current clause sets results
};

} // namespace

Bridged write_script(const Tree& tree, std::string_view text, Dialect dialect, const BridgeOptions& options) {
    std::vector<OurPoint> deciding; // one point of each clause, which determines the types in its expressions
    std::vector<std::vector<OurPoint>> all;
    for (const Clause& clause : tree.clauses) {
        all.emplace_back();
        for (const SpecText& spec : clause.points)
            all.back().push_back(dialect == Dialect::Bpftrace ? point_of_bpftrace(spec.text, options)
                                                              : point_of_dtrace(spec.text, options));
        const auto good = std::ranges::find_if(all.back(), [](const OurPoint& point) { return point.gap.empty(); });
        deciding.push_back(good == all.back().end() ? all.back().front() : *good);
    }
    const Facts facts = find_facts(tree, deciding, dialect);
    return ScriptWriter(tree, text, dialect, facts, std::move(all)).write_all();
}

} // namespace sonde::bridge
