// The values of Python's variables (codegen/rtlib/python_value.bpf.c).
//
// Whether a value can be read is known only when the handler runs. So each use is one call of the routine, and each
// reason for a failure is a separate error. For example, `$n + 1` raises an error if `n` is a str.
//
// The type of the expression, which its context has determined, decides between the number and the text.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "codegen/lower/errors.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/primitives.h"
#include "codegen/rtlib/python_value.h"

namespace sonde {
namespace {

// The steps as the routine gets them, and the expression for messages: `$self->size`.
struct Steps {
    std::string written;
    std::array<uint64_t, PYTHON_VALUE_STEPS> kinds{};
    std::array<std::array<char, PYTHON_VALUE_NAME>, PYTHON_VALUE_STEPS> names{};

    // Whether the first step is one from an object, which is a function's result.
    bool begins_with_object() const {
        return kinds[0] == SONDE_PYTHON_END || kinds[0] == SONDE_PYTHON_ATTRIBUTE || kinds[0] == SONDE_PYTHON_ITEM ||
               kinds[0] == SONDE_PYTHON_LENGTH_OF || kinds[0] == SONDE_PYTHON_CLASS_OF;
    }
    bool has(sonde_python_step kind) const { return std::ranges::find(kinds, kind) != kinds.end(); }
    std::string bytes() const {
        std::string out(sizeof kinds + sizeof names, '\0');
        std::memcpy(out.data(), kinds.data(), sizeof kinds);
        std::memcpy(out.data() + sizeof kinds, names.data(), sizeof names);
        return out;
    }
};

std::string_view written_as(char kind) {
    switch (kind) {
    case SONDE_PYTHON_ATTRIBUTE:
        return "->";
    case SONDE_PYTHON_ITEM:
        return "[";
    case SONDE_PYTHON_LENGTH_OF:
        return "->__len__";
    case SONDE_PYTHON_CLASS_OF:
        return "->__class__";
    case SONDE_PYTHON_PARAMETERS:
        return "$$parms";
    case SONDE_PYTHON_LOCALS:
        return "$$locals";
    case SONDE_PYTHON_VARIABLES:
        return "$$vars";
    case SONDE_PYTHON_CONSTANT:
        return "$return";
    case SONDE_PYTHON_EXCEPTION:
        return "$exception";
    default:
        return "$";
    }
}

// Returns nullopt if there are too many steps, or a name is too long.
std::optional<Steps> parse_steps(std::string_view text) {
    constexpr std::string_view kinds = "$.[#@plvce";
    Steps out;
    for (size_t count = 0; !text.empty(); count++) {
        const char kind = text[0];
        const bool is_named =
            kind == SONDE_PYTHON_VARIABLE || kind == SONDE_PYTHON_ATTRIBUTE || kind == SONDE_PYTHON_ITEM;
        if (count + 1 == out.kinds.size() || kinds.find(kind) == std::string_view::npos)
            return std::nullopt; // the last one is the end
        text.remove_prefix(1);
        const std::string_view name = text.substr(0, is_named ? std::min(text.find_first_of("$.[#@"), text.size()) : 0);
        text.remove_prefix(name.size());
        if (name.size() + 1 > out.names[count].size())
            return std::nullopt;
        out.kinds[count] = static_cast<unsigned char>(kind);
        out.written += fmt::format("{}{}{}", written_as(kind), name, kind == SONDE_PYTHON_ITEM ? "]" : "");
        if (kind == SONDE_PYTHON_ITEM) {
            const uint64_t index = strtoull(std::string(name).c_str(), nullptr, 10);
            std::memcpy(out.names[count].data(), &index, sizeof index);
        } else {
            std::ranges::copy(name, out.names[count].begin());
        }
    }
    out.written = fmt::format("`{}{}`", out.begins_with_object() ? "$return" : "", out.written);
    return out;
}

struct Failure {
    python_value_status status;
    std::string message;
};

// The ways in which the value can be missing. That of memory, which is always possible, is not among them.
std::vector<Failure> failures(const Steps& steps, bool is_number) {
    const std::string& what = steps.written;
    std::vector<Failure> out = {
        {PYTHON_VALUE_NO_LAYOUT, fmt::format("unknown interpreter of Python, cannot read {}", what)},
        {PYTHON_VALUE_NO_OBJECT, fmt::format("cannot read {}: no Python object at %#x", what)},
        {PYTHON_VALUE_TOO_LONG, fmt::format("too many parts, cannot read {}", what)},
    };
    const auto add = [&](python_value_status status, const char* reason) {
        out.push_back({status, fmt::format("{}: {}", reason, what)});
    };
    if (steps.has(SONDE_PYTHON_EXCEPTION)) {
        add(PYTHON_VALUE_NO_EXCEPTION, "the thread raises no exception");
        if (steps.has(SONDE_PYTHON_ATTRIBUTE))
            add(PYTHON_VALUE_NO_INSTANCE, "not an object yet, only `args` are known");
    } else if (!steps.begins_with_object()) {
        add(PYTHON_VALUE_NO_FRAME, "no frame of Python here");
    }
    if (steps.has(SONDE_PYTHON_VARIABLE))
        add(PYTHON_VALUE_NO_VARIABLE, "the function has no such variable");
    if (steps.has(SONDE_PYTHON_VARIABLE) || steps.has(SONDE_PYTHON_ATTRIBUTE))
        add(PYTHON_VALUE_UNSET, "no value yet");
    if (steps.has(SONDE_PYTHON_ATTRIBUTE)) {
        add(PYTHON_VALUE_NO_ATTRIBUTE, "no such attribute");
        add(PYTHON_VALUE_COMPUTED, "a property or method");
    }
    if (steps.has(SONDE_PYTHON_ITEM)) {
        add(PYTHON_VALUE_NO_ITEM, "index out of range");
        add(PYTHON_VALUE_NO_ITEMS, "neither a list nor a tuple");
    }
    if (steps.has(SONDE_PYTHON_LENGTH_OF))
        add(PYTHON_VALUE_NO_LENGTH, "no length that sonde can read");
    if (!is_number)
        return out;
    add(PYTHON_VALUE_IS_TEXT, "a str, not an int");
    add(PYTHON_VALUE_IS_FLOAT, "a float, not an int");
    add(PYTHON_VALUE_IS_NONE, "None, not an int");
    add(PYTHON_VALUE_NO_NUMBER, "not an int");
    add(PYTHON_VALUE_TOO_LARGE, "an int of more than 64 bits");
    return out;
}

} // namespace

llvm::Value* emit_python(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    const bool is_text = expr.type == hir::ValueType::String;
    llvm::Value* text = is_text ? l.new_slot() : nullptr;
    const Mark mark(l);
    llvm::Value* slot = is_text ? text : l.new_slot();
    llvm::Value* work = l.new_bytes(sizeof(sonde_python_work));
    const hir::Expr &wanted = *expr.args[2], &deep = *expr.args[3];
    std::optional<Steps> steps;
    if (wanted.kind == hir::ExprKind::ConstString && deep.kind == hir::ExprKind::ConstLong)
        steps = parse_steps(hir::as<hir::ConstString>(wanted).value);
    if (!steps) {
        l.fail(expr.range, fmt::format("`{}` needs literal steps, at most {} with names of at most {} characters",
                                       expr.name, PYTHON_VALUE_STEPS - 1, PYTHON_VALUE_NAME - 1));
        return is_text ? text : e.number(0);
    }
    if (!e.in_kernel())
        raise_if(l, e.getTrue(), "a host handler cannot read values of Python", expr.range);
    const std::array<const hir::Expr*, 1> second = {expr.args[1]};
    const Held held = l.hold(lower(l, *expr.args[0]), second);
    llvm::Value* layout = lower(l, *expr.args[1]);
    auto set = [&](size_t field, llvm::Value* value) { e.CreateStore(value, e.offset(work, field)); };
    set(offsetof(sonde_python_work, layout), layout);
    set(offsetof(sonde_python_work, to_number), e.number(!is_text));
    set(offsetof(sonde_python_work, deep), e.number(hir::as<hir::ConstLong>(deep).value));
    llvm::Value* status = l.target.memory().python_value(l.env, slot, work, e.literal(steps->bytes()), l.take(held));
    llvm::BasicBlock *failed = e.block("nopython"), *end = e.block("python");
    e.CreateCondBr(e.CreateICmpEQ(status, e.number(PYTHON_VALUE_OK)), end, failed);
    e.SetInsertPoint(failed);
    llvm::Value* object = e.CreateLoad(e.i64(), e.offset(work, offsetof(sonde_python_work, object)));
    for (const Failure& one : failures(*steps, !is_text))
        raise_if(l, e.CreateICmpEQ(status, e.number(one.status)), one.message, expr.range,
                 one.message.find("%#x") == std::string::npos ? nullptr : object);
    raise(l, plan::ErrorId::ReadFault, expr.range, object);
    e.SetInsertPoint(end);
    return is_text ? text : e.CreateLoad(e.i64(), e.offset(work, offsetof(sonde_python_work, number)));
}

} // namespace sonde
