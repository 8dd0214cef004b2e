// `$name` in a function of Python: a parameter or another variable.
//
// The problem: a variable of Python has a type only at run time, and each call can have another one. An expression of a
// script has one type.
//
// The idea: the expression gets the type that its context needs. In `$n + 1` it is a number, in `printf("%s", $n)` a
// text. If both are possible, as in `println($n)`, it is the text, which every value has. A number of something else
// than an int is an error of the handler. So is a name that the function does not have, because a probe point can stand
// for many functions.
//
//     $name, $name->attribute, $name[2]    number or text
//     $name$, $name$$                      text, also of the parts of parts
//     $name->__len__, $name->__class__     number of elements, name of the class
//     $$parms, $$locals, $$vars            `a=1 b='x'`
//     $$file, $$line, $$depth              where the function begins, and how many functions wait for it
//     $return                              in a .return probe: the result
//     $exception                           in an .exception probe: the exception
//
// The reading is done by a routine, which gets the steps to the value as text (runtime/plan/python.h).
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/variables/python_frame.h"
#include "frontend/variables/sources.h"
#include "frontend/variables/summary.h"
#include "languages/python/layouts.h"
#include "runtime/plan/python.h"

namespace sonde {
namespace {

constexpr size_t most_steps = 7, longest_name = 63;

// Returns an empty text after a report.
std::string step_text(Binding& b, const ast::Component& component) {
    if (component.kind == ast::Component::Member && component.name == "__len__")
        return std::string(1, SONDE_PYTHON_LENGTH_OF);
    if (component.kind == ast::Component::Member && component.name == "__class__")
        return std::string(1, SONDE_PYTHON_CLASS_OF);
    if (component.kind == ast::Component::Member)
        return static_cast<char>(SONDE_PYTHON_ATTRIBUTE) + component.name;
    const hir::Expr* index = b.binder.lower(*component.index);
    if (index && index->kind == hir::ExprKind::ConstLong && hir::as<hir::ConstLong>(*index).value >= 0)
        return fmt::format("{}{}", static_cast<char>(SONDE_PYTHON_ITEM), hir::as<hir::ConstLong>(*index).value);
    if (index)
        b.fail(DiagId::TypeMismatch, component.range, "the index of a value of Python must be a number from 0 on");
    return "";
}

// The steps that follow the variable's name. nullopt after a report.
std::optional<std::string> steps_after(Binding& b) {
    std::string out;
    size_t count = 1;
    for (const ast::Component& component : b.expr.components) {
        if (component.kind == ast::Component::PrettyOne || component.kind == ast::Component::PrettyDeep)
            continue;
        if (!out.empty() && (out.back() == SONDE_PYTHON_LENGTH_OF || out.back() == SONDE_PYTHON_CLASS_OF)) {
            b.fail(DiagId::TypeMismatch, component.range, "nothing can follow `__len__` and `__class__`");
            return std::nullopt;
        }
        const std::string step = step_text(b, component);
        if (step.empty())
            return std::nullopt;
        if (++count > most_steps || component.name.size() > longest_name) {
            b.fail(DiagId::Unsupported, component.range,
                   fmt::format("a value of Python can have at most {} names with {} characters each", most_steps,
                               longest_name));
            return std::nullopt;
        }
        out += step;
    }
    return out;
}

// `base`: the frame or object where the steps begin.
hir::Expr* read_python(Binding& b, hir::Expr* base, const std::string& steps, hir::ValueType type) {
    const bool is_number = type == hir::ValueType::Long;
    return b.make<hir::Intrinsic>(b.expr.range, is_number ? "__python_value_number" : "__python_value_text", type,
                                  std::vector<hir::Expr*>{base, b.number(b.point.python->layout), b.string(steps),
                                                          b.number(b.pretty_depth() == 2)});
}

hir::Expr* frame_of(Binding& b) {
    const sonde_python& layout = b.binder.env.python_layouts[b.point.python->layout];
    hir::Expr* frame = python_frame(b.binder.arena, b.expr.range, b.point, layout);
    // Up to 3.10, the probe at the return of the interpreter's loop gets the frame that the loop was called with.
    return b.saved(frame, b.point.is_return && !b.binder.inside_entry);
}

// The address of the exception, in the structure of the thread that executes the frame.
hir::Expr* exception_of(Binding& b, hir::Expr* frame) {
    const PythonPoint& python = *b.point.python;
    const sonde_python& layout = b.binder.env.python_layouts[python.layout];
    hir::Expr* here = b.make<hir::Register>(b.expr.range, b.point.architecture().registers().instruction_pointer);
    const uint64_t offset_here = b.point.module->file().file_offset(b.point.address).value_or(0);
    hir::Expr* runtime = b.make<hir::Binary>(b.expr.range, hir::BinaryOp::Add, here,
                                             b.number(static_cast<int64_t>(layout.runtime - offset_here)));
    hir::Expr* thread = b.binder.call(
        "__python_thread", {runtime, frame, b.number(layout.runtime_interpreters), b.number(layout.interpreter_next),
                            b.number(layout.interpreter_threads), b.number(layout.thread_next),
                            b.number(layout.thread_cframe), b.number(layout.thread_frame)});
    const unsigned offset = python_exception_layout(layout.version).thread_exception;
    return b.make<hir::Binary>(b.expr.range, hir::BinaryOp::Add, thread, b.number(offset));
}

// `$$file`, `$$line` and `$$depth`, which are the same in each call or come from other frames.
hir::Expr* fact(Binding& b, const std::string& name) {
    const sonde_python& layout = b.binder.env.python_layouts[b.point.python->layout];
    const auto member = [&](const char* function, std::initializer_list<unsigned> offsets) {
        std::vector<hir::Expr*> arguments = {frame_of(b)};
        for (const unsigned offset : offsets)
            arguments.push_back(b.number(offset));
        return b.binder.call(function, std::move(arguments));
    };
    if (name == "$$file")
        return member("__python_file", {layout.frame_code, layout.code_file, layout.text_data, layout.text_wide});
    if (name == "$$line")
        return member("__python_line", {layout.frame_code, layout.code_first_line});
    return member("__python_depth", {layout.frame_back, layout.frame_owner});
}

// `$$parms` and others.
hir::Expr* python_summary(Binding& b) {
    static const std::vector<std::string> names = {"$$parms", "$$locals", "$$vars", "$$file", "$$line", "$$depth"};
    static const sonde_python_step steps[] = {SONDE_PYTHON_PARAMETERS, SONDE_PYTHON_LOCALS, SONDE_PYTHON_VARIABLES};
    const auto found = std::ranges::find(names, b.expr.name);
    if (found == names.end())
        return refuse_summary(b, names);
    if (!ends_with_name(b))
        return nullptr;
    const auto which = static_cast<size_t>(found - names.begin());
    if (which >= std::size(steps))
        return fact(b, b.expr.name);
    return read_python(b, frame_of(b), std::string(1, static_cast<char>(steps[which])), hir::ValueType::String);
}

hir::Expr* python_value(Binding& b) {
    if (b.expr.name.starts_with("$$"))
        return python_summary(b);
    const std::optional<std::string> steps = steps_after(b);
    if (!steps)
        return nullptr;
    const std::string name = b.expr.name.substr(1);
    if (name.size() > longest_name)
        return b.fail(DiagId::Unsupported, b.base_range(),
                      fmt::format("the name of a variable of Python can have at most {} characters", longest_name));
    const bool is_text = b.pretty_depth() > 0 || steps->ends_with(SONDE_PYTHON_CLASS_OF);
    const bool is_number = b.pretty_depth() == 0 && steps->ends_with(SONDE_PYTHON_LENGTH_OF);
    const hir::ValueType type = is_text     ? hir::ValueType::String
                                : is_number ? hir::ValueType::Long
                                            : hir::ValueType::Unknown;
    if (name == "exception" && b.point.python->event == PythonPoint::Exception && !b.binder.inside_entry)
        return read_python(b, exception_of(b, frame_of(b)), static_cast<char>(SONDE_PYTHON_EXCEPTION) + *steps, type);
    if (name != "return")
        return read_python(b, frame_of(b), static_cast<char>(SONDE_PYTHON_VARIABLE) + name + *steps, type);
    // The result is in a register, or is a constant of the function.
    const PythonPoint& python = *b.point.python;
    if (python.event != PythonPoint::Return || b.binder.inside_entry)
        return b.fail(DiagId::WrongContext, b.base_range(), "`$return` can be used only in .return probes");
    const int result = b.point.is_return ? b.point.architecture().registers().result() : python.place.result;
    if (result < 0)
        return read_python(b, frame_of(b), static_cast<char>(SONDE_PYTHON_CONSTANT) + *steps, type);
    return read_python(b, b.make<hir::Register>(b.expr.range, result), *steps, type);
}

// Only for `&$name` and for assignments.
std::optional<Place> python_place(Binding& b) {
    b.fail(DiagId::Unsupported, b.base_range(),
           fmt::format("`{}` is a value of Python: it has no address, and scripts cannot change it", b.expr.name));
    return std::nullopt;
}

} // namespace

const VariableSource python_source = {.find = python_place, .summary = python_summary, .text = python_value};

} // namespace sonde
