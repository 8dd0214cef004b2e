// Answers `--why` in four parts: a table with the variable's location at each address of its function, the verdict for
// the probe's address, the nearest place that has the variable, and advice.
//
// The usual question is why an optimized program has no value for `$x` at a probe. The compiler keeps `x` in a register
// only as long as it needs the value, so a few instructions further on or back it can be readable:
//
//       addresses      lines  location
//       0x1130-0x1137  5      in the register rdi
//       0x1138-0x1150  6, 7   nowhere: optimized out
//
// The answer is about this function only. If no row has the value, the advice is to read it elsewhere, such as in a
// caller.
#include "frontend/probes/why.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/probes/kinds.h"
#include "frontend/probes/why_text.h"
#include "frontend/variables/readable_lines.h"
#include "frontend/variables/source_program.h"
#include "frontend/variables/variables.h"

namespace sonde {
namespace {

// Maximum number of functions to explain; a pattern may match thousands.
constexpr size_t max_functions = 8;
// Maximum number of rows in one table.
constexpr size_t max_rows = 60;

class Explanation {
  public:
    Explanation(const ast::TargetExpr& expr, const ResolvedPoint& point, Binder& binder)
        : expr_(expr), point_(point), module_(*point.module), binder_(binder) {}

    // Returns false after reporting an error.
    bool run();
    std::vector<std::string> lines;

  private:
    using Row = LocationRange;

    Address address() const { return point_.is_return ? point_.entry_address : point_.address; }
    void say(std::string line) { lines.push_back(std::move(line)); }
    bool find_variable();
    bool check_members();
    void add_head();
    void add_table();
    void add_verdict();
    void add_nearest();
    void add_others();
    void add_advice();
    const Row* row_at(Address address) const;
    std::string function_name() const;
    std::string line_at(Address address);

    const ast::TargetExpr& expr_;
    const ResolvedPoint& point_;
    DwarfModule& module_;
    Binder& binder_;
    Variable variable_;
    std::vector<Row> rows_;
    Location here_;     // the place that a handler reads at the probe
    bool ever_ = false; // readable anywhere in the function
};

std::string Explanation::function_name() const {
    return fmt::format("{}{}", point_.function.name, point_.function.inlined ? " (an inlined copy)" : "");
}

// Returns ", line 12", or "" if the line is unknown.
std::string Explanation::line_at(Address address) {
    std::optional<Statement> statement = module_.statement_at(address);
    return statement && statement->line > 0 ? fmt::format(", line {}", statement->line) : "";
}

// Searches the variable in all blocks of the function, not only in those around the probe: a common mistake is to use a
// variable before its block begins.
bool Explanation::find_variable() {
    std::string name = expr_.name.substr(1);
    // Variables of other blocks in the function count as well.
    std::vector<Variable> all = module_.variables_in(point_.function, address(), true);
    FunctionPattern pattern;
    pattern.function = point_.function.name;
    pattern.line_kind = FunctionPattern::Wildcard;
    for (const Statement& statement : module_.statements(pattern))
        if (statement.function.die == point_.function.die)
            for (Variable& one : module_.variables_in(point_.function, statement.address))
                if (std::none_of(all.begin(), all.end(), [&](const Variable& other) { return other.die == one.die; }))
                    all.push_back(std::move(one));
    std::vector<std::string> names;
    for (const Variable& one : all) {
        if (one.name == name) {
            variable_ = one;
            return true;
        }
        if (!one.is_global)
            names.push_back(one.name);
    }
    std::string nearest = nearest_name(name, names);
    DiagBuilder report =
        binder_.diags.report(DiagId::UnknownVariable, expr_.range,
                             fmt::format("`{}` has no variable `{}`", point_.function.name, expr_.name));
    if (!nearest.empty()) {
        report.suggest("$" + nearest);
        return false;
    }
    std::string list;
    for (const std::string& one : names)
        list += (list.empty() ? "$" : " $") + one;
    report.help(list.empty() ? "it has no variables" : fmt::format("it has `{}`", list));
    return false;
}

// The rows do not overlap, but they can have gaps.
const Explanation::Row* Explanation::row_at(Address address) const {
    for (const Row& row : rows_)
        if (address >= row.low && address < row.high)
            return &row;
    return nullptr;
}

// Checks the members at an address where the variable exists.
bool Explanation::check_members() {
    if (expr_.components.empty() || (!ever_ && !rows_.empty()))
        return true;
    ResolvedPoint there = point_;
    there.is_return = there.at_call = false;
    for (const Row& row : rows_)
        if (is_there(row.place)) {
            there.address = row.low;
            break;
        }
    return bind_target(expr_, there, binder_).expr != nullptr;
}

// The name, the type and the function.
void Explanation::add_head() {
    std::string where = point_.function.file.empty()
                            ? ""
                            : fmt::format(", {}:{}", std::filesystem::path(point_.function.file).filename().string(),
                                          point_.function.line);
    say(fmt::format("`${}` is {} of type `{}` in `{}`{} of {}", variable_.name,
                    variable_.is_global      ? "a global variable"
                    : variable_.is_parameter ? "a parameter"
                                             : "a local variable",
                    type_name(variable_.type), function_name(), where, module_.path()));
}

// Optimized code has many rows that differ only in addresses.
void Explanation::add_table() {
    // Adjacent rows with equal text become one row.
    struct Line {
        Address low, high;
        std::string lines, text;
    };
    std::vector<Line> table;
    for (const Row& row : rows_) {
        std::string text = location_text(row.place, module_.file().architecture().registers());
        if (!table.empty() && table.back().text == text && table.back().high == row.low) {
            table.back().high = row.high;
            if (!row.lines.empty() && row.lines != table.back().lines)
                table.back().lines += (table.back().lines.empty() ? "" : ", ") + row.lines;
        } else {
            table.push_back({row.low, row.high, row.lines, std::move(text)});
        }
    }
    size_t wide = strlen("lines");
    for (const Line& line : table)
        wide = std::max(wide, line.lines.size());
    size_t address_wide = strlen("addresses");
    for (const Line& line : table)
        address_wide = std::max(address_wide, fmt::format("{:#x}-{:#x}", line.low, line.high - 1).size());
    say("");
    say(fmt::format("  {:{}}  {:{}}  location", "addresses", address_wide, "lines", wide));
    for (size_t i = 0; i < table.size() && i < max_rows; i++)
        say(fmt::format("  {:{}}  {:{}}  {}", fmt::format("{:#x}-{:#x}", table[i].low, table[i].high - 1), address_wide,
                        table[i].lines, wide, table[i].text));
    if (table.size() > max_rows)
        say(fmt::format("  ... and {} more", table.size() - max_rows));
    say("");
}

// The location at the probe's own address, as a handler gets it. The table may have no row for this address: the probe
// of an inlined copy is where the copy begins, which can be before the copy's own addresses. A return probe reads
// variables at the function's entry, so the verdict is about that address.
void Explanation::add_verdict() {
    std::string at = fmt::format("{} is at {:#x}{}", point_.point.pp, address(), line_at(address()));
    if (point_.is_return)
        at = fmt::format("{} saves the value at the function's entry, {:#x}{}", point_.point.pp, address(),
                         line_at(address()));
    say(fmt::format("{}: there it is {}{}", at, is_there(here_) ? "readable, " : "",
                    location_text(here_, module_.file().architecture().registers())));
}

// The nearest addresses before and after the probe at which the variable can be read.
void Explanation::add_nearest() {
    const Row* before = nullptr;
    const Row* after = nullptr;
    for (const Row& row : rows_) {
        if (!is_there(row.place))
            continue;
        if (row.high <= address())
            before = &row;
        else if (row.low > address() && !after)
            after = &row;
    }
    if (after)
        say(fmt::format("It is readable from {:#x}{} on, {} bytes after the probe", after->low, line_at(after->low),
                        after->low - address()));
    if (before)
        say(fmt::format("It was readable up to {:#x}{}, {} bytes before the probe", before->high - 1,
                        line_at(before->high - 1), address() - before->high + 1));
}

// Lists the other variables that a handler can read there.
void Explanation::add_others() {
    std::string list;
    for (const Variable& one : module_.variables_in(point_.function, address()))
        if (one.name != variable_.name && is_there(variable_location(point_, one, address())))
            list += (list.empty() ? "$" : " $") + one.name;
    if (!list.empty())
        say(fmt::format("Readable at the probe: {}", list));
}

void Explanation::add_advice() {
    std::string text = ast::to_source(expr_);
    say("");
    say("What you can do:");
    std::string program = quoted(module_.path());
    if (const std::optional<ReadableStatement> nearest = nearest_readable(module_, point_.function, address(), rows_))
        say(fmt::format("* probe {} that has the value: process({}).statement({})",
                        nearest->whole_line ? "a line" : "an address", program,
                        nearest->whole_line ? quoted(nearest->place) : nearest->place));
    if (const Row* entry = row_at(point_.function.entry); entry && is_there(entry->place) && variable_.is_parameter)
        say(fmt::format("* save the value at the entry: process({}).function({}) {{ saved[tid()] = {} }}", program,
                        quoted(point_.function.name), text));
    if (!ever_)
        say("* the program does not keep the value: probe a caller that passes the value on, or read the inputs of its "
            "computation");
    say(fmt::format("* test the variable in the handler: @defined({}) is 0 where the value is missing", text));
    say("* compile the file with less optimisation (-Og, or -O0 for all variables at all lines)");
}

bool Explanation::run() {
    if (!find_variable())
        return false;
    std::optional<Address> fixed = module_.global_address(variable_);
    if (!variable_.is_global && !fixed)
        rows_ = module_.location_ranges(variable_, point_.function);
    ever_ = std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return is_there(row.place); });
    here_ = variable_location(point_, variable_, address());
    if (!check_members())
        return false;
    add_head();
    if (variable_.is_global || fixed) {
        say(fixed ? fmt::format("It is in memory at {:#x} of the file, and readable wherever it is visible", *fixed)
                  : fmt::format("It is {}", location_text(module_.locate(variable_, address()),
                                                          module_.file().architecture().registers())));
        return true;
    }
    add_table();
    add_verdict();
    if (is_there(here_))
        return true;
    add_nearest();
    add_others();
    add_advice();
    return true;
}

} // namespace

std::vector<std::string> explain_variable(const ast::TargetExpr& expr, const std::vector<ResolvedPoint>& points,
                                          Arena& arena, ProbeEnvironment& env, Diagnostics& diags) {
    // Members are bound only to check that they exist, so any index will do.
    Binder binder{arena, diags, env, [&](const ast::Expr& index) { return arena.make<hir::ConstLong>(index.range, 0); },
                  [](hir::Expr* value) { return value; }};
    std::vector<std::string> out;
    auto refuse = [&](DiagId id, const std::string& message, const char* help) {
        binder.diags.report(id, expr.range, message).help(help);
        return std::vector<std::string>();
    };
    if (expr.base != ast::TargetExpr::Variable || expr.name.starts_with("$$") || expr.name.starts_with("$return"))
        return refuse(DiagId::WrongContext,
                      fmt::format("`--why` explains `$variables`, not `{}`", ast::to_source(expr)),
                      "write for example `sonde --why '$x->y' 'process(\"PATH\").function(\"NAME\")'`");
    std::vector<std::pair<DieOffset, Address>> seen;
    size_t left_out = 0;
    for (const ResolvedPoint& point : points) {
        if (!point.module || !point.function.has_debug_info || point.mark || point.plt)
            continue;
        std::pair<DieOffset, Address> key{point.function.die, point.is_return ? point.entry_address : point.address};
        if (std::find(seen.begin(), seen.end(), key) != seen.end())
            continue;
        seen.push_back(key);
        if (seen.size() > max_functions) {
            left_out++;
            continue;
        }
        Explanation explanation(expr, point, binder);
        if (!explanation.run())
            return {};
        if (!out.empty())
            out.push_back("");
        std::move(explanation.lines.begin(), explanation.lines.end(), std::back_inserter(out));
    }
    if (seen.empty() && !points.empty())
        return refuse(DiagId::NoDebugInfo,
                      fmt::format("`{}`: the probe point has no function with debug information", ast::to_source(expr)),
                      "`$variables` come from the debug information of functions in programs");
    if (left_out > 0)
        out.push_back(fmt::format("\n... and {} more places; name one function to see them", left_out));
    return out;
}

} // namespace sonde
