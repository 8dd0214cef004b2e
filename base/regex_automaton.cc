// Builds the automata of a regular expression; regex_automaton.h explains the steps.
//
// An example: `a*b`, whose bytes form the classes 0: a, 1: b, 2: all others.
//
//     items     0 Accept    1 Read b, then 0    2 Fork(3, 1)    3 Read a, then 2
//     states    {1, 3}: on a to itself, on b to the second state
//               {}: accepts, and reads nothing more
//
// A state is identified by its sorted items that read a byte, and by its two flags. Items that only lead on to others
// (Fork, AtStart, AtStop) are not part of it, since they make no difference afterwards.
//
// State 0 is the one from which nothing can match. All cells that are not set lead there, and a matcher stops at it.
//
// Minimization begins with the blocks of states that have equal flags. It divides a block if two of its states lead to
// different blocks for some class, and ends when no block is divided.
#include "base/regex_automaton.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

namespace sonde::regex {

namespace {
constexpr size_t max_items = 20000, max_raw_states = 6000, max_work = 50'000'000;
static_assert(max_raw_states <= state_mask);
} // namespace

Automata::Automata(const Node& root) {
    // Bytes that occur in the same sets form a class.
    std::function<void(const Node&)> split = [&](const Node& node) {
        for (const NodePtr& part : node.parts)
            split(*part);
        if (node.kind != Node::Set)
            return;
        std::map<std::pair<uint8_t, bool>, uint8_t> fresh;
        for (size_t c = 0; c < 256; c++) {
            auto [entry, is_new] = fresh.try_emplace({class_of_[c], node.bytes[c]}, static_cast<uint8_t>(fresh.size()));
            class_of_[c] = entry->second;
        }
        width_ = static_cast<uint32_t>(fresh.size());
    };
    split(root);
    states_.push_back({std::vector<Cell>(width_, 0), false, false}); // nothing matches from here on
}

Bytes Automata::classes_of(const Bytes& bytes) const {
    Bytes out;
    for (size_t c = 0; c < 256; c++)
        if (bytes[c])
            out.set(class_of_[c]);
    return out;
}

std::string Automata::text(const Node& node) const {
    switch (node.kind) {
    case Node::Empty:
        return "e";
    case Node::Begin:
        return "^";
    case Node::End:
        return "$";
    case Node::Set: {
        Bytes classes = classes_of(node.bytes);
        std::string out = "[";
        for (size_t i = 0; i < width_; i++)
            if (classes[i])
                out += fmt::format("{},", i);
        return out + "]";
    }
    default:
        break;
    }
    if (node.kind == Node::Group)
        return text(*node.parts[0]);
    std::string out = node.kind == Node::Concat ? "(" : node.kind == Node::Alternatives ? "<" : "{";
    if (node.kind == Node::Repeat)
        out += fmt::format("{},{}:", node.min, node.max);
    for (const NodePtr& part : node.parts)
        out += text(*part) + " ";
    return out + ")";
}

// ---- construction -----------------------------------------------------------------------------------------------

uint32_t Automata::item(Item item) {
    if (items_.size() >= max_items) {
        too_large_ = true;
        return 0;
    }
    items_.push_back(item);
    return static_cast<uint32_t>(items_.size() - 1);
}

// Builds items that read the node and continue at `next`.
uint32_t Automata::build(const Node& node, uint32_t next, bool backward) {
    if (too_large_)
        return next;
    switch (node.kind) {
    case Node::Empty:
        return next;
    case Node::Set:
        return item({Item::Read, classes_of(node.bytes), next, 0});
    case Node::Begin:
    case Node::End:
        return item({(node.kind == Node::Begin) != backward ? Item::AtStart : Item::AtStop, {}, next, 0});
    case Node::Group:
        return build(*node.parts[0], next, backward);
    case Node::Concat:
        if (backward)
            for (const NodePtr& part : node.parts)
                next = build(*part, next, backward);
        else
            for (auto part = node.parts.rbegin(); part != node.parts.rend(); ++part)
                next = build(**part, next, backward);
        return next;
    case Node::Alternatives: {
        uint32_t out = build(*node.parts[0], next, backward);
        for (size_t i = 1; i < node.parts.size(); i++) {
            uint32_t other = build(*node.parts[i], next, backward);
            out = item({Item::Fork, {}, out, other});
        }
        return out;
    }
    case Node::Repeat: {
        const Node& part = *node.parts[0];
        uint32_t end = next;
        if (node.max == Node::endless) {
            uint32_t fork = item({Item::Fork, {}, end, end});
            uint32_t body = build(part, fork, backward);
            items_[fork].next = body;
            next = fork;
        }
        for (int i = node.min; i < node.max && !too_large_; i++)
            next = item({Item::Fork, {}, build(part, next, backward), end});
        for (int i = 0; i < node.min && !too_large_; i++)
            next = build(part, next, backward);
        return next;
    }
    }
    return next;
}

Start Automata::add(const Node& node, Kind kind) {
    std::string key = fmt::format("{}{}{}{}", kind.backward, kind.anywhere, kind.settled, text(node));
    if (auto known = known_.find(key); known != known_.end())
        return known->second;
    items_.clear();
    uint32_t accept = item({Item::Accept, {}, 0, 0});
    uint32_t start = build(node, accept, kind.backward);
    if (kind.anywhere) {
        Bytes any;
        any.set();
        uint32_t fork = item({Item::Fork, {}, start, start});
        uint32_t read = item({Item::Read, any, fork, 0});
        items_[fork].other = read;
        start = fork;
    }
    Start out;
    if (!too_large_)
        out = determinise(start, kind.settled);
    known_[key] = out;
    return out;
}

// Adds all items to reached_ that can be reached from this one without reading a byte. `at_start` and `at_stop` tell
// whether this is the beginning or the end of the string, in the direction of reading. Visited items have the current
// stamp in seen_, so it need not be cleared for each call.
void Automata::close(uint32_t from, bool at_start, bool at_stop) {
    todo_.assign(1, from);
    while (!todo_.empty()) {
        uint32_t i = todo_.back();
        todo_.pop_back();
        if (std::exchange(seen_[i], stamp_) == stamp_)
            continue;
        const Item& item = items_[i];
        reached_.push_back(i);
        if (item.kind == Item::Fork) {
            todo_.push_back(item.other);
            todo_.push_back(item.next);
        } else if ((item.kind == Item::AtStart && at_start) || (item.kind == Item::AtStop && at_stop)) {
            todo_.push_back(item.next);
        }
    }
}

// Returns the state for these items. States are equal if they have the same items that read a byte, and accept in the
// same cases. A settled automaton stays in an accepting state, so such a state needs no items.
Cell Automata::state_of(const std::vector<uint32_t>& items, bool at_start, bool settled) {
    auto reach = [&](bool at_stop) {
        stamp_++;
        reached_.clear();
        for (uint32_t i : items)
            close(i, at_start, at_stop);
        return std::any_of(reached_.begin(), reached_.end(),
                           [&](uint32_t i) { return items_[i].kind == Item::Accept; });
    };
    bool edge = reach(true), inside = reach(false);
    std::vector<uint32_t> key;
    for (uint32_t i : reached_)
        if (items_[i].kind == Item::Read)
            key.push_back(i);
    if (settled && inside)
        key.clear();
    else if (key.empty() && !edge)
        return 0;
    std::sort(key.begin(), key.end());
    key.push_back(inside);
    key.push_back(edge);
    auto [entry, fresh] = numbers_.try_emplace(key, static_cast<Cell>(states_.size()));
    if (!fresh)
        return entry->second;
    if (states_.size() >= max_raw_states) {
        too_large_ = true;
        return 0;
    }
    Cell number = entry->second;
    bool stays = settled && inside;
    states_.push_back({std::vector<Cell>(width_, stays ? number : Cell(0)), inside, edge});
    if (!stays) {
        key.resize(key.size() - 2);
        pending_.push_back(number);
        pending_sets_.push_back(std::move(key));
    }
    return number;
}

Start Automata::determinise(uint32_t start, bool settled) {
    numbers_.clear();
    pending_.clear();
    pending_sets_.clear();
    seen_.assign(items_.size(), stamp_);
    Start out{state_of({start}, false, settled), state_of({start}, true, settled)};
    while (!pending_.empty() && !too_large_) {
        Cell number = pending_.back();
        std::vector<uint32_t> from = std::move(pending_sets_.back());
        pending_.pop_back();
        pending_sets_.pop_back();
        work_ += from.size() * width_;
        too_large_ = too_large_ || work_ > max_work;
        for (size_t c = 0; c < width_ && !too_large_; c++) {
            std::vector<uint32_t> next;
            for (uint32_t i : from)
                if (items_[i].kind == Item::Read && items_[i].classes[c])
                    next.push_back(items_[i].next);
            Cell target = next.empty() ? Cell(0) : state_of(next, false, settled);
            states_[number].row[c] = target;
        }
    }
    return out;
}

// ---- minimisation -----------------------------------------------------------------------------------------------

bool Automata::finish(Program& program) {
    if (too_large_)
        return false;
    std::vector<uint32_t> block(states_.size());
    for (size_t i = 0; i < states_.size(); i++)
        block[i] = states_[i].inside * 1u + states_[i].edge * 2u;
    size_t count = 0;
    while (true) {
        // State 0 comes first, so its block has the number 0.
        std::map<std::vector<uint32_t>, uint32_t> fresh;
        std::vector<uint32_t> next(states_.size());
        for (size_t i = 0; i < states_.size(); i++) {
            std::vector<uint32_t> signature = {block[i]};
            for (Cell cell : states_[i].row)
                signature.push_back(block[cell]);
            next[i] = fresh.try_emplace(std::move(signature), static_cast<uint32_t>(fresh.size())).first->second;
        }
        block = std::move(next);
        if (fresh.size() == count)
            break;
        count = fresh.size();
    }
    if (count > max_states)
        return false;
    for (size_t i = 0; i < states_.size(); i++)
        translated_.push_back(static_cast<Cell>(block[i] | (states_[i].inside ? accepts_inside : 0u) |
                                                (states_[i].edge ? accepts_at_edge : 0u)));
    program.classes = class_of_;
    program.width = width_;
    program.table.assign(count * width_, 0);
    for (size_t i = 0; i < states_.size(); i++)
        for (size_t c = 0; c < width_; c++)
            program.table[block[i] * width_ + c] = translated_[states_[i].row[c]];
    return true;
}

} // namespace sonde::regex
