// Makes the table by which handlers follow a chain (runtime/plan/async_states.h), from the rows of a module's state
// machines (frontend/dwarf/async_states.h). The table and its texts are literals of the call.
#include "frontend/variables/async_chain.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "frontend/dwarf/async_states.h"
#include "frontend/variables/binding.h"
#include "frontend/variables/reading.h"
#include "frontend/variables/source_program.h"
#include "runtime/plan/async_states.h"

namespace sonde {
namespace {

AsyncStates& states_of(const ResolvedPoint& point) { return point.module->async_states(); }

using Words = std::vector<uint64_t>;

// The words of a row, except those that are numbers of rows: these are returned in `rows`, as an index in the words.
Words words_of(const AsyncRow& row, std::vector<size_t>& rows) {
    Words out;
    auto add = [&](uint64_t word) { out.push_back(word); };
    auto add_row = [&](uint32_t number) {
        rows.push_back(out.size());
        out.push_back(number);
    };
    auto add_step = [&](const AsyncStep& step) {
        add(step.line);
        add(static_cast<uint64_t>(step.offset));
        add_row(step.next);
    };
    switch (row.kind) {
    case AsyncRow::End:
        out = {SONDE_ASYNC_END, row.step.line};
        break;
    case AsyncRow::Record:
        add(SONDE_ASYNC_RECORD);
        add_step(row.step);
        break;
    case AsyncRow::Pointer:
        out = {SONDE_ASYNC_POINTER, row.step.line};
        add_row(row.step.next);
        break;
    case AsyncRow::Dyn:
        out = {SONDE_ASYNC_DYN, static_cast<uint64_t>(row.first), static_cast<uint64_t>(row.second)};
        break;
    case AsyncRow::Tagged:
        out = {SONDE_ASYNC_TAGGED, static_cast<uint64_t>(row.first), static_cast<uint64_t>(row.second),
               row.variants.size()};
        add_step(row.step);
        for (const AsyncVariant& variant : row.variants) {
            add(row.second >= 8 ? variant.tag : variant.tag & ((1ull << 8 * row.second) - 1));
            add_step(variant.step);
        }
        break;
    case AsyncRow::Frame:
        out = {SONDE_ASYNC_FRAME};
        break;
    case AsyncRow::Coroutine:
        out = {SONDE_ASYNC_COROUTINE,
               static_cast<uint64_t>(row.first),
               static_cast<uint64_t>(row.second),
               row.lines,
               row.first_line,
               row.other_line,
               row.finished_line,
               static_cast<uint64_t>(row.step.offset)};
        add_row(row.step.next);
        break;
    }
    return out;
}

std::string image_of(AsyncStates& states, bool inward) {
    sonde_async_states head{};
    head.inward = inward;
    head.ends = {
        .cycle = states.line("... a cycle: the chain leads back to itself"),
        .deep = states.line(fmt::format("... the chain goes on: sonde follows up to {} lines", int{SONDE_ASYNC_MOST})),
        .fault = states.line("... memory that cannot be read:"),
        .tag = states.line("... a state that the debug information does not have:"),
        .table = states.line("... a future whose type is not known, with the virtual table at"),
        .frame = states.line("... a coroutine that is not known, which is destroyed by the function at"),
    };
    Words words;
    std::vector<uint64_t> begins;
    std::vector<size_t> references;
    for (const AsyncRow& row : states.rows()) {
        std::vector<size_t> inside;
        begins.push_back(words.size());
        const Words more = words_of(row, inside);
        for (const size_t at : inside)
            references.push_back(words.size() + at);
        words.insert(words.end(), more.begin(), more.end());
    }
    for (const size_t at : references)
        words[at] = begins[words[at]];
    head.first_place = words.size();
    head.places = states.places().size();
    for (const auto& [address, row] : states.places()) {
        words.push_back(address);
        words.push_back(begins[row]);
    }
    words.resize(std::bit_ceil(words.size()));
    head.mask = words.size() - 1;
    std::string out(sizeof head + words.size() * sizeof words[0], '\0');
    std::memcpy(out.data(), &head, sizeof head);
    std::memcpy(out.data() + sizeof head, words.data(), words.size() * sizeof words[0]);
    return out;
}

hir::Expr* walk(Binding& b, uint32_t row, hir::Expr* object, bool inward) {
    AsyncStates& states = states_of(b.point);
    const std::string image = image_of(states, inward);
    // The beginning of the row in the words.
    size_t begin = 0;
    for (uint32_t i = 0; i < row; i++) {
        std::vector<size_t> none;
        begin += words_of(states.rows()[i], none).size();
    }
    if (states.lines().size() >= SONDE_ASYNC_LINES) {
        b.fail(DiagId::Unsupported, b.expr.range,
               fmt::format("`{}` has too many async functions", b.point.module->path()));
        return nullptr;
    }
    hir::Expr* moved = b.number(0);
    if (b.point.module->file().position_independent()) {
        const int counter = b.point.architecture().registers().instruction_pointer;
        moved =
            b.saved(b.plus(b.make<hir::Register>(b.expr.range, counter), -static_cast<int64_t>(b.counter_address())),
                    b.point.is_return && !b.binder.inside_entry);
    }
    return b.make<hir::Intrinsic>(
        b.expr.range, "__async_walk", hir::ValueType::String,
        std::vector<hir::Expr*>{b.string(image), b.number(static_cast<int64_t>(begin)), object, moved});
}

constexpr const char* what_objects = "an object is a future of Rust (`&$future`), or of C++ a std::coroutine_handle, "
                                     "an object that has one, or the address "
                                     "of a coroutine's frame";

// Whether the point can have an object; false after a report.
bool can_follow(Binding& b) {
    if (!b.point.module) {
        b.fail(DiagId::WrongContext, b.expr.range, "an async backtrace of an object needs a probe point in a program",
               "use for example `process(\"PATH\").function(\"NAME\")`");
        return false;
    }
    if (!b.point.module->has_debug_info() || !b.point.function.has_debug_info) {
        b.fail(DiagId::NoDebugInfo, b.expr.range,
               fmt::format("an async backtrace needs debug information, which `{}` in `{}` does not have",
                           b.point.function.name, b.point.module->path()),
               "compile with -g");
        return false;
    }
    if (b.point.module->file().is_32_bit()) {
        b.fail(DiagId::Unsupported, b.expr.range, "async backtraces are for 64-bit programs");
        return false;
    }
    return true;
}

hir::Expr* future_walk(Binding& b, hir::Expr* object, const Type* target) {
    const std::optional<uint32_t> row = target ? states_of(b.point).future(target) : std::nullopt;
    if (row)
        return walk(b, *row, object, true);
    if (!target)
        return b.fail(DiagId::TypeMismatch, b.expr.range, "the type of the future is not known",
                      "pass the address of a variable, as in `&$future`, or `@cast(ADDRESS, \"TYPE\")`");
    return b.fail(DiagId::TypeMismatch, b.expr.range,
                  fmt::format("`{}` is not a future that the compiler has made, and holds none", type_name(target)),
                  what_objects);
}

hir::Expr* coroutine_walk(Binding& b, hir::Expr* object, const Type* target) {
    AsyncStates& states = states_of(b.point);
    if (!states.has_coroutines())
        return b.fail(
            DiagId::Unsupported, b.expr.range,
            fmt::format("`{}` has no coroutines that the debug information describes", b.point.module->path()));
    if (!target || target->kind == Type::Void || AsyncStates::is_frame(target))
        return walk(b, states.frame(), object, false);
    size_t count = 0;
    if (const std::optional<uint32_t> row = states.handle(target, count))
        return walk(b, *row, object, false);
    return b.fail(DiagId::TypeMismatch, b.expr.range,
                  count == 0 ? fmt::format("`{}` has no std::coroutine_handle", type_name(target))
                             : fmt::format("`{}` has {} std::coroutine_handle", type_name(target), count),
                  count == 0 ? what_objects : "pass the address of one of them, as in `&$object->handle`");
}

} // namespace

hir::Expr* bind_async_walk(hir::Expr* object, const ResolvedPoint& point, Range range, Binder& binder) {
    ast::TargetExpr none(range);
    Binding b(none, point, binder);
    if (!can_follow(b))
        return nullptr;
    const Type* type = binder.c_type_of ? strip(binder.c_type_of(*object)) : nullptr;
    const bool is_pointer = type && (type->kind == Type::Pointer || type->kind == Type::Reference);
    const Type* target = is_pointer ? strip(type->target) : nullptr;
    switch (states_of(point).language_of(point.function)) {
    case AsyncStates::Language::Rust:
        return future_walk(b, object, target);
    case AsyncStates::Language::Cxx:
        return coroutine_walk(b, object, target);
    case AsyncStates::Language::Other:
        break;
    }
    return b.fail(DiagId::Unsupported, range, fmt::format("`{}` is not a function of Rust or C++", point.function.name),
                  what_objects);
}

namespace {

// The name of the coroutine without the name of its part.
std::string name_of_coroutine(const ResolvedPoint& point) {
    const std::string& name = point.function.name;
    return name.substr(0, name.size() - point.function.part.size());
}

} // namespace

bool has_async_stack(const ResolvedPoint& point) {
    return !point.module || !point.module->has_debug_info() || !point.function.has_debug_info ||
           states_of(point).language_of(point.function) != AsyncStates::Language::Cxx;
}

hir::Expr* bind_own_async_walk(const ResolvedPoint& point, Range range, Binder& binder) {
    ast::TargetExpr frame(range);
    Binding b(frame, point, binder);
    if (has_async_stack(point) || !can_follow(b))
        return nullptr;
    AsyncStates& states = states_of(point);
    const std::optional<Statement> statement = point.module->statement_at(b.evaluation_address());
    const std::string where = statement ? fmt::format("{}:{}", statement->file, statement->line)
                                        : fmt::format("{}:{}", point.function.file, point.function.line);
    const std::vector<Variable> variables = point.module->variables_in(point.function, b.evaluation_address());
    // The frame, or a pointer to it. Where the compiler describes none, the promise.
    for (const Variable& variable : variables) {
        const Type* type = strip(variable.type);
        const bool is_pointer = type && type->kind == Type::Pointer;
        const Type* object = is_pointer ? strip(type->target) : type;
        const bool is_promise =
            variable.name == "__promise" &&
            std::ranges::none_of(variables, [](const Variable& one) { return AsyncStates::is_frame(strip(one.type)); });
        if (!is_promise && !AsyncStates::is_frame(object))
            continue;
        frame.name = "$" + variable.name;
        hir::Expr* address = nullptr;
        {
            Diagnostics::Suppress quiet(binder.diags); // the variable is not the script's
            if (const std::optional<Place> place = place_of_variable(b, variable))
                address = is_pointer && !is_promise ? load(b, *place, range) : address_of(b, *place);
        }
        if (!address)
            return b.fail(
                DiagId::VariableUnavailable, range,
                fmt::format("the frame of `{}` is not known here, because the code is optimized", point.function.name),
                "probe another line, or pass a coroutine's handle");
        if (is_promise)
            return walk(b, states.running_promise(object, name_of_coroutine(point), where), address, false);
        return walk(b, states.running_coroutine(object, where), address, false);
    }
    return b.fail(
        DiagId::WrongContext, range, fmt::format("`{}` is not a coroutine with a known frame", point.function.name),
        "probe a line or the part `.resume` (LLVM) or `.actor` (gcc) of a coroutine, or pass a coroutine's handle");
}

hir::Expr* bind_async_lines(const ResolvedPoint& point, Range range, Binder& binder) {
    std::string out;
    if (point.module && point.module->has_debug_info())
        for (const std::string& line : states_of(point).lines())
            out += line + "\n";
    return binder.arena.make<hir::ConstString>(range, out.empty() ? "\n" : out);
}

} // namespace sonde
