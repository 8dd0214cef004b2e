// Three signs are looked for, each of which was seen in programs of gcc and clang:
//
// 1. The compiler has vectorized a loop around the copy. Then one execution of the copy does the work of several calls.
// 2. Execution can enter the copy, and leave it again, without passing an entry. Then a call is missed. This happens if
//    the first part of a call was computed by the compiler, or was moved out of the copy.
// 3. A loop of the caller enters the copy without passing an entry.
//
// Single instructions of the copy that the compiler has moved into the caller are no sign: they neither write to memory
// nor decide where execution goes.
#include "frontend/dwarf/copy_verdict.h"

#include <algorithm>

namespace sonde {

namespace {

// The nodes that are reached from `starts` through nodes for which `passes` is true. The starts are included.
template <typename Passes> std::vector<bool> reach(const CodeFlow& flow, const FlowNodes& starts, Passes passes) {
    std::vector<bool> seen(flow.nodes().size());
    std::vector<size_t> open;
    for (size_t node : starts)
        seen[node] = true, open.push_back(node);
    while (!open.empty()) {
        const size_t node = open.back();
        open.pop_back();
        if (!passes(node))
            continue;
        for (size_t next : flow.after(node))
            if (!seen[next])
                seen[next] = true, open.push_back(next);
    }
    return seen;
}

} // namespace

std::vector<bool> nodes_of_caller(const Copy& copy, const std::vector<bool>& has_line) {
    const std::vector<FlowNode>& nodes = copy.flow().nodes();
    std::vector<bool> out(nodes.size());
    for (size_t i = 0; i < nodes.size(); i++)
        out[i] = !copy.has(i) && ((has_line[i] && !nodes[i].is_move && !only_leads(nodes[i])) || is_fixed(nodes[i]));
    return out;
}

FlowNodes neutral_between(const Copy& copy, const std::vector<bool>& of_caller) {
    const CodeFlow& flow = copy.flow();
    const size_t count = flow.nodes().size();
    std::vector<bool> left(count), leads(count); // reached from the copy; leads to the copy
    std::vector<size_t> open;
    const auto search = [&](std::vector<bool>& seen, const auto& edges) {
        for (size_t i = 0; i < count; i++)
            if (copy.has(i))
                open.push_back(i);
        while (!open.empty()) {
            const size_t at = open.back();
            open.pop_back();
            for (size_t next : edges(at))
                if (!copy.has(next) && !of_caller[next] && !seen[next])
                    seen[next] = true, open.push_back(next);
        }
    };
    search(left, [&](size_t node) -> const std::vector<size_t>& { return flow.after(node); });
    search(leads, [&](size_t node) -> const std::vector<size_t>& { return flow.before(node); });
    FlowNodes out;
    for (size_t i = 0; i < count; i++)
        if (left[i] && leads[i])
            out.insert(i);
    return out;
}

FlowNodes moved_nodes(const Copy& copy, size_t first) {
    const CodeFlow& flow = copy.flow();
    const std::vector<FlowNode>& nodes = flow.nodes();
    FlowNodes prepares;
    for (size_t node : copy.entries(std::nullopt)) {
        const FlowNodes run = copy.run_from(node, {});
        if (std::ranges::all_of(run, [&](size_t one) { return nodes[one].is_move || only_leads(nodes[one]); }) &&
            std::ranges::any_of(run, [&](size_t one) { return nodes[one].is_move; }))
            prepares.insert(run.begin(), run.end());
    }
    FlowNodes out;
    const auto is_rest = [&](size_t one) { return copy.has(one) && !prepares.contains(one); };
    const std::vector<bool> before_rest = reach(flow, {first}, [&](size_t one) { return !is_rest(one); });
    for (size_t node : prepares) {
        const std::vector<bool> seen = reach(flow, {node}, [&](size_t one) { return !is_rest(one); });
        bool enters = false, ends = false;
        for (size_t i = 0; i < seen.size(); i++) {
            enters = enters || (seen[i] && is_rest(i));
            ends = ends || (seen[i] && !is_rest(i) && flow.after(i).empty());
        }
        if (!before_rest[node] || (enters && !ends))
            out.insert(node);
    }
    return out;
}

const char* doubt_of_entries(const Copy& copy, const CopyEntries& entries, size_t first,
                             const std::vector<bool>& of_caller) {
    const CodeFlow& flow = copy.flow();
    const std::vector<FlowNode>& nodes = flow.nodes();
    // If a loop of the copied function is vectorized, the sum after it is, too.
    bool is_packed = false, has_packed_loop = false;
    for (size_t i = 0; i < nodes.size() && !has_packed_loop; i++)
        if (copy.has(i) && nodes[i].is_packed) {
            is_packed = true;
            has_packed_loop = copy.reached(i).contains(i);
        }
    if (is_packed && !has_packed_loop)
        return "it computes with several numbers at once, which can belong to several calls";
    // Nodes of the copy at which execution arrives from outside although they are no entries.
    FlowNodes passed = entries.targets;
    passed.insert(entries.leading.begin(), entries.leading.end());
    const auto is_passed = [&](size_t node) { return passed.contains(node); };
    const std::vector<bool> before_entry = reach(flow, {first}, [&](size_t node) { return !is_passed(node); });
    for (size_t node : copy.entries(first)) {
        if (is_passed(node))
            continue;
        const FlowNodes run = copy.run_from(node, passed);
        if (std::ranges::none_of(run, [&](size_t one) { return is_fixed(nodes[one]); }))
            continue;
        // Whether the run ends outside without passing an entry.
        const bool leaves = std::ranges::any_of(run, [&](size_t one) { return copy.leaves(one); });
        if (before_entry[node] && leaves)
            return "execution can reach the middle of its code without passing an entry";
        // The caller's nodes from which the same node is reached again without passing an entry.
        const std::vector<bool> later = reach(flow, {node}, [&](size_t one) { return !is_passed(one); });
        FlowNodes callers;
        for (size_t i = 0; i < later.size(); i++)
            if (later[i] && of_caller[i])
                callers.insert(i);
        if (callers.empty())
            continue;
        const std::vector<bool> again = reach(flow, callers, [&](size_t one) { return !is_passed(one); });
        if (std::ranges::any_of(flow.before(node), [&](size_t one) { return again[one] && !is_passed(one); }))
            return "a loop around it enters its code without passing an entry";
    }
    return nullptr;
}

} // namespace sonde
