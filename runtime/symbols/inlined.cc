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
#include "runtime/symbols/function_scopes.h"

namespace sonde {
namespace {

std::string name_of(Dwarf_Die& die) {
    if (const char* linkage = linkage_name(die))
        return readable_symbol(linkage);
    const char* plain = string_attribute(die, DW_AT_name);
    return plain ? plain : "";
}

} // namespace

struct InlineFinder::Debug : FunctionScopes {
    std::unordered_map<uint64_t, std::vector<InlinedCall>> known;
};

InlineFinder::InlineFinder(const ElfFile& file, std::vector<std::string>& problems)
    : debug_(std::make_unique<Debug>()) {
    if (!debug_->open(file, problems))
        debug_.reset();
}
InlineFinder::~InlineFinder() = default;
InlineFinder::InlineFinder(InlineFinder&&) noexcept = default;

std::vector<InlinedCall> InlineFinder::find(uint64_t address) {
    std::optional<Dwarf_Die> unit = debug_ ? debug_->unit_at(address) : std::nullopt;
    if (!unit)
        return {};
    auto [entry, fresh] = debug_->known.try_emplace(address);
    std::vector<InlinedCall>& out = entry->second;
    std::vector<Dwarf_Die> functions = fresh ? debug_->functions_at(*unit, address) : std::vector<Dwarf_Die>();
    if (functions.empty())
        return out;
    Dwarf_Files* files = nullptr;
    size_t file_count = 0;
    dwarf_getsrcfiles(&*unit, &files, &file_count);
    for (size_t i = 1; i < functions.size(); i++) {
        Dwarf_Die& inlined = functions[i];
        const uint64_t file = number_attribute(inlined, DW_AT_call_file).value_or(0);
        const char* path = files && file < file_count ? dwarf_filesrc(files, file, nullptr, nullptr) : nullptr;
        out.push_back({name_of(inlined), path ? path : "",
                       static_cast<uint32_t>(number_attribute(inlined, DW_AT_call_line).value_or(0))});
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
            if (!is_scope(tag) || depth >= deepest_scope)
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
