// All searches here are plain walks over the graph, forward or backward, that stop at certain nodes. Graphs have up to
// some hundred thousand nodes, so a walk marks visited nodes and uses no recursion.
//
// The work is done in three steps:
//
// 1. entries_of() finds every edge into the copy, and joins entries that only jump to each other. 2. meet() drops an
// entry if it always leads to another one. A probe at both would count a call twice. 3. drop_continuations() keeps the
// entries where a call can begin first, then adds entries of further calls.
//
// Step 3 is a judgement about the source, made from machine code. It relies on two facts: a call begins on the first
// line of the copied function, and a second call repeats an effect of the first one. A compiler that reorders writes to
// memory across two calls would break the second fact. If the evidence is contradictory, the answer is "not known",
// never a guess: a wrong count looks like a right one.
#include "frontend/dwarf/copy_flow.h"

#include <algorithm>

namespace sonde {

// A linear search in the ranges for each node is fine: a copy has few ranges.
Copy::Copy(const CodeFlow& flow, const std::vector<std::pair<Address, Address>>& ranges) : flow_(flow) {
    for (const FlowNode& node : flow.nodes())
        inside_.push_back(std::ranges::any_of(
            ranges, [&](const auto& range) { return node.address >= range.first && node.address < range.second; }));
}

FlowNodes Copy::entries(std::optional<size_t> first) const {
    FlowNodes out;
    for (size_t i = 0; i < inside_.size(); i++)
        if (inside_[i] && (first == i || std::ranges::any_of(flow_.before(i), [&](size_t n) { return !has(n); })))
            out.insert(i);
    return out;
}

FlowNodes Copy::reached(size_t from, std::optional<size_t> stop) const {
    FlowNodes seen;
    std::vector<size_t> open = {from};
    while (!open.empty()) {
        size_t node = open.back();
        open.pop_back();
        for (size_t next : flow_.after(node))
            if (has(next) && next != stop && seen.insert(next).second)
                open.push_back(next);
    }
    return seen;
}

// Nodes of the copy are added but not passed, so the result shows where execution meets the copy for the first time.
FlowNodes Copy::first_reached(const FlowNodes& firsts) const {
    FlowNodes seen = firsts;
    std::vector<size_t> open(firsts.begin(), firsts.end());
    while (!open.empty()) {
        size_t node = open.back();
        open.pop_back();
        if (has(node))
            continue;
        for (size_t next : flow_.after(node))
            if (seen.insert(next).second)
                open.push_back(next);
    }
    return seen;
}

FlowNodes Copy::unreached() const {
    FlowNodes out;
    for (size_t i = 0; i < inside_.size(); i++)
        if (!inside_[i] && flow_.before(i).empty() && !flow_.nodes()[i].does_nothing)
            out.insert(i);
    return out;
}

// A jump with fewer edges than targets leads to code outside of the graph.
bool Copy::leaves(size_t node) const {
    const FlowNode& one = flow_.nodes()[node];
    const std::vector<size_t>& after = flow_.after(node);
    return after.empty() || std::ranges::any_of(after, [&](size_t next) { return !has(next); }) ||
           (one.is_jump && after.size() < (one.falls_through ? 2u : 1u));
}

void Copy::add(const FlowNodes& nodes) {
    for (size_t node : nodes)
        inside_[node] = true;
}

void Copy::remove(const FlowNodes& nodes) {
    for (size_t node : nodes)
        inside_[node] = false;
}

FlowNodes Copy::run_from(size_t node, const FlowNodes& stops) const {
    FlowNodes seen = {node};
    std::vector<size_t> open = {node};
    while (!open.empty()) {
        const size_t at = open.back();
        open.pop_back();
        for (size_t next : flow_.after(at))
            if (has(next) && !stops.contains(next) && seen.insert(next).second)
                open.push_back(next);
    }
    return seen;
}

bool is_fixed(const FlowNode& node) {
    return node.effect != 0 || node.is_call || node.is_indirect_jump ||
           (node.is_jump && node.condition != jumps_always);
}

bool only_leads(const FlowNode& node) { return node.does_nothing || (node.is_jump && node.condition == jumps_always); }

std::optional<size_t> leads_to(const Copy& copy, size_t node) {
    const std::vector<size_t>& after = copy.flow().after(node);
    if (!only_leads(copy.flow().nodes()[node]) || after.size() != 1 || !copy.has(after[0]))
        return std::nullopt;
    return after[0];
}

namespace {

bool is_same_statement(const SourcePlace& one, const SourcePlace& other) {
    return one.is_same(other) && one.row_line == other.row_line && one.row_column == other.row_column;
}

// Looks for code that does something again that it has already done: a sign of a second call in the same copy. An
// "effect" is a write to fixed memory, or a call (FlowNode::effect).
class Repetition {
  public:
    Repetition(const Copy& copy, const std::vector<SourcePlace>& places) : copy_(copy), places_(places) {
        for (size_t i = 0; i < copy.flow().nodes().size(); i++)
            if (copy.has(i) && copy.flow().nodes()[i].effect != 0)
                effects_.push_back(i);
    }

    // Whether any effect appears twice, at the same place in the source. If none does, the copy cannot hold a second
    // call.
    bool is_possible() const {
        for (size_t i = 0; i < effects_.size(); i++)
            for (size_t j = 0; j < i; j++)
                if (does_same(effects_[i], effects_[j]))
                    return true;
        return false;
    }

    // Whether the code after the node repeats an effect of the code before it. Both end at the nearest of `beginnings`.
    bool is_repeated_at(size_t node, const FlowNodes& beginnings) const {
        const std::vector<bool> later = behind(node, beginnings), earlier = ahead_of(node, beginnings);
        return std::ranges::any_of(effects_, [&](size_t one) {
            return earlier[one] && !later[one] &&
                   std::ranges::any_of(effects_, [&](size_t other) { return later[other] && does_same(one, other); });
        });
    }

    // Whether the code after one of `beginnings` repeats an effect more often than the code after another one. Then the
    // longer code belongs to several calls.
    bool is_uneven(const FlowNodes& beginnings) const {
        std::vector<std::vector<bool>> stretches;
        for (size_t node : beginnings)
            stretches.push_back(behind(node, beginnings));
        for (size_t one : effects_) {
            size_t least = SIZE_MAX, most = 0;
            for (const std::vector<bool>& stretch : stretches)
                if (size_t times = longest_row(one, stretch, beginnings); times > 0) {
                    least = std::min(least, times);
                    most = std::max(most, times);
                }
            if (most > 0 && least != most)
                return true;
        }
        return false;
    }

    // Whether the code after one of `beginnings` repeats an effect, so that it may belong to several calls: the loop
    // around the copy was unrolled, and nothing of the caller is left between the calls. The other explanation is a
    // loop in the copied function, which was unrolled. Only an effect before all others that is not repeated shows
    // this: a second call would repeat that effect, too.
    bool is_doubtful(const FlowNodes& beginnings) const {
        return std::ranges::any_of(beginnings, [&](size_t node) {
            const std::vector<bool> stretch = behind(node, beginnings);
            std::vector<size_t> once, repeated;
            for (size_t effect : effects_)
                if (stretch[effect])
                    (longest_row(effect, stretch, beginnings) == 1 ? once : repeated).push_back(effect);
            return std::ranges::any_of(repeated, [&](size_t effect) {
                return std::ranges::none_of(once, [&](size_t other) {
                    // Compilers merge writes to memory, but not calls.
                    const std::vector<FlowNode>& nodes = copy_.flow().nodes();
                    return (nodes[other].is_call || !nodes[effect].is_call) &&
                           always_precedes(other, effect, node, beginnings);
                });
            });
        });
    }

  private:
    // Whether each path from `from` to an effect like `later` has an effect like `earlier` first.
    bool always_precedes(size_t earlier, size_t later, size_t from, const FlowNodes& beginnings) const {
        if (does_same(from, earlier))
            return true;
        FlowNodes stops = beginnings;
        for (size_t effect : effects_)
            if (does_same(effect, earlier))
                stops.insert(effect);
        const std::vector<bool> seen = behind(from, stops);
        return std::ranges::none_of(effects_, [&](size_t effect) { return seen[effect] && does_same(effect, later); });
    }

    bool does_same(size_t one, size_t other) const {
        const std::vector<FlowNode>& nodes = copy_.flow().nodes();
        return nodes[one].effect == nodes[other].effect && is_same_statement(places_[one], places_[other]);
    }

    // The node, and all nodes that are reached from it without passing one of `stops`.
    std::vector<bool> behind(size_t node, const FlowNodes& stops) const {
        std::vector<bool> seen(places_.size());
        std::vector<size_t> open = {node};
        seen[node] = true;
        while (!open.empty()) {
            const size_t at = open.back();
            open.pop_back();
            for (size_t next : copy_.flow().after(at))
                if (!seen[next] && !stops.contains(next)) {
                    seen[next] = true;
                    open.push_back(next);
                }
        }
        return seen;
    }

    // All nodes that lead to a node. The search ends at `stops`, which are included.
    std::vector<bool> ahead_of(size_t node, const FlowNodes& stops) const {
        std::vector<bool> seen(places_.size());
        std::vector<size_t> open = {node};
        while (!open.empty()) {
            const size_t at = open.back();
            open.pop_back();
            for (size_t last : copy_.flow().before(at))
                if (!seen[last]) {
                    seen[last] = true;
                    if (!stops.contains(last))
                        open.push_back(last);
                }
        }
        return seen;
    }

    // How many times `effect` happens on one path through the code. Nodes on different branches of an `if` do not count
    // together.
    size_t longest_row(size_t effect, const std::vector<bool>& stretch, const FlowNodes& stops) const {
        std::vector<size_t> same;
        for (size_t other : effects_)
            if (stretch[other] && does_same(effect, other))
                same.push_back(other);
        std::vector<std::vector<bool>> later;
        for (size_t one : same)
            later.push_back(behind(one, stops));
        std::vector<size_t> rows(same.size(), 1);
        for (size_t round = 0; round < same.size(); round++)
            for (size_t i = 0; i < same.size(); i++)
                for (size_t j = 0; j < same.size(); j++)
                    if (i != j && later[i][same[j]] && !later[j][same[i]])
                        rows[i] = std::max(rows[i], rows[j] + 1);
        return rows.empty() ? 0 : *std::ranges::max_element(rows);
    }

    const Copy& copy_;
    const std::vector<SourcePlace>& places_;
    std::vector<size_t> effects_; // nodes with an effect
};

// The first nodes after an entry that compute something, up to a branch. Jumps and copies of registers are left out,
// because compilers add these anywhere.
std::vector<size_t> first_steps(const Copy& copy, size_t node) {
    constexpr size_t most = 3;
    std::vector<size_t> out;
    FlowNodes passed;
    for (const std::vector<FlowNode>& nodes = copy.flow().nodes(); passed.insert(node).second && out.size() < most;) {
        if (!nodes[node].is_move && !only_leads(nodes[node]))
            out.push_back(node);
        const std::vector<size_t>& after = copy.flow().after(node);
        if (after.size() != 1 || !copy.has(after[0]))
            break;
        node = after[0];
    }
    return out;
}

bool does_alike(const Copy& copy, const std::vector<SourcePlace>& places, size_t one, size_t other) {
    const FlowNode &left = copy.flow().nodes()[one], &right = copy.flow().nodes()[other];
    // A duplicated branch can have the opposite condition, or a shorter encoding.
    const bool alike = left.is_jump ? right.is_jump && left.condition >> 1 == right.condition >> 1
                                    : !right.is_jump && left.shape == right.shape;
    return one != other && alike && is_same_statement(places[one], places[other]);
}

// Whether the code after a node begins as the code after one of `others` does: the compiler has duplicated the
// beginning of the function. It does so if it unrolls a loop around the copy, or takes its first iteration out of the
// loop.
bool begins_alike(const Copy& copy, const std::vector<SourcePlace>& places, size_t node, const FlowNodes& others) {
    const std::vector<size_t> steps = first_steps(copy, node);
    return !steps.empty() && std::ranges::any_of(others, [&](size_t other) {
        const std::vector<size_t> same = first_steps(copy, other);
        return !same.empty() && does_alike(copy, places, same[0], steps[0]);
    });
}

// Whether the code after an entry begins once more before execution leaves the copy. A loop of the copied function that
// repeats its beginning is not meant.
bool begins_again(const Copy& copy, const std::vector<SourcePlace>& places, const FlowNodes& beginnings) {
    return std::ranges::any_of(beginnings, [&](size_t node) {
        const std::vector<size_t> steps = first_steps(copy, node);
        if (steps.size() < 2)
            return false;
        const FlowNodes run = copy.run_from(steps[0], beginnings);
        return std::ranges::any_of(run, [&](size_t other) {
            if (!does_alike(copy, places, steps[0], other) || copy.reached(other).contains(other))
                return false;
            const std::vector<size_t> same = first_steps(copy, other);
            const size_t both = std::min(same.size(), steps.size());
            return both >= 2 && std::equal(same.begin(), same.begin() + static_cast<ptrdiff_t>(both), steps.begin(),
                                           [&](size_t a, size_t b) { return does_alike(copy, places, a, b); });
        });
    });
}

// Whether code that continues a call, after nodes of the caller, begins with a step that the call has already done. It
// may be another call, whose first part was shared.
bool repeats_after_caller(const Copy& copy, const std::vector<SourcePlace>& places, const CopyEntries& entries,
                          const FlowNodes& beginnings) {
    for (size_t node : entries.targets) {
        const std::vector<size_t> steps = first_steps(copy, node);
        if (beginnings.contains(node) || steps.empty() || copy.reached(node).contains(node))
            continue;
        for (size_t begin : beginnings)
            for (size_t one : copy.run_from(begin, {}))
                if (does_alike(copy, places, one, steps[0]) && !copy.reached(node).contains(one))
                    return true;
    }
    return false;
}

// Returns the nodes in reverse postorder: predecessors come before successors, except in loops.
std::vector<size_t> in_order_of_flow(const CodeFlow& flow, size_t first) {
    std::vector<size_t> out;
    std::vector<bool> seen(flow.nodes().size());
    std::vector<std::pair<size_t, size_t>> open = {{first, 0}}; // a node, and how many of its successors are done
    seen[first] = true;
    while (!open.empty()) {
        auto& [node, done] = open.back();
        if (done == flow.after(node).size()) {
            out.push_back(node);
            open.pop_back();
        } else if (const size_t next = flow.after(node)[done++]; !seen[next]) {
            seen[next] = true;
            open.emplace_back(next, 0);
        }
    }
    std::ranges::reverse(out);
    return out;
}

// Returns the entries where a first call can enter: execution was not in the copy before. It begins at `firsts`.
FlowNodes begun_from(const Copy& copy, const FlowNodes& firsts, const CopyEntries& entries) {
    const FlowNodes reached = copy.first_reached(firsts);
    FlowNodes begun;
    for (size_t node : entries.targets)
        if (reached.contains(node) || std::ranges::any_of(entries.leading, [&](size_t lead) {
                return reached.contains(lead) && copy.reached(lead).contains(node);
            }))
            begun.insert(node);
    return begun;
}

} // namespace

size_t joined(const Copy& copy, const FlowNodes& entries, size_t node, FlowNodes& leading) {
    FlowNodes passed;
    size_t last = node;
    for (std::optional<size_t> next = node; next && passed.insert(*next).second; next = leads_to(copy, *next))
        if (entries.contains(*next)) {
            last = *next;
            leading.insert(passed.begin(), passed.end());
        }
    leading.erase(last);
    return last;
}

CopyEntries entries_of(const Copy& copy, std::optional<size_t> first) {
    CopyEntries entries;
    const FlowNodes entered = copy.entries(first);
    for (size_t node : entered)
        entries.targets.insert(joined(copy, entered, node, entries.leading));
    for (size_t node : entries.targets)
        entries.leading.erase(node);
    return entries;
}

// An entry always leads to another one if no path from it leaves the copy before that, and if execution does not come
// back from the other one. The second condition excludes loops, in which each entry leads to each other one.
void meet(const Copy& copy, CopyEntries& entries) {
    const auto always_leads = [&](size_t node, size_t other) {
        if (!copy.reached(node).contains(other))
            return false;
        FlowNodes between = copy.reached(node, other);
        between.insert(node);
        const FlowNodes later = copy.reached(other);
        if (std::ranges::any_of(between, [&](size_t one) { return copy.leaves(one) || later.contains(one); }))
            return false;
        entries.leading.insert(between.begin(), between.end());
        return true;
    };
    for (size_t node : FlowNodes(entries.targets))
        for (size_t other : FlowNodes(entries.targets))
            if (node != other && entries.targets.contains(other) && always_leads(node, other)) {
                entries.targets.erase(node);
                break;
            }
}

bool drop_continuations(const Copy& copy, size_t first, const std::vector<SourcePlace>& places, CopyEntries& entries) {
    FlowNodes begun = begun_from(copy, {first}, entries);
    // In Rust, the code after `catch_unwind` can follow the landing pad only.
    if (begun.empty())
        begun = begun_from(copy, copy.unreached(), entries);
    if (begun.empty())
        return true;
    // The first line of the copied function that an entry is on.
    SourcePlace top;
    for (size_t node : begun)
        if (places[node].line != 0 && (top.line == 0 || places[node].line < top.line))
            top = places[node];
    FlowNodes marks; // statements that begin the function's first line
    for (size_t node = 0; node < places.size(); node++)
        if (copy.has(node) && !entries.leading.contains(node) && places[node].is_same(top) && places[node].begins &&
            (entries.targets.contains(node) || !copy.reached(node).contains(node)))
            marks.insert(node);
    // Keep an entry if it is on the first line, or if it leads to code of this line.
    FlowNodes kept;
    for (size_t node : begun) {
        const FlowNodes passed = places[node].is_same(top) ? FlowNodes() : copy.reached(node);
        if (places[node].is_same(top) || std::ranges::any_of(marks, [&](size_t mark) {
                return !entries.targets.contains(mark) && passed.contains(mark);
            }))
            kept.insert(node);
    }
    // If no entry is on the first line, keep all that can be entered first.
    if (kept.empty())
        kept = begun;
    // An entry on another line begins a call, too, if the call can end without passing one of the others: the compiler
    // has computed the first part of this call.
    const std::vector<FlowNode>& nodes = copy.flow().nodes();
    for (size_t node : begun)
        if (!kept.contains(node)) {
            const FlowNodes run = copy.run_from(node, kept);
            if (std::ranges::any_of(run, [&](size_t one) { return is_fixed(nodes[one]); }) &&
                std::ranges::any_of(run, [&](size_t one) { return copy.leaves(one); }))
                kept.insert(node);
        }
    // An entry after a node of the caller that begins like another entry is a new call.
    const FlowNodes beginnings = kept;
    for (size_t node : entries.targets)
        if (!kept.contains(node) && begins_alike(copy, places, node, beginnings))
            kept.insert(node);
    // Now look for calls that begin after another call, in a copy that holds several.
    const Repetition repetition(copy, places);
    const size_t calls = kept.size();
    if (!repetition.is_possible()) {
        entries.is_doubtful = begins_again(copy, places, kept) || repeats_after_caller(copy, places, entries, kept);
        entries.targets = kept;
        return true;
    }
    for (size_t node : in_order_of_flow(copy.flow(), first))
        if (marks.contains(node) && !kept.contains(node) && repetition.is_repeated_at(node, kept))
            kept.insert(node);
    entries.targets = kept;
    if (kept.size() != calls && repetition.is_uneven(kept))
        return false;
    entries.is_doubtful = repetition.is_doubtful(kept) || begins_again(copy, places, kept);
    return true;
}

} // namespace sonde
