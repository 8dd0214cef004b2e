#include "frontend/dwarf/function_entries.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <unistd.h>

#include <fmt/format.h>

#include "frontend/dwarf/code_layout.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/function_instances.h"
#include "frontend/dwarf/line_tables.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/unit_index.h"
#include "frontend/types/x86_code.h"

namespace sonde {

using Nodes = std::set<size_t>;

namespace {

constexpr Address most_code = 1 << 20; // of a function that is looked at

} // namespace

// What of a flow belongs to an inlined copy, and the ways through it.
class Copy {
  public:
    Copy(const CodeFlow& flow, const std::vector<std::pair<Address, Address>>& ranges) : flow_(flow) {
        for (size_t i = 0; i < flow.nodes().size(); i++)
            inside_.push_back(std::ranges::any_of(ranges, [&](const auto& range) {
                return flow.nodes()[i].address >= range.first && flow.nodes()[i].address < range.second;
            }));
    }

    bool has(size_t node) const { return inside_[node]; }

    // Nodes of it that are reached from outside, and the function's first one.
    Nodes entries(std::optional<size_t> first) const {
        Nodes out;
        for (size_t i = 0; i < inside_.size(); i++)
            if (inside_[i] && (first == i || std::ranges::any_of(flow_.before(i), [&](size_t n) { return !has(n); })))
                out.insert(i);
        return out;
    }

    // What is reached from a node without leaving the copy or passing `stop`; the node itself only in a loop.
    Nodes reached(size_t from, std::optional<size_t> stop = std::nullopt) const {
        Nodes seen;
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

    // Nodes outside that are reached from the function's first one without passing the copy, and those of the copy
    // where these ways end.
    Nodes first_reached(size_t first) const {
        Nodes seen = {first};
        std::vector<size_t> open = {first};
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

    // Whether execution can leave the copy after that node: to outside, by a return, or to where nobody knows.
    bool leaves(size_t node) const {
        const FlowNode& one = flow_.nodes()[node];
        const std::vector<size_t>& after = flow_.after(node);
        return after.empty() || std::ranges::any_of(after, [&](size_t next) { return !has(next); }) ||
               (one.is_jump && after.size() < (one.falls_through ? 2u : 1u));
    }

  private:
    const CodeFlow& flow_;
    std::vector<bool> inside_;
};

// Where execution comes into a copy, and nodes of it that only lead to one of these places.
struct Ways {
    Nodes targets, leading;
};

namespace {

// A node that only leads to another one of the copy.
std::optional<size_t> leads_to(const CodeFlow& flow, const Copy& copy, size_t node) {
    const FlowNode& one = flow.nodes()[node];
    const bool jump = one.is_jump && one.condition == jumps_always;
    if ((!jump && !one.does_nothing) || flow.after(node).size() != 1 || !copy.has(flow.after(node)[0]))
        return std::nullopt;
    return flow.after(node)[0];
}

// The last of the nodes that a node only leads to at which others come in too; the node itself if there is none.
size_t joined(const CodeFlow& flow, const Copy& copy, const Nodes& entries, size_t node, Nodes& leading) {
    Nodes passed;
    size_t last = node;
    for (std::optional<size_t> next = node; next && passed.insert(*next).second; next = leads_to(flow, copy, *next))
        if (entries.contains(*next)) {
            last = *next;
            leading.insert(passed.begin(), passed.end());
        }
    if (last != node)
        leading.erase(last);
    else
        leading.erase(node);
    return last;
}

Ways ways_into(const CodeFlow& flow, const Copy& copy, std::optional<size_t> first) {
    Ways ways;
    const Nodes entries = copy.entries(first);
    for (size_t node : entries)
        ways.targets.insert(joined(flow, copy, entries, node, ways.leading));
    for (size_t node : ways.targets)
        ways.leading.erase(node);
    return ways;
}

// Of two ways where one always leads on to the other's place, the place where they meet.
void meet(const Copy& copy, Ways& ways) {
    const auto always_leads = [&](size_t node, size_t other) {
        if (!copy.reached(node).contains(other))
            return false;
        Nodes between = copy.reached(node, other);
        between.insert(node);
        const Nodes later = copy.reached(other);
        if (std::ranges::any_of(between, [&](size_t one) { return copy.leaves(one) || later.contains(one); }))
            return false;
        ways.leading.insert(between.begin(), between.end());
        return true;
    };
    for (size_t node : Nodes(ways.targets))
        for (size_t other : Nodes(ways.targets))
            if (node != other && ways.targets.contains(other) && always_leads(node, other)) {
                ways.targets.erase(node);
                break;
            }
}

// The arrivals at a node from others; nullopt: nobody can tell at one of them that it leads there.
std::optional<std::vector<Arrival>> arrivals_from(const CodeFlow& flow, size_t node,
                                                  const std::vector<size_t>& others) {
    std::vector<Arrival> out;
    const FlowNode& here = flow.nodes()[node];
    for (size_t other : others) {
        const FlowNode& from = flow.nodes()[other];
        if (from.is_call || from.is_indirect_jump || from.moves_stack || from.condition == jumps_by_other)
            return std::nullopt;
        Arrival arrival{from.address, from.condition};
        if (!from.is_jump || (from.target == here.address && from.next == here.address))
            arrival.condition = jumps_always;
        else if (from.condition != jumps_always && from.target != here.address)
            arrival.condition = from.condition ^ 1; // the opposite one, where the jump is not taken
        out.push_back(arrival);
    }
    return out;
}

bool jumps_to(const ProgramFile& file, const std::vector<std::pair<Address, Address>>& parts, Address entry) {
    for (auto [low, high] : parts) {
        const std::string bytes = file.code(low, high);
        for (size_t at = 0; at < bytes.size();) {
            std::optional<X86Instruction> one = decode_x86(std::string_view(bytes).substr(at));
            if (!one)
                break;
            at += one->length;
            if (one->is_direct_jump() && low + at + static_cast<Address>(one->immediate) == entry)
                return true;
        }
    }
    return false;
}

} // namespace

FunctionEntries::Parts FunctionEntries::parts_of(const FunctionInstance& function) {
    Dwarf_Die die;
    FunctionRef around =
        function.has_debug_info ? enclosing_subprogram(units_.find_function(function.die)) : FunctionRef();
    Parts parts;
    if (around && die_of(around, &die))
        parts = units_.ranges(die).ranges;
    else if (function.high > function.low)
        parts = {{function.low, function.high}};
    else if (std::optional<Stretch> stretch = code_.stretch_at(function.entry); stretch && stretch->whole)
        parts = {{stretch->low, stretch->high}};
    return parts;
}

CodeFlow FunctionEntries::flow_of(const Parts& parts) const {
    std::vector<CodeFlow::Part> code;
    Address size = 0;
    for (auto [low, high] : parts)
        if ((size += high - low) <= most_code)
            code.push_back({low, file_.code(low, high)});
    return CodeFlow(size <= most_code ? std::move(code) : std::vector<CodeFlow::Part>(), [&](Address at, size_t bytes) {
        std::string data(bytes, '\0');
        std::optional<uint64_t> offset = file_.elf().file_offset(at);
        ssize_t got = offset ? pread(file_.fd(), data.data(), bytes, static_cast<off_t>(*offset)) : 0;
        data.resize(got > 0 ? static_cast<size_t>(got) : 0);
        return data;
    });
}

const CodeFlow& FunctionEntries::flow_around(FunctionRef function) {
    Dwarf_Die die;
    const DieOffset number = die_of(function, &die) ? debug_.pack(die) : 0;
    if (!last_ || last_->first != number)
        last_.emplace(number, flow_of(number != 0 ? units_.ranges(die).ranges : Parts()));
    return last_->second;
}

FunctionPlaces FunctionEntries::of(const FunctionInstance& function) {
    FunctionPlaces out;
    out.places = {{function.inlined ? function.entry : function.body, {}}};
    if (file_.is_32_bit() || (function.is_go && !function.inlined))
        return out;
    return function.inlined ? of_copy(function) : of_function(function);
}

FunctionPlaces FunctionEntries::of_function(const FunctionInstance& function) {
    FunctionPlaces out;
    out.places = {{function.body, {}}};
    const Parts parts = parts_of(function);
    // Most functions have no such jump, which is found out at a fraction of the cost of all ways.
    if (!jumps_to(file_, parts, function.entry))
        return out;
    const CodeFlow flow = flow_of(parts);
    std::optional<size_t> first = flow.index_of(function.entry);
    if (!first || flow.before(*first).empty())
        return out;
    std::optional<std::vector<Arrival>> repeats = arrivals_from(flow, *first, flow.before(*first));
    if (repeats)
        // After a prologue nothing repeats, but for what is known already (body_repeats).
        out.places = {{function.entry, function.body == function.entry || function.body_repeats
                                           ? *std::move(repeats)
                                           : std::vector<Arrival>()}};
    else
        out = {{}, fmt::format("`{}` begins with a loop, and a round of it cannot be told from a call", function.name)};
    return out;
}

FunctionPlaces FunctionEntries::of_copy(const FunctionInstance& function) {
    FunctionPlaces out;
    out.places = {{function.entry, {}}};
    FunctionRef ref = units_.find_function(function.die), around = enclosing_subprogram(ref);
    Dwarf_Die die;
    if (!ref || !around || !die_of(ref, &die))
        return out;
    const CodeFlow& flow = flow_around(around);
    if (flow.nodes().empty() || flow.is_cut())
        return out;
    Copy copy(flow, units_.ranges(die).ranges);
    const FunctionInstance* outer = instances_.of(around);
    std::optional<size_t> first = outer ? flow.index_of(outer->entry) : std::nullopt;
    Ways ways = ways_into(flow, copy, first);
    // Other addresses are no entries where the compiler has marked these.
    Nodes marks = marked_entries(flow, copy, function, die, *ref.unit);
    if (marks.empty()) {
        if (first)
            marks = drop_continuations(flow, copy, *first, *ref.unit, ways);
        meet(copy, ways);
    } else {
        const Nodes entries = copy.entries(first);
        ways = {};
        for (size_t mark : Nodes(marks))
            ways.targets.insert(joined(flow, copy, entries, mark, ways.leading));
        marks.clear();
    }
    if (ways.targets.empty() && marks.empty())
        return out;
    out.places.clear();
    Nodes places = ways.targets;
    places.insert(marks.begin(), marks.end());
    for (size_t node : places) {
        const Nodes later = copy.reached(node);
        std::vector<size_t> repeats;
        for (size_t other : flow.before(node))
            if (copy.has(other) && !ways.leading.contains(other) && later.contains(other))
                repeats.push_back(other);
        std::optional<std::vector<Arrival>> arrivals = arrivals_from(flow, node, repeats);
        if (!arrivals) {
            out.places.clear();
            out.why_none =
                fmt::format("the copy of `{}` at {:#x} begins where it also comes back to, and nothing shows "
                            "which of the two it is",
                            function.name, flow.nodes()[node].address);
            return out;
        }
        out.places.push_back({flow.nodes()[node].address, *std::move(arrivals)});
    }
    return out;
}

// gcc marks where a copy begins by a statement at the function's own name, in each duplicate of it too.
std::set<size_t> FunctionEntries::marked_entries(const CodeFlow& flow, const Copy& copy,
                                                 const FunctionInstance& function, Dwarf_Die& die, Unit& unit) {
    Nodes out;
    int column = 0;
    if (dwarf_decl_column(&die, &column) != 0 || column == 0)
        return out;
    const std::vector<LineRow>& rows = lines_.rows(unit);
    std::map<size_t, size_t> marks; // by the node
    for (auto [low, high] : units_.ranges(die).ranges)
        for (auto row = lines_.first_from(unit, low); row != rows.end() && row->address < high; ++row)
            if (row->is_statement && row->line == function.line && row->column == column && row->file &&
                row->file == function.file)
                if (std::optional<size_t> node = flow.index_of(row->address); node && copy.has(*node))
                    marks[*node]++;
    // A copy without an instruction where it begins is marked there, out of its code; other marks are no beginnings.
    const std::optional<size_t> own = flow.index_of(function.entry);
    if (own && !copy.has(*own))
        return out;
    const FunctionRef ref = marks.size() > 1 ? units_.find_function(function.die) : FunctionRef();
    for (auto [node, count] : marks)
        if (!ref || !marks_others(flow.nodes()[node].address, count, function, ref))
            out.insert(node);
    return out;
}

// The schedules of copies that follow each other overlap. Of a copy that has no instruction where it begins, the debug
// information gives that place as its entry and as nothing else.
bool FunctionEntries::marks_others(Address address, size_t marks, const FunctionInstance& copy, FunctionRef ref) {
    if (address == copy.entry)
        return false;
    const FunctionRef around = enclosing_subprogram(ref), named = units_.naming_entry(ref);
    size_t others = 0;
    for (FunctionRef other{ref.unit, around.index + 1};
         other.index < ref.unit->functions.size() && enclosing_subprogram(other) == around; other.index++)
        if (const FunctionInstance* one =
                other->inlined && other != ref && units_.naming_entry(other) == named ? instances_.of(other) : nullptr)
            others += one->entry == address;
    return others >= marks;
}

// Going on in the copy after instructions from around it is no new entry. Compilers also duplicate the copy, with a
// loop around it: each duplicate begins on the copy's first line. What has come to be somewhere else, such as the test
// of how many rounds are left, leads to no such place.
std::set<size_t> FunctionEntries::drop_continuations(const CodeFlow& flow, const Copy& copy, size_t first, Unit& unit,
                                                     Ways& ways) {
    const Nodes reached_first = copy.first_reached(first);
    Nodes begun;
    for (size_t node : ways.targets)
        if (reached_first.contains(node) || std::ranges::any_of(ways.leading, [&](size_t lead) {
                return reached_first.contains(lead) && copy.reached(lead).contains(node);
            }))
            begun.insert(node);
    if (begun.empty())
        return {};
    const LineRow* top = nullptr;
    for (size_t node : begun)
        if (const LineRow* row = lines_.row_at(unit, flow.nodes()[node].address);
            row && row->line != 0 && (!top || row->line < top->line))
            top = row;
    Nodes marks;
    for (size_t node = 0; top && node < flow.nodes().size(); node++)
        if (copy.has(node) && !ways.leading.contains(node) && begins_line(flow.nodes()[node].address, *top, unit) &&
            (ways.targets.contains(node) || !copy.reached(node).contains(node)))
            marks.insert(node);
    Nodes kept;
    for (size_t node : Nodes(ways.targets)) {
        if (marks.erase(node)) {
            kept.insert(node);
            continue;
        }
        const Nodes passed = begun.contains(node) ? copy.reached(node) : Nodes();
        const size_t before = marks.size();
        std::erase_if(marks, [&](size_t mark) { return !ways.targets.contains(mark) && passed.contains(mark); });
        if (begun.contains(node) && (!top || marks.size() < before))
            kept.insert(node);
    }
    // Where nothing is on the first line, all that is begun counts.
    ways.targets = kept.empty() ? begun : kept;
    return marks;
}

bool FunctionEntries::begins_line(Address address, const LineRow& line, Unit& unit) {
    const LineRow* here = lines_.row_at(unit, address);
    return here && here->address == address && here->is_statement && here->line == line.line &&
           here->column == line.column && here->file == line.file;
}

} // namespace sonde
