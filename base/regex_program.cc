// Generates the operations that find the groups of a match (see base/regex.h for POSIX's rule).
//
// Automata only tell whether a string matches, not where its parts are. So the groups are found afterwards, from the
// outside in. The bounds of the whole match are in registers 0 and 1. For each part, an operation computes a bound and
// stores it in a new register. The result is a straight list of operations, with jumps where a part is optional. It
// needs no stack, so BPF can run it.
//
// Example: `(a+)(b?c)` becomes about this:
//     Search          finds the begin of the match by reading backward, and its end by reading forward
//     Mark 0, 1       the whole match
//     Split 0, 1 -> 2 register 2 is the last place where `a+` can end and `b?c` can begin
//     Mark 0, 2       group 1
//     Mark 2, 1       group 2
// If all matches of a part have the same length, as for `(..)(b*)`, After or Before computes the bound without reading.
//
// What would break it: automata that are too large. Then compile() tries again without those that search for the begin
// of the match (Try). The match takes more time then, but the table is smaller.
#include <algorithm>

#include <fmt/format.h>

#include "base/regex_automaton.h"

namespace sonde::regex {

namespace {

bool has_groups(const Node& node) {
    return node.kind == Node::Group ||
           std::any_of(node.parts.begin(), node.parts.end(), [](const NodePtr& part) { return has_groups(*part); });
}

// The length of all matches of the node; -1 if their lengths differ.
int length_of(const Node& node) {
    switch (node.kind) {
    case Node::Empty:
    case Node::Begin:
    case Node::End:
        return 0;
    case Node::Set:
        return 1;
    case Node::Group:
        return length_of(*node.parts[0]);
    case Node::Concat: {
        int sum = 0;
        for (const NodePtr& part : node.parts) {
            int length = length_of(*part);
            if (length < 0)
                return -1;
            sum = std::min(sum + length, 0xffff);
        }
        return sum == 0xffff ? -1 : sum;
    }
    case Node::Alternatives: {
        int length = length_of(*node.parts[0]);
        for (const NodePtr& part : node.parts)
            if (length_of(*part) != length)
                return -1;
        return length;
    }
    case Node::Repeat: {
        int length = length_of(*node.parts[0]);
        if (node.min != node.max || length < 0 || length * node.max >= 0xffff)
            return -1;
        return length * node.max;
    }
    }
    return -1;
}

NodePtr make(Node::Kind kind, std::vector<NodePtr> parts, int min = 0, int max = 0) {
    Node node;
    node.kind = kind;
    node.parts = std::move(parts);
    node.min = min;
    node.max = max;
    return std::make_shared<const Node>(std::move(node));
}

class Generator {
  public:
    Generator(const Pattern& pattern, Program& out) : pattern_(pattern), automata_(*pattern.root), out_(out) {}

    // Returns null, or a description of what is too large. `trying`: without automata that find the beginning of a
    // match.
    const char* run(bool captures, bool trying) {
        const Node& root = *pattern_.root;
        out_.groups = pattern_.groups;
        out_.captures = captures;
        out_.test_everywhere = trying;
        Start test = automata_.add(root, {.anywhere = !trying, .settled = true});
        if (captures) {
            Op& search = op(trying ? Op::Try : Op::Search, 0, 1);
            if (!trying)
                search.backward = automata_.add(root, {.backward = true, .anywhere = true});
            search.forward = automata_.add(root, {});
            op(Op::Mark, 0, 1);
            walk(pattern_.root, 0, 1);
            op(Op::Done, 0, 1);
        }
        if (pattern_.groups > max_groups && captures)
            return "groups";
        if (out_.ops.size() > max_ops || registers_ > max_registers)
            return "steps to find its groups";
        if (!automata_.finish(out_))
            return "states";
        out_.test = {automata_.translate(test.inside), automata_.translate(test.edge)};
        for (Op& op : out_.ops)
            for (Start* start : {&op.forward, &op.backward})
                *start = {automata_.translate(start->inside), automata_.translate(start->edge)};
        return nullptr;
    }

  private:
    Op& op(Op::Code code, size_t from, size_t to) {
        Op op;
        op.code = code;
        op.from = static_cast<uint16_t>(from);
        op.to = static_cast<uint16_t>(to);
        out_.ops.push_back(op);
        return out_.ops.back();
    }
    bool full() const { return out_.ops.size() > max_ops || registers_ > max_registers || automata_.too_large(); }
    size_t here() const { return out_.ops.size(); }
    // Makes the operation at `at` jump to the next one.
    void land(size_t at) { out_.ops[at].target = static_cast<uint16_t>(here()); }
    Start forward(const NodePtr& node) { return automata_.add(*node, {}); }
    Start backward(const NodePtr& node) { return automata_.add(*node, {.backward = true}); }

    // Finds the groups in a node that matches the range.
    void walk(const NodePtr& node, size_t from, size_t to) {
        if (!has_groups(*node) || full())
            return;
        switch (node->kind) {
        case Node::Group:
            op(Op::Mark, from, to).out = static_cast<uint16_t>(node->group);
            walk(node->parts[0], from, to);
            break;
        case Node::Concat:
            divide(node->parts, from, to);
            break;
        case Node::Alternatives:
            choose(node->parts, from, to);
            break;
        case Node::Repeat:
            repeat(node->parts[0], node->min, node->max, from, to, false);
            break;
        default:
            break;
        }
    }

    // Finds where the first part ends and the rest begins. Returns the register.
    size_t boundary(const NodePtr& first, const NodePtr& rest, size_t from, size_t to, size_t* failing = nullptr) {
        size_t out = registers_++;
        int length = length_of(*first), rest_length = length_of(*rest);
        if (!failing && length >= 0) {
            op(Op::After, from, to).target = static_cast<uint16_t>(length);
        } else if (!failing && rest_length >= 0) {
            op(Op::Before, from, to).target = static_cast<uint16_t>(rest_length);
        } else {
            if (failing)
                *failing = here();
            Start first_start = forward(first), rest_start = backward(rest);
            Op& split = op(Op::Split, from, to);
            split.forward = first_start;
            split.backward = rest_start;
            split.target = static_cast<uint16_t>(here()); // jumps only if it can fail
        }
        out_.ops.back().out = static_cast<uint16_t>(out);
        return out;
    }

    void divide(std::vector<NodePtr> parts, size_t from, size_t to) {
        while (parts.size() > 1 && !full()) {
            // Adjacent parts of constant length without groups count as one.
            size_t together = 1;
            if (!has_groups(*parts[0]) && length_of(*parts[0]) >= 0)
                while (together < parts.size() && !has_groups(*parts[together]) && length_of(*parts[together]) >= 0)
                    together++;
            auto middle = parts.begin() + static_cast<ptrdiff_t>(together);
            NodePtr first = together == 1 ? parts[0] : make(Node::Concat, {parts.begin(), middle});
            parts.erase(parts.begin(), middle);
            if (parts.empty())
                return;
            NodePtr rest = parts.size() == 1 ? parts[0] : make(Node::Concat, parts);
            if (!has_groups(*first) && !has_groups(*rest))
                return;
            size_t at = boundary(first, rest, from, to);
            walk(first, from, at);
            from = at;
        }
        walk(parts[0], from, to);
    }

    void choose(const std::vector<NodePtr>& parts, size_t from, size_t to) {
        std::vector<size_t> ends;
        for (size_t i = 0; i < parts.size(); i++) {
            bool more = std::any_of(parts.begin() + static_cast<ptrdiff_t>(i), parts.end(),
                                    [](const NodePtr& part) { return has_groups(*part); });
            if (!more || full())
                break;
            if (i + 1 == parts.size()) {
                walk(parts[i], from, to);
                break;
            }
            Start start = forward(parts[i]);
            size_t test = here();
            op(Op::Unless, from, to).forward = start;
            walk(parts[i], from, to);
            ends.push_back(here());
            op(Op::Jump, from, to);
            land(test);
        }
        for (size_t end : ends)
            land(end);
    }

    void unset(const Node& node) {
        if (node.kind == Node::Group)
            op(Op::Unset, 0, 1).out = static_cast<uint16_t>(node.group);
        for (const NodePtr& part : node.parts)
            unset(*part);
    }

    // Finds the groups in a repetition. A group has the match of the last repetition; an empty one counts only if it is
    // required, or if it is the only one. `going_on`: there are repetitions before the range.
    void repeat(const NodePtr& part, int min, int max, size_t from, size_t to, bool going_on) {
        if (max == 0 || full())
            return;
        std::vector<size_t> ends; // operations that jump to the end
        if (going_on && min == 0) {
            ends.push_back(here());
            op(Op::IfEmpty, from, to);
        }
        if (going_on)
            unset(*part);
        if (max == 1) {
            if (min == 0 && !going_on) {
                Start start = forward(part);
                ends.push_back(here());
                op(Op::Unless, from, to).forward = start;
            }
            walk(part, from, to);
        } else if (max == Node::endless && min <= 1) {
            Start one = forward(part), rest = backward(make(Node::Repeat, {part}, 0, Node::endless));
            size_t begin = registers_++;
            ends.push_back(here());
            Op& last = op(Op::Last, from, to);
            last.forward = one;
            last.backward = rest;
            last.out = static_cast<uint16_t>(begin);
            walk(part, begin, to);
        } else {
            int less = std::max(min - 1, 0), most = max == Node::endless ? max : max - 1;
            NodePtr rest = make(Node::Repeat, {part}, less, most);
            size_t failing = 0;
            size_t at = boundary(part, rest, from, to, min == 0 && !going_on ? &failing : nullptr);
            if (min == 0 && !going_on)
                ends.push_back(failing);
            walk(part, from, at);
            repeat(part, less, most, at, to, true);
        }
        for (size_t end : ends)
            land(end);
    }

    const Pattern& pattern_;
    Automata automata_;
    Program& out_;
    size_t registers_ = 2;
};

} // namespace

std::optional<Program> compile(const Pattern& pattern, bool captures, Problem& problem) {
    problem = {};
    const char* too_many = nullptr;
    for (bool trying : {false, true}) {
        Program out;
        too_many = Generator(pattern, out).run(captures, trying);
        if (!too_many)
            return out;
    }
    problem.message = fmt::format("the regular expression is too large: it needs too many {}", too_many);
    return std::nullopt;
}

} // namespace sonde::regex
