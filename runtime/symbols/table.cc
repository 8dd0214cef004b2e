// Compiles the table of a file that handlers in the kernel search.
//
// The table is one array of 64-bit elements, because it becomes a BPF array map, in which a handler reads one element
// at a time. It has these parts, and file_table.h describes each:
//
//     head             counts and positions of the parts
//     unwind rows      one element each: offset, rule
//     symbol rows      two elements each, sorted by offset
//     line rows        the same
//     inlined rows     the same
//     chains           lists of inlined functions
//     saves rows       where functions save registers
//     steps            programs for unwinding
//     texts            names and paths, each ending with a NUL
//
// Rows are sorted by their offset in the file, and a handler finds a row by binary search. Addresses become offsets,
// because the file is mapped at different addresses in different processes, but an offset is the same in all of these.
//
// The parts refer to each other by element numbers. These are known only when all parts before have their final size.
// So rows are first filled with numbers relative to the first text or chain, and corrected at the end.
//
// What would break this: rows whose order differs from the file's. A program may have its segments in another order in
// memory than in the file, so rows are sorted after the conversion to offsets.
#include "runtime/symbols/table.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "runtime/plan/file_table.h"

namespace sonde {
namespace {

// Converts addresses to offsets in the file. The table uses offsets, so that one table serves all processes.
class Places {
  public:
    explicit Places(const ElfFile& file) : file_(file) {}
    std::optional<uint32_t> of(uint64_t address) const {
        std::optional<uint64_t> offset = file_.file_offset(address);
        return offset && *offset <= UINT32_MAX ? std::optional(static_cast<uint32_t>(*offset)) : std::nullopt;
    }

  private:
    const ElfFile& file_;
};

// The strings of a table, without duplicates.
class Texts {
  public:
    // Returns the index of the text's first element, relative to the first text.
    uint32_t add(const std::string& text) {
        auto [entry, fresh] = known_.try_emplace(text, static_cast<uint32_t>(elements.size()));
        if (fresh) {
            elements.resize(elements.size() + text.size() / 8 + 1);
            std::memcpy(&elements[entry->second], text.c_str(), text.size() + 1);
        }
        return entry->second;
    }
    std::vector<uint64_t> elements;

  private:
    std::unordered_map<std::string, uint32_t> known_;
};

// Adds the rows of inlined functions and returns their chains. A row has the index of a chain; 0: no inlined function.
// An element of a chain holds the function's text in the lower half, and the index of the next outer function in the
// upper half.
std::vector<uint64_t> add_inlined(const InlineTable* table, const Places& places, Texts& texts,
                                  std::vector<sonde_table_row>& rows) {
    std::vector<uint64_t> chains;
    if (!table || table->rows.empty())
        return chains;
    chains.push_back(0);
    for (size_t i = 1; i < table->nodes.size(); i++) {
        const InlineTable::Node& node = table->nodes[i];
        chains.push_back(texts.add(table->names[node.name]) | static_cast<uint64_t>(node.outer) << 32);
    }
    for (const InlineTable::Row& row : table->rows)
        if (std::optional<uint32_t> place = places.of(row.address))
            rows.push_back({*place, 0, row.node, 0});
    return chains;
}

// The unwind rows, packed into elements as file_table.h describes: rules and saved registers.
struct UnwindParts {
    UnwindParts(const UnwindRules* all, const Places& places) {
        if (!all)
            return;
        auto add = [](std::vector<uint64_t>& to, uint32_t place, uint32_t value) {
            if (to.empty() || to.back() >> 32 != value)
                to.push_back(place | static_cast<uint64_t>(value) << 32);
        };
        // The order of segments in the file may differ from that in memory.
        std::vector<std::pair<uint32_t, const UnwindRow*>> rows;
        for (const UnwindRow& row : all->rows)
            if (std::optional<uint32_t> place = places.of(row.address))
                rows.emplace_back(*place, &row);
        std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (auto [place, row] : rows) {
            add(rules, place, row->rule);
            add(saves, place, row->saves);
        }
        steps = all->steps;
    }
    std::vector<uint64_t> rules, saves;
    std::span<const uint64_t> steps;
};

void sort_rows(std::vector<sonde_table_row>& rows) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const sonde_table_row& a, const sonde_table_row& b) { return a.place < b.place; });
}

// Replaces the owner of each row, an offset in the file, by the index of the owner's row. `first` is the element of the
// first row.
void name_owners(std::vector<sonde_table_row>& rows, size_t first) {
    for (sonde_table_row& row : rows) {
        const auto owner = std::ranges::lower_bound(rows, row.owner, {}, &sonde_table_row::place);
        const bool known = row.owner != 0 && owner != rows.end() && owner->place == row.owner;
        row.owner =
            known ? static_cast<unsigned>(first + SONDE_TABLE_ROW * static_cast<size_t>(owner - rows.begin())) : 0;
    }
}

} // namespace

// Writes the parts in the order that file_table.h describes. All references between parts are indexes of elements, so
// each part's position must be known first.
std::vector<uint64_t> compile_table(const ElfFile& file, const std::string& path, const TableParts& parts) {
    Places places(file);
    Texts texts;
    sonde_table_head head{};
    head.interpreter = parts.interpreter;
    head.interpreter_loop = parts.interpreter_loop;
    head.path = texts.add(path);
    head.name = texts.add(path.substr(path.rfind('/') + 1));
    head.build_id = texts.add(file.build_id());
    uint64_t lowest = UINT64_MAX, highest = 0;
    for (const ElfSegment& segment : file.segments()) {
        lowest = std::min(lowest, segment.address);
        highest = std::max(highest, segment.address + segment.memory_size);
    }
    head.size = static_cast<unsigned>(highest - std::min(lowest, highest));
    for (const ElfSegment& segment : file.segments())
        if (segment.executable)
            head.shift = static_cast<unsigned>(segment.address - lowest - segment.offset);

    // The position of the texts is known only after all rows are counted. Until then, rows have indexes relative to the
    // first text.
    const UnwindParts unwind(parts.unwind, places);
    std::vector<sonde_table_row> symbols, lines, inlined;
    for (const FunctionSymbol& function : parts.functions)
        if (std::optional<uint32_t> place = places.of(function.address))
            symbols.push_back({*place, static_cast<uint32_t>(std::min<uint64_t>(function.size, UINT32_MAX)),
                               texts.add(function.name),
                               function.moved_from ? places.of(function.moved_from).value_or(0) : 0});
    if (parts.lines)
        for (const SourceRow& row : parts.lines->rows)
            if (std::optional<uint32_t> place = places.of(row.address))
                lines.push_back({*place, row.line, row.line ? texts.add(parts.lines->files[row.file]) : 0, 0});
    std::vector<uint64_t> chains = add_inlined(parts.inlined, places, texts, inlined);
    sort_rows(symbols);
    name_owners(symbols, SONDE_TABLE_HEAD + unwind.rules.size());
    sort_rows(lines);
    sort_rows(inlined);

    head.unwind = static_cast<unsigned>(unwind.rules.size());
    head.saves = static_cast<unsigned>(unwind.saves.size());
    head.symbols = static_cast<unsigned>(symbols.size());
    head.lines = static_cast<unsigned>(lines.size());
    head.inlined = static_cast<unsigned>(inlined.size());
    const auto first_chain = static_cast<unsigned>(SONDE_TABLE_HEAD + unwind.rules.size() +
                                                   SONDE_TABLE_ROW * (symbols.size() + lines.size() + inlined.size()));
    head.first_save = first_chain + static_cast<unsigned>(chains.size());
    head.first_step = head.first_save + head.saves;
    const unsigned first_text = head.first_step + static_cast<unsigned>(unwind.steps.size());
    head.path += first_text;
    head.name += first_text;
    head.build_id += first_text;
    for (std::vector<sonde_table_row>* rows : {&symbols, &lines})
        for (sonde_table_row& row : *rows)
            row.text += first_text;
    for (sonde_table_row& row : inlined)
        row.text = row.text ? row.text + first_chain : 0;
    std::vector<uint64_t> out(first_text);
    std::memcpy(out.data(), &head, sizeof head);
    std::copy(unwind.rules.begin(), unwind.rules.end(), out.begin() + SONDE_TABLE_HEAD);
    std::copy(unwind.saves.begin(), unwind.saves.end(), out.begin() + head.first_save);
    std::copy(unwind.steps.begin(), unwind.steps.end(), out.begin() + head.first_step);
    auto* at = reinterpret_cast<char*>(out.data() + SONDE_TABLE_HEAD + unwind.rules.size());
    for (const std::vector<sonde_table_row>* rows : {&symbols, &lines, &inlined}) {
        const size_t bytes = rows->size() * sizeof(sonde_table_row);
        if (bytes != 0)
            std::memcpy(at, rows->data(), bytes);
        at += bytes;
    }
    for (size_t i = 0; i < chains.size(); i++) {
        const auto text = static_cast<uint32_t>(chains[i]), outer = static_cast<uint32_t>(chains[i] >> 32);
        out[first_chain + i] = (text + first_text) | static_cast<uint64_t>(outer ? outer + first_chain : 0) << 32;
    }
    out.insert(out.end(), texts.elements.begin(), texts.elements.end());
    return out;
}

} // namespace sonde
