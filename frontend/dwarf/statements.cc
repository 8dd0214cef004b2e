// Finds statements. Optimized code mixes the instructions of several lines:
//
//     address  line  is_stmt
//     10       5     yes        <- the statement of line 5 begins
//     14       7     yes        <- the statement of line 7 begins
//     18       7     no            the same run of rows
//     1c       5     yes        <- line 5 again, in a new run
//     20       7     yes        <- line 7 again, in a new run
//
// A probe of line 7 is placed at 14 and 20, where its runs begin, and not at 18. Otherwise one execution of the line
// would be counted several times.
#include "frontend/dwarf/statements.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "base/glob.h"
#include "frontend/dwarf/function_instances.h"
#include "frontend/dwarf/function_search.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/symbol_tables.h"
#include "frontend/dwarf/unit_index.h"

namespace sonde {

// Matches file names, and remembers the result for each (the name's pointer is unique within a unit).
class FileFilter {
  public:
    explicit FileFilter(const std::string& pattern) : pattern_(pattern) {}
    bool matches(const char* file) {
        if (!file)
            return false;
        if (file != last_) {
            last_ = file;
            auto [entry, added] = known_.try_emplace(file, false);
            if (added)
                entry->second = file_matches(pattern_, file);
            last_matches_ = entry->second;
        }
        return last_matches_;
    }

  private:
    const std::string& pattern_;
    std::unordered_map<const char*, bool> known_;
    const char* last_ = nullptr;
    bool last_matches_ = false;
};

namespace {

// Returns "3-5, 7": at most four ranges, then "...".
std::string spell_lines(const std::set<int>& lines) {
    std::string text;
    int ranges = 0;
    for (auto line = lines.begin(); line != lines.end();) {
        int first = *line, last = first;
        for (++line; line != lines.end() && *line == last + 1; ++line)
            last = *line;
        if (ranges++ == 4)
            return text + ", ...";
        text += fmt::format("{}{}", text.empty() ? "" : ", ", first);
        if (last != first)
            text += fmt::format("-{}", last);
    }
    return text;
}

} // namespace

// The address alone does not determine the function: the compiler may move an instruction of f into the middle of a
// copy of g that was inlined into f. The row's file and line tell whose source it is.
FunctionRef Statements::function_of(Unit& unit, const LineRow& row) {
    FunctionRef innermost = units_.function_at(unit, row.address);
    FunctionRef best;
    int best_line = -1;
    auto consider = [&](uint32_t index) {
        const FunctionInstance* candidate = instances_.of({&unit, index});
        // Functions in a file do not overlap: the line belongs to the function that begins last before the line.
        if (!candidate || !row.file || candidate->line > row.line || candidate->line <= best_line ||
            candidate->file != row.file)
            return;
        best = {&unit, index};
        best_line = candidate->line;
    };
    // An inlined copy that begins at this address takes precedence over one whose instruction was only moved here.
    auto [first, last] = unit.copy_entries.equal_range(row.address);
    for (auto entry = first; entry != last; ++entry)
        consider(entry->second);
    if (innermost)
        for (uint32_t around = innermost.index; around != no_index; around = unit.functions[around].parent)
            consider(around);
    return best ? best : innermost;
}

// gcc assigns the reads of a lambda's captured variables to the line where the lambda begins, in the middle of other
// lines.
bool Statements::is_capture(const LineRow& row, FunctionRef run) {
    const FunctionInstance* around = instances_.of(run);
    return around && around->name.find("operator()") != std::string::npos && row.line == around->line && row.file &&
           row.file == around->file && row.address > around->body;
}

FunctionRef Statements::named_around(Unit& unit, const LineRow& row, const FunctionPattern& pattern) {
    const FunctionRef own = function_of(unit, row);
    if (!own || functions_.matches(own, pattern))
        return own;
    // `f@file:*` means the function's own lines.
    if (pattern.line_kind == FunctionPattern::Absolute || pattern.line_kind == FunctionPattern::LineRange)
        for (uint32_t around = unit.functions[own.index].parent; around != no_index;
             around = unit.functions[around].parent)
            if (functions_.matches({&unit, around}, pattern))
                return {&unit, around};
    return {};
}

// Adds the statements of a unit. Each run of consecutive rows with the same file, line and function gives one
// statement, at its first row.
//
// The first pass uses only rows that the compiler marked as statements. The second pass adds lines without any marked
// row in a function. Without it, one could not probe the closing brace of an optimized function.
void Statements::add(Unit& unit, const FunctionPattern& pattern, FileFilter& files, std::vector<Statement>& found) {
    std::set<std::pair<uint32_t, int>> marked; // functions and lines that have a statement
    for (const bool only_marked : {true, false}) {
        // The file, line and function of the current run of rows.
        const char* run_file = nullptr;
        int run_line = 0;
        FunctionRef run_function;
        for (const LineRow& row : lines_.rows(unit)) {
            if (row.end_sequence) {
                run_file = nullptr;
                continue;
            }
            // Line 0 means code without a line. It does not end a run, and neither do rows that are not statements.
            if ((only_marked && !row.is_statement) || row.line == 0)
                continue;
            bool candidate = files.matches(row.file);
            if (candidate && pattern.line_kind == FunctionPattern::Absolute)
                candidate = row.line == pattern.line;
            else if (candidate && pattern.line_kind == FunctionPattern::LineRange)
                candidate = row.line >= pattern.line && row.line <= pattern.line_end;
            if (!candidate) {
                if (!is_capture(row, run_function))
                    run_file = nullptr;
                continue;
            }
            FunctionRef function = named_around(unit, row, pattern);
            bool same_run = row.file == run_file && row.line == run_line && function == run_function;
            run_file = row.file;
            run_line = row.line;
            run_function = function;
            if (same_run || !function)
                continue;
            const FunctionInstance* around = instances_.of(function);
            if (!around)
                continue;
            if (pattern.line_kind == FunctionPattern::Relative && row.line != around->line + pattern.line)
                continue;
            if (only_marked)
                marked.insert({function.index, row.line});
            else if (row.is_statement || marked.contains({function.index, row.line}))
                continue;
            found.push_back({row.address, row.file, row.line, *around});
        }
    }
}

std::vector<Statement> Statements::find(const FunctionPattern& pattern) {
    std::vector<Statement> found;
    if (pattern.line_kind == FunctionPattern::None) {
        std::vector<FunctionInstance> functions = functions_.find(pattern);
        const auto described = [](const FunctionInstance& function) { return function.has_debug_info; };
        // A pattern is about source code. It finds functions without debug information only if none of the matches has
        // any.
        const bool only_described = has_wildcard(pattern.function) && std::ranges::any_of(functions, described);
        for (FunctionInstance& function : functions) {
            if (only_described && !described(function))
                continue;
            Statement statement;
            statement.address = function.entry;
            statement.file = function.file;
            statement.line = function.line;
            statement.function = std::move(function);
            found.push_back(std::move(statement));
        }
        return found;
    }
    FileFilter files(pattern.file);
    bool any_function = pattern.function == "*";
    for (Unit& unit : units_.all()) {
        // Check first whether the unit has such a function and file, which is fast.
        if (!any_function) {
            scan(unit);
            bool has_function = false;
            for (uint32_t i = 0; i < unit.functions.size() && !has_function; i++)
                has_function = unit.functions[i].has_code && functions_.matches({&unit, i}, pattern);
            if (!has_function)
                continue;
        }
        if (pattern.file.empty() || has_file(unit, pattern.file))
            add(unit, pattern, files, found);
    }
    std::stable_sort(found.begin(), found.end(), [](const Statement& a, const Statement& b) {
        return a.address != b.address ? a.address < b.address : a.line < b.line;
    });
    auto same = [](const Statement& a, const Statement& b) { return a.address == b.address && a.line == b.line; };
    found.erase(std::unique(found.begin(), found.end(), same), found.end());
    return found;
}

// Returns the statement at any address. The function is the innermost one with code there. Only for the first address
// of a row, the row's line is used for choosing among functions.
std::optional<Statement> Statements::at(Address address) {
    if (!file_.is_executable(address))
        return std::nullopt;
    Statement statement;
    statement.address = address;
    if (Unit* unit = units_.unit_at(address)) {
        FunctionRef around = units_.function_at(*unit, address);
        if (const LineRow* row = lines_.row_at(*unit, address)) {
            statement.file = row->file ? row->file : "";
            statement.line = row->line;
            if (row->address == address)
                around = function_of(*unit, *row);
        }
        if (const FunctionInstance* function = instances_.of(around)) {
            statement.function = *function;
            return statement;
        }
    }
    // Without debug information, the symbol table has the function.
    auto after = symbols_.first_after(address);
    if (after == symbols_.all().begin())
        return std::nullopt;
    const CodeSymbol& symbol = *std::prev(after);
    // Assembly code often has symbols without a size; such a symbol extends to the next one.
    if (symbol.size != 0 && address - symbol.address >= symbol.size)
        return std::nullopt;
    statement.function = instances_.of_symbol(symbol);
    return statement;
}

std::optional<Address> Statements::start(Address address) {
    Unit* unit = file_.is_executable(address) ? units_.unit_at(address) : nullptr;
    const LineRow* row = unit ? lines_.row_at(*unit, address) : nullptr;
    return row ? std::optional(row->address) : std::nullopt;
}

std::vector<std::string> Statements::source_files() {
    std::set<std::string> paths;
    for (Unit& unit : units_.all()) {
        for_each_source_file(unit.unit_die, [&](const char* path) {
            if (*path && strcmp(path, "???") != 0)
                paths.insert(path);
            return true;
        });
    }
    return {paths.begin(), paths.end()};
}

std::vector<int> Statements::lines_of(std::string_view file) {
    std::string pattern(file);
    FileFilter files(pattern);
    std::set<int> lines;
    for (Unit& unit : units_.all()) {
        if (!has_file(unit, pattern))
            continue;
        for (const LineRow& row : lines_.rows(unit))
            if (row.is_statement && !row.end_sequence && row.line != 0 && files.matches(row.file) &&
                file_.is_executable(row.address))
                lines.insert(row.line);
    }
    return {lines.begin(), lines.end()};
}

std::string Statements::describe_lines(FunctionRef function,
                                       const std::vector<std::pair<Address, Address>>& available) {
    const FunctionInstance* around = instances_.of(function);
    std::set<int> lines;
    if (!around)
        return "";
    for (auto [low, high] : available) {
        low = std::max(low, around->low);
        high = std::min(high, around->high);
        const std::vector<LineRow>& all = lines_.rows(*function.unit);
        auto row = lines_.first_from(*function.unit, low);
        for (; row != all.end() && row->address < high; ++row)
            if (row->is_statement && !row->end_sequence && row->line != 0 && row->file && row->file == around->file &&
                function_of(*function.unit, *row) == function)
                lines.insert(row->line);
    }
    return spell_lines(lines);
}

} // namespace sonde
