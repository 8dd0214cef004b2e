// The header explains the rules. This file applies them in the order of their cost, because a pattern such as
// `process("clang").function("*")` asks for a hundred thousand functions:
//
// * Functions whose code has no jump to their first instruction need no graph. jumps_to() only decodes.
// * The graph of a function around inlined copies is built once for all of its copies.
// * Code of more than 1 MiB is not analyzed. The probe is then at the address in the debug information.
//
// The result for an inlined copy comes from the line table if gcc has marked the entries there, and otherwise from the
// graph. Marks are better, because gcc sets them before it moves and duplicates instructions. clang has no such marks.
//
// The probe of a place counts each execution of one instruction. An instruction in a loop of the copy would count each
// iteration, so place_at() also returns the instructions from which a loop comes back ("arrivals"). If one of them does
// not show whether it goes back (for example an indirect jump), the function cannot be probed there.
#include "frontend/dwarf/function_entries.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <unistd.h>

#include <fmt/format.h>

#include "base/debug/die.h"
#include "base/demangle.h"
#include "frontend/dwarf/calling_convention.h"
#include "frontend/dwarf/code_layout.h"
#include "frontend/dwarf/copy_flow.h"
#include "frontend/dwarf/copy_verdict.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/emitted_variants.h"
#include "frontend/dwarf/function_body.h"
#include "frontend/dwarf/function_instances.h"
#include "frontend/dwarf/line_tables.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/symbol_text.h"
#include "frontend/dwarf/unit_index.h"

namespace sonde {

namespace {

// functions with more bytes are not analyzed, because the graph would need much memory
constexpr Address most_code = 1 << 20;

// Functions that never return to their caller. Compilers put calls of these behind a function's last return, where
// other code can follow.
constexpr std::string_view never_returning[] = {
    "__stack_chk_fail", "__chk_fail",  "__fortify_fail", "abort",           "exit",           "_exit",
    "__assert_fail",    "__cxa_throw", "__cxa_rethrow",  "__cxa_bad_cast",  "_Unwind_Resume", "longjmp",
    "__longjmp_chk",    "panic",       "do_exit",        "__fortify_panic", "fortify_panic",  "make_task_dead"};

// Converts predecessors of a node to arrivals, which say when execution goes from there to the node. Returns nullopt if
// a handler at one of them cannot know this. Such predecessors are calls, indirect jumps and jumps that do not depend
// on the flags. Instructions that change rsp are such too, because rsp is in the key of the mark.
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

// Returns the place at a node where a copy begins, together with the arrivals from inside of the copy. Returns nullopt
// if execution comes back to the node and an arrival cannot be recognized.
//
// `counted` are nodes outside of the copy at which the call was already counted.
std::optional<FunctionPlaces::Place> place_at(const Copy& copy, size_t node, const CopyEntries& entries,
                                              const FlowNodes& counted = {}) {
    const FlowNodes& leading = entries.leading;
    FlowNodes later = copy.has(node) ? copy.reached(node) : FlowNodes();
    // A call that came in at another entry can also come here. An entry that cannot be reached from outside is
    // different: there, the code of a further call begins.
    if (copy.entries(std::nullopt).contains(node))
        for (size_t begin : entries.targets)
            if (copy.has(begin))
                later.merge(copy.reached(begin));
    std::vector<size_t> repeats;
    for (size_t other : copy.flow().before(node))
        if ((copy.has(other) && !leading.contains(other) && later.contains(other)) || counted.contains(other))
            repeats.push_back(other);
    std::optional<std::vector<Arrival>> arrivals = arrivals_from(copy.flow(), node, repeats);
    if (!arrivals)
        return std::nullopt;
    return FunctionPlaces::Place{copy.flow().nodes()[node].address, *std::move(arrivals)};
}

// Moves a place to the first instruction after nops. Some kernels execute nops of several bytes wrongly under a
// breakpoint, or refuse the breakpoint. Compilers put such nops before loops.
size_t behind_nops(const Copy& copy, size_t node, CopyEntries& entries) {
    for (const std::vector<FlowNode>& nodes = copy.flow().nodes(); nodes[node].does_nothing;) {
        const std::optional<size_t> next = leads_to(copy, node);
        if (nodes[node].next - nodes[node].address == 1 || !next || entries.targets.contains(*next))
            break;
        entries.leading.insert(node);
        node = *next;
    }
    return node;
}

// Moves a place behind instructions without a source line (line 0). In unoptimized code, clang gives no line to the
// instructions that store a copy's parameters in the frame. The parameters cannot be read before these.
size_t behind_stores(const Copy& copy, size_t node, CopyEntries& entries, LineTables& lines, Unit& unit) {
    const std::vector<FlowNode>& nodes = copy.flow().nodes();
    size_t at = node;
    FlowNodes passed;
    for (const LineRow* row; (row = lines.row_at(unit, nodes[at].address)) && row->line == 0;) {
        const std::vector<size_t>& after = copy.flow().after(at);
        if (nodes[at].is_call || nodes[at].is_jump || after.size() != 1 || !copy.has(after[0]) ||
            copy.flow().before(after[0]).size() != 1 || entries.targets.contains(after[0]))
            return node;
        passed.insert(at);
        at = after[0];
    }
    entries.leading.insert(passed.begin(), passed.end());
    return at;
}

std::string why_no_start(const FunctionInstance& function) {
    return fmt::format("`{}` begins with a loop, and sonde cannot distinguish its iterations from calls",
                       function.name);
}

// Whether the code has a direct jump to `entry`. This needs no graph.
bool jumps_to(const ProgramFile& file, const std::vector<std::pair<Address, Address>>& parts, Address entry) {
    for (auto [low, high] : parts) {
        const std::string bytes = file.code(low, high);
        for (size_t at = 0; at < bytes.size();) {
            const std::optional<Instruction> one = file.architecture().decode(std::string_view(bytes).substr(at));
            if (!one)
                break;
            at += one->length;
            if (one->is_direct_jump() && one->target(low + at) == entry)
                return true;
        }
    }
    return false;
}

} // namespace

// Three sources, in order of trust: the debug information, the size of the symbol, and the distance to the next
// function.
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

bool FunctionEntries::never_returns(Address function) {
    if (!never_returning_) {
        never_returning_.emplace();
        const auto is_one = [](std::string_view name) {
            return std::ranges::find(never_returning, name) != std::end(never_returning);
        };
        file_.elf().for_each_symbol([&](const ElfSymbol& symbol) {
            if (symbol.address != 0 && is_one(symbol.name))
                never_returning_->insert(symbol.address);
            return true;
        });
        for (const PltEntry& entry : file_.plt())
            if (is_one(entry.name))
                never_returning_->insert(entry.address);
    }
    return never_returning_->contains(function);
}

CodeFlow FunctionEntries::flow_of(const Parts& parts) {
    std::vector<CodeFlow::Part> code;
    Address size = 0;
    for (auto [low, high] : parts)
        if ((size += high - low) <= most_code)
            code.push_back({low, file_.code(low, high)});
    if (size > most_code)
        code.clear();
    return CodeFlow(
        file_.architecture(), std::move(code), [&](Address at, size_t bytes) { return file_.data(at, bytes); },
        [&](Address function) { return never_returns(function); });
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
    // Most functions have no jump to their first instruction. This test is much cheaper than the graph.
    if (!jumps_to(file_, parts, function.entry))
        return function.body_repeats && !calling_.keeps_to_abi(function) ? of_body(function, flow_of(parts)) : out;
    const CodeFlow flow = flow_of(parts);
    std::optional<size_t> first = flow.index_of(function.entry);
    if (!first || flow.before(*first).empty())
        return out;
    std::optional<std::vector<Arrival>> repeats = arrivals_from(flow, *first, flow.before(*first));
    if (repeats)
        // After the prologue nothing repeats, except the loops that are already known (body_repeats).
        out.places = {{function.entry, function.body == function.entry || function.body_repeats
                                           ? *std::move(repeats)
                                           : std::vector<Arrival>()}};
    else
        out = {{}, why_no_start(function)};
    return out;
}

// A function of C or C++ is then probed before its prologue (place_cheaply.cc), because the calling convention says
// where the parameters are. In Rust they can be read after the prologue only.
FunctionPlaces FunctionEntries::of_body(const FunctionInstance& function, const CodeFlow& flow) {
    const std::optional<size_t> body = flow.index_of(function.body);
    if (!body)
        return {{{function.body, {}}}, ""};
    const Copy whole(flow, parts_of(function));
    if (std::optional<FunctionPlaces::Place> place = place_at(whole, *body, CopyEntries()))
        return {{*std::move(place)}, ""};
    return {{}, why_no_start(function)};
}

std::string FunctionEntries::doubt_of(const FunctionInstance& copy, const FunctionInstance* around,
                                      const CopyEntries& entries) {
    if (around && around->line == copy.line && around->file == copy.file && around->name == copy.name)
        return fmt::format("`{}` was inlined into itself, and the debug information mixes up the copies", copy.name);
    if (entries.is_doubtful)
        return fmt::format("the code of the copy of `{}` at {:#x} repeats itself; it may contain several calls, but "
                           "sonde cannot find the beginning of each call",
                           copy.name, copy.entry);
    if (!around || copy.name == around->name) // the thunk itself is probed
        return "";
    const std::vector<CodeSymbol>& thunks = variants_.thunks_with_code(around->linkage_name);
    std::optional<std::string> plain = thunks.empty() ? std::nullopt : demangle(thunks[0].name);
    return plain ? fmt::format("`{}` also contains the code of `{}`, but no debug information describes it",
                               symbol_name(*plain), copy.name)
                 : "";
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
    // A thunk of clang has no name in the debug information, so it is no instance.
    Dwarf_Die thunk;
    Dwarf_Addr begin = 0;
    const bool is_known = outer || (die_of(around, &thunk) && dwarf_entrypc(&thunk, &begin) == 0);
    const std::optional<size_t> first = is_known ? flow.index_of(outer ? outer->entry : begin) : std::nullopt;
    if (first)
        copy.remove(moved_nodes(copy, *first));
    const std::vector<bool> of_caller = nodes_of_caller(copy, nodes_with_line(flow, ref));
    copy.add(neutral_between(copy, of_caller));
    CopyEntries entries = entries_of(copy, first);
    // If the compiler has marked the entries, the marks are better than the graph.
    if (const FlowNodes marks = marked_entries(copy, function, ref); !marks.empty()) {
        FlowNodes entered = copy.entries(first);
        entered.insert(marks.begin(), marks.end());
        entries = {};
        for (size_t mark : marks)
            entries.targets.insert(joined(copy, entered, mark, entries.leading));
    } else {
        meet(copy, entries);
        if (first && !drop_continuations(copy, *first, source_places(copy, ref), entries)) {
            out.places.clear();
            out.why_none = fmt::format(
                "the copy of `{}` at {:#x} contains the code of several calls, and their beginnings are not known",
                function.name, function.entry);
            return out;
        }
    }
    if (entries.targets.empty())
        return out;
    out.places.clear();
    out.doubt = doubt_of(function, outer, entries);
    if (out.doubt.empty() && is_merged(copy, function, ref, die))
        out.doubt =
            fmt::format("the copy of `{}` at {:#x} is the common end of several calls, some of which begin elsewhere",
                        function.name, function.entry);
    if (const char* doubt = out.doubt.empty() && first ? doubt_of_entries(copy, entries, *first, of_caller) : nullptr)
        out.doubt =
            fmt::format("the code of the copy of `{}` at {:#x} is not clear: {}", function.name, function.entry, doubt);
    const FlowNodes counted = counted_before(copy, function, ref);
    const bool has_stores = keeps_parameters_in_frame(file_.architecture().registers(), die);
    for (size_t node : entries.targets) {
        size_t start = behind_nops(copy, node, entries);
        if (has_stores)
            start = behind_stores(copy, start, entries, lines_, *ref.unit);
        std::optional<FunctionPlaces::Place> place = place_at(copy, start, entries, counted);
        if (!place)
            place = place_at(copy, node, entries, counted);
        if (!place) {
            out.places.clear();
            out.why_none = fmt::format("the copy of `{}` at {:#x} begins at an address that its own code jumps back "
                                       "to, and sonde cannot distinguish these arrivals",
                                       function.name, flow.nodes()[node].address);
            return out;
        }
        out.places.push_back(*std::move(place));
    }
    return out;
}

// gcc puts a statement of the line table at each entry of a copy: its line and column are those of the function's name
// in the source. DW_AT_entry_pc is one of these places. If the compiler duplicates the code of the copy, it duplicates
// the statement too.
//
// A function that is inlined into the copy can have its name at the same line and column, for example two instances of
// one template. The statements in that inner copy do not mark entries of the outer one.
FlowNodes FunctionEntries::marked_entries(const Copy& copy, const FunctionInstance& function, FunctionRef ref) {
    Dwarf_Die die;
    int column = 0;
    const std::optional<size_t> own = copy.flow().index_of(function.entry);
    if (!own || !die_of(ref, &die) || dwarf_decl_column(&die, &column) != 0 || column == 0)
        return {};
    std::map<size_t, size_t> marks; // by the node: how many
    RangeList code = units_.ranges(die);
    code.ranges.emplace_back(function.entry, function.entry + 1);
    for (auto [low, high] : code.ranges)
        for (auto row = lines_.first_from(*ref.unit, low); row != lines_.rows(*ref.unit).end() && row->address < high;
             ++row)
            if (row->is_statement && row->line == function.line && row->column == column && row->file &&
                row->file == function.file)
                if (std::optional<size_t> node = copy.flow().index_of(row->address))
                    marks[*node]++;
    if (!marks.contains(*own))
        return {};
    // If the copy has no instruction at its entry, the mark is outside of its addresses. Then the other marks belong to
    // other copies. If there are none, the compiler has duplicated the code of this copy.
    if (!copy.has(*own) && !copies_like(function, ref).empty())
        return {*own};
    FlowNodes out;
    for (auto [node, count] : marks)
        if (marks.size() == 1 || !marks_others(copy.flow().nodes()[node].address, count, function, ref))
            out.insert(node);
    return out;
}

std::vector<bool> FunctionEntries::nodes_with_line(const CodeFlow& flow, FunctionRef ref) {
    std::vector<bool> out;
    for (const FlowNode& node : flow.nodes()) {
        const LineRow* row = lines_.row_at(*ref.unit, node.address);
        out.push_back(row && row->line != 0);
    }
    return out;
}

std::vector<std::pair<FunctionRef, const FunctionInstance*>> FunctionEntries::copies_like(const FunctionInstance& copy,
                                                                                          FunctionRef ref) {
    std::vector<std::pair<FunctionRef, const FunctionInstance*>> out;
    const FunctionRef around = enclosing_subprogram(ref);
    for (FunctionRef other{ref.unit, around.index + 1};
         other.index < ref.unit->functions.size() && is_inside_of(other, around); other.index++)
        if (const FunctionInstance* one = other->inlined && other != ref ? instances_.of(other) : nullptr;
            one && one->line == copy.line && one->file == copy.file)
            out.emplace_back(other, one);
    return out;
}

// The compiler can merge the ends of two copies, even all but the mark of one of them. That copy is then a jump into
// the other one:
//
//     copy of call 1: jmp 1f       the mark of call 1, where it is counted
//     copy of call 2: 1: ...       the mark of call 2, which must not count call 1 again
FlowNodes FunctionEntries::counted_before(const Copy& copy, const FunctionInstance& function, FunctionRef ref) {
    FlowNodes out;
    Dwarf_Die die;
    int column = 0;
    if (!die_of(ref, &die) || dwarf_decl_column(&die, &column) != 0 || column == 0)
        return out;
    const std::vector<FlowNode>& nodes = copy.flow().nodes();
    for (size_t entry : copy.entries(std::nullopt))
        for (size_t node : copy.flow().before(entry)) {
            const Address address = nodes[node].address;
            if (copy.has(node) || !nodes[node].is_jump || nodes[node].condition != jumps_always ||
                !is_in_other_copy(address, function, ref))
                continue;
            const std::vector<LineRow>& rows = lines_.rows(*ref.unit);
            for (auto row = lines_.first_from(*ref.unit, address); row != rows.end() && row->address == address; ++row)
                if (row->is_statement && row->line == function.line && row->column == column && row->file &&
                    row->file == function.file)
                    out.insert(node);
        }
    return out;
}

// Whether another copy of the same function, in the same function around it, contains the address.
bool FunctionEntries::is_in_other_copy(Address address, const FunctionInstance& copy, FunctionRef ref) {
    return std::ranges::any_of(copies_like(copy, ref), [&](const auto& other) {
        Dwarf_Die die;
        return die_of(other.first, &die) && std::ranges::any_of(units_.ranges(die).ranges, [&](const auto& range) {
                   return address >= range.first && address < range.second;
               });
    });
}

// clang merges the equal ends of several copies to a copy that belongs to no line of the caller (DW_AT_call_line 0). If
// execution comes there from one of the other copies, it is a call that has already been counted.
bool FunctionEntries::is_merged(const Copy& copy, const FunctionInstance& function, FunctionRef ref, Dwarf_Die& die) {
    if (number_attribute(die, DW_AT_call_line).value_or(1) != 0)
        return false;
    const std::vector<FlowNode>& nodes = copy.flow().nodes();
    return std::ranges::any_of(copy.entries(std::nullopt), [&](size_t entry) {
        return std::ranges::any_of(copy.flow().before(entry), [&](size_t node) {
            return !copy.has(node) && is_in_other_copy(nodes[node].address, function, ref);
        });
    });
}

// The instructions of two successive copies can be mixed. The only sign of a copy without an instruction at its entry
// is that its DW_AT_entry_pc is that address.
bool FunctionEntries::marks_others(Address address, size_t marks, const FunctionInstance& copy, FunctionRef ref) {
    if (address == copy.entry)
        return false;
    size_t others = 0;
    for (const auto& [other, one] : copies_like(copy, ref)) {
        Dwarf_Die die;
        const bool is_inside = is_inside_of(other, ref) && die_of(other, &die);
        if (is_inside && std::ranges::any_of(units_.ranges(die).ranges, [&](const auto& range) {
                return address >= range.first && address < range.second;
            }))
            return true;
        others += one->entry == address;
    }
    return others >= marks;
}

// For each node, the place in the source of the copied function. An instruction of a function that is inlined into the
// copy has the place of that call (DW_AT_call_line): inner lines would be in another function.
std::vector<SourcePlace> FunctionEntries::source_places(const Copy& copy, FunctionRef ref) {
    const std::vector<FlowNode>& nodes = copy.flow().nodes();
    std::vector<SourcePlace> out(nodes.size());
    for (size_t i = 0; i < nodes.size(); i++)
        if (const LineRow* row = copy.has(i) ? lines_.row_at(*ref.unit, nodes[i].address) : nullptr)
            out[i] = {row->file, row->line,  row->column, row->address == nodes[i].address && row->is_statement,
                      row->line, row->column};
    Dwarf_Files* files = nullptr;
    size_t count = 0;
    dwarf_getsrcfiles(&ref.unit->unit_die, &files, &count);
    for (FunctionRef inner{ref.unit, ref.index + 1};
         inner.index < ref.unit->functions.size() && is_inside_of(inner, ref); inner.index++) {
        Dwarf_Die die;
        if (!inner->inlined || inner->parent != ref.index || !die_of(inner, &die))
            continue;
        const uint64_t file = number_attribute(die, DW_AT_call_file).value_or(0);
        const SourcePlace call = {files && file < count ? dwarf_filesrc(files, file, nullptr, nullptr) : nullptr,
                                  static_cast<int>(number_attribute(die, DW_AT_call_line).value_or(0)),
                                  static_cast<int>(number_attribute(die, DW_AT_call_column).value_or(0))};
        for (auto [low, high] : units_.ranges(die).ranges)
            for (auto node = std::ranges::lower_bound(nodes, low, {}, &FlowNode::address);
                 node != nodes.end() && node->address < high; ++node) {
                SourcePlace& place = out[static_cast<size_t>(node - nodes.begin())];
                place.file = call.file, place.line = call.line, place.column = call.column;
            }
    }
    return out;
}

} // namespace sonde
