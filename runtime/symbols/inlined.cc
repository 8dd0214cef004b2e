// Two readers for the same data. InlineFinder answers for single addresses, for text that the runtime prints, and reads
// only one compilation unit. read_inlined() converts the whole file into a table, for handlers in the kernel that print
// stacks.
//
// DWARF stores an inlined call as a DIE within its caller, with the address ranges of the copied code:
//
//     DW_TAG_subprogram main
//       DW_TAG_lexical_block
//         DW_TAG_inlined_subroutine parse    call_file 1, call_line 40    10-30
//           DW_TAG_inlined_subroutine skip   call_file 1, call_line 12    14-18
//
// At address 15, the stack has three frames: skip, parse, main. The call's line belongs to the caller: parse has called
// skip at line 12, and main has called parse at line 40.
#include "runtime/symbols/inlined.h"

#include <dwarf.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/debug/die.h"
#include "base/demangle.h"
#include "runtime/symbols/debug_info.h"

namespace sonde {
namespace {

constexpr int deepest = 64; // nesting limit against damaged files

// DIEs that can contain functions, besides the unit itself.
bool holds_functions(int tag) {
    return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_structure_type ||
           tag == DW_TAG_class_type || tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type;
}

// DIEs in a function that can contain inlined functions.
bool is_scope(int tag) {
    return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_try_block ||
           tag == DW_TAG_catch_block;
}

// Calls `visit` for each function DIE of a unit.
template <typename Visit> void for_each_function(Dwarf_Die& parent, int depth, Visit& visit) {
    for_each_child(parent, [&](Dwarf_Die& child) {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_subprogram)
            visit(child);
        else if (holds_functions(tag) && depth < deepest)
            for_each_function(child, depth + 1, visit);
        return true;
    });
}

// Calls `visit` for each compilation unit of the file.
template <typename Visit> void for_each_compile_unit(Dwarf* dwarf, Visit visit) {
    for_each_unit(dwarf, [&](Dwarf_Die& unit, uint8_t type) {
        if (type == DW_UT_compile)
            visit(unit);
    });
}

// Calls `add` with the bounds of each non-empty address range of a DIE.
template <typename Add> void add_ranges(Dwarf_Die& die, Add add) {
    for_each_range(die, [&](uint64_t low, uint64_t high) {
        if (low < high)
            add(low, high);
        return true;
    });
}

std::string name_of(Dwarf_Die& die) {
    if (const char* linkage = linkage_name(die))
        return readable_symbol(linkage);
    const char* plain = string_attribute(die, DW_AT_name);
    return plain ? plain : "";
}

} // namespace

struct InlineFinder::Debug : DebugInfo {
    struct Range {
        uint64_t low, high;
        Dwarf_Die die;
    };
    std::optional<std::vector<Range>> units;                          // filled if the file has no .debug_aranges
    std::unordered_map<Dwarf_Off, std::vector<Range>> unit_functions; // by unit
    std::unordered_map<uint64_t, std::vector<InlinedCall>> known;

    static const Dwarf_Die* covering(const std::vector<Range>& ranges, uint64_t address) {
        for (const Range& range : ranges)
            if (address >= range.low && address < range.high)
                return &range.die;
        return nullptr;
    }
    std::optional<Dwarf_Die> unit_at(uint64_t address) {
        Dwarf_Die unit;
        if (dwarf_addrdie(dwarf(), address, &unit))
            return unit;
        if (!units) {
            units.emplace();
            for_each_compile_unit(dwarf(), [&](Dwarf_Die& die) {
                add_ranges(die, [&](uint64_t low, uint64_t high) { units->push_back({low, high, die}); });
            });
        }
        const Dwarf_Die* found = covering(*units, address);
        return found ? std::optional(*found) : std::nullopt;
    }
    const Dwarf_Die* function_at(Dwarf_Die unit, uint64_t address) {
        auto [entry, fresh] = unit_functions.try_emplace(dwarf_dieoffset(&unit));
        if (fresh) {
            auto take = [&, &functions = entry->second](Dwarf_Die& function) {
                add_ranges(function, [&](uint64_t low, uint64_t high) { functions.push_back({low, high, function}); });
            };
            for_each_function(unit, 0, take);
        }
        return covering(entry->second, address);
    }
};

InlineFinder::InlineFinder(const ElfFile& file, std::vector<std::string>& problems)
    : debug_(std::make_unique<Debug>()) {
    if (!debug_->open(file, problems))
        debug_.reset();
}
InlineFinder::~InlineFinder() = default;
InlineFinder::InlineFinder(InlineFinder&&) noexcept = default;

std::vector<InlinedCall> InlineFinder::find(uint64_t address) {
    // Descend from the function through nested scopes that contain the address, and collect those that are inlined
    // functions.
    std::optional<Dwarf_Die> unit = debug_ ? debug_->unit_at(address) : std::nullopt;
    if (!unit)
        return {};
    auto [entry, fresh] = debug_->known.try_emplace(address);
    std::vector<InlinedCall>& out = entry->second;
    const Dwarf_Die* function = fresh ? debug_->function_at(*unit, address) : nullptr;
    if (!function)
        return out;
    Dwarf_Files* files = nullptr;
    size_t file_count = 0;
    dwarf_getsrcfiles(&*unit, &files, &file_count);
    std::optional<Dwarf_Die> at = *function;
    for (int depth = 0; at && depth < deepest; depth++) {
        std::optional<Dwarf_Die> inner;
        for_each_child(*at, [&](Dwarf_Die& child) {
            if (is_scope(dwarf_tag(&child)) && dwarf_haspc(&child, address) == 1)
                inner = child;
            return !inner;
        });
        if (inner && dwarf_tag(&*inner) == DW_TAG_inlined_subroutine) {
            uint64_t file = number_attribute(*inner, DW_AT_call_file).value_or(0);
            const char* path = files && file < file_count ? dwarf_filesrc(files, file, nullptr, nullptr) : nullptr;
            out.push_back({name_of(*inner), path ? path : "",
                           static_cast<uint32_t>(number_attribute(*inner, DW_AT_call_line).value_or(0))});
        }
        at = inner;
    }
    std::reverse(out.begin(), out.end());
    return out;
}

namespace {

// Turns nested address ranges into a sorted list of rows. Example: f() has inlined g() at 10-20, and g() has inlined
// h() at 12-15. The rows are: 10 g, 12 h, 15 g, 20 none. finish() sorts the ranges and keeps the open ones on a stack.
class TableBuilder {
  public:
    void add(Dwarf_Die& scope, uint32_t around, int depth) {
        for_each_child(scope, [&](Dwarf_Die& child) {
            int tag = dwarf_tag(&child);
            if (!is_scope(tag) || depth >= deepest)
                return true;
            uint32_t node = around;
            if (tag == DW_TAG_inlined_subroutine) {
                node = node_of(name_of(child), around);
                add_ranges(child, [&](uint64_t low, uint64_t high) { parts_.push_back({low, high, node, depth}); });
            }
            add(child, node, depth + 1);
            return true;
        });
    }
    InlineTable finish() {
        std::sort(parts_.begin(), parts_.end(),
                  [](const Part& a, const Part& b) { return a.low != b.low ? a.low < b.low : a.depth < b.depth; });
        std::vector<Part> open; // the innermost last
        auto close_until = [&](uint64_t address) {
            while (!open.empty() && open.back().high <= address) {
                uint64_t end = open.back().high;
                while (!open.empty() && open.back().high <= end)
                    open.pop_back();
                row(end, open.empty() ? 0 : open.back().node);
            }
        };
        for (const Part& part : parts_) {
            close_until(part.low);
            row(part.low, part.node);
            open.push_back(part);
        }
        close_until(UINT64_MAX);
        return std::move(out_);
    }

  private:
    struct Part {
        uint64_t low, high;
        uint32_t node;
        int depth;
    };
    void row(uint64_t address, uint32_t node) {
        if (!out_.rows.empty() && out_.rows.back().address == address)
            out_.rows.back().node = node;
        else if (out_.rows.empty() ? node != 0 : out_.rows.back().node != node)
            out_.rows.push_back({address, node});
    }
    uint32_t node_of(const std::string& name, uint32_t outer) {
        auto [text, new_text] = names_.try_emplace(name, static_cast<uint32_t>(out_.names.size()));
        if (new_text)
            out_.names.push_back(name);
        auto [node, new_node] = nodes_.try_emplace(static_cast<uint64_t>(text->second) << 32 | outer,
                                                   static_cast<uint32_t>(out_.nodes.size()));
        if (new_node)
            out_.nodes.push_back({text->second, outer});
        return node->second;
    }

    InlineTable out_;
    std::vector<Part> parts_;
    std::unordered_map<std::string, uint32_t> names_;
    std::unordered_map<uint64_t, uint32_t> nodes_;
};

} // namespace

InlineTable read_inlined(const ElfFile& file, std::vector<std::string>& problems) {
    DebugInfo debug;
    TableBuilder builder;
    if (!debug.open(file, problems))
        return {};
    auto take = [&](Dwarf_Die& function) { builder.add(function, 0, 0); };
    for_each_compile_unit(debug.dwarf(), [&](Dwarf_Die& unit) { for_each_function(unit, 0, take); });
    return builder.finish();
}

} // namespace sonde
