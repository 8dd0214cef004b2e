#include "frontend/sema/python_points.h"

#include <string>

#include <fmt/format.h>

#include "base/hash.h"
#include "frontend/hir/jump_condition.h"
#include "frontend/variables/python_frame.h"
#include "languages/python/source.h"

namespace sonde {
namespace {

using hir::BinaryOp;

// A regular expression for a pattern with `*`, `?` and `[...]`.
std::string regex_of(std::string_view pattern) {
    std::string out;
    for (const char c : pattern)
        if (c == '*')
            out += ".*";
        else if (c == '?')
            out += ".";
        else if (c == '[' || c == ']' || c == '-' || isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '/')
            out += c;
        else if (c == '!' && out.ends_with('['))
            out += '^';
        else if (static_cast<unsigned char>(c) >= 0x80)
            out += c;
        else
            out += fmt::format("\\{}", c);
    return out;
}

// A regular expression for the paths that the pattern of `.python("...")` means; empty: all.
std::string file_regex(const std::string& pattern) {
    const PythonFilePattern meant = python_file_pattern(pattern);
    std::string out;
    for (const std::string& path : meant.paths)
        out += (out.empty() ? "" : "|") + regex_of(path);
    return meant.is_any ? "" : fmt::format("{}({})$", meant.is_ending ? "(^|/)" : "^", out);
}

class Builder {
  public:
    Builder(Body& body, Binder& binder, Range range)
        : b_(body), binder_(binder), python_(*body.point->python), range_(range) {}

    hir::Expr* condition() {
        const sonde_python& layout = b_.context.env.python_layouts[python_.layout];
        hir::Expr* frame = python_frame(b_.context.arena, range_, *b_.point, layout);
        hir::Expr* begins = nullptr;
        if (python_.event == PythonPoint::Exception)
            begins = is_executing(layout, frame);
        else if (layout.version < 11)
            begins = is_return() ? has_returned(layout, frame) : is_first(layout, frame);
        else
            begins =
                call(is_return() ? "__python_executes" : "__python_begins",
                     {frame, number(layout.frame_instr), number(python_.place.opcode), number(python_.place.also)});
        if (hir::Expr* settled = is_settled(layout, frame))
            begins = both(begins, settled);
        hir::Expr* code_now = code_at(layout, frame);
        hir::Local* code = b_.declare_hidden("code", range_);
        hir::Local* known = b_.declare_hidden("known", range_);
        const auto code_of = [&] { return b_.make<hir::LocalRef>(range_, code); };
        const auto known_of = [&] { return b_.make<hir::LocalRef>(range_, known); };
        const unsigned name_at = layout.code_qualname ? layout.code_qualname : layout.code_name;
        // The assignment is part of the condition, and a code object's address is not 0.
        hir::Expr* has_code = assign(code, code_now);
        hir::Expr* is_not = compare(
            BinaryOp::Ne,
            assign(known, call("__python_known", {code_of(), number(name_at), number(layout.code_file), which()})), no);
        hir::Expr* is_meant = either(compare(BinaryOp::Eq, known_of(), yes),
                                     call("__python_note", {code_of(), number(name_at), number(layout.code_file),
                                                            which(), matches(layout, code_of)}));
        return both(both(both(begins, has_code), is_not), is_meant);
    }

    // The element of the call that is being executed.
    hir::Element* value_of(hir::Global* values) { return b_.make<hir::Element>(range_, values, keys()); }
    hir::Expr* has_value(hir::Global* values) { return b_.make<hir::Contains>(range_, values, keys()); }

    hir::Expr* name() {
        const sonde_python& layout = b_.context.env.python_layouts[python_.layout];
        return text(layout, code_at(layout, python_frame(b_.context.arena, range_, *b_.point, layout)),
                    layout.code_qualname ? layout.code_qualname : layout.code_name);
    }

  private:
    bool is_return() const { return python_.event == PythonPoint::Return; }

    // From 3.14 on, the lowest bits of the address can be marks (_PyStackRef).
    hir::Expr* code_of_frame(const sonde_python& layout, hir::Expr* frame) {
        hir::Expr* code = load(plus(frame, layout.frame_code));
        return layout.version < 14 ? code : b_.make<hir::Binary>(range_, BinaryOp::And, code, number(~7ll));
    }
    // Up to 3.10, the frame of a return is known only at the entry.
    hir::Expr* code_at(const sonde_python& layout, hir::Expr* frame) {
        hir::Expr* code = code_of_frame(layout, frame);
        return layout.version < 11 && is_return() ? binder_.at_entry(code) : code;
    }
    // A member of a code object that is a text.
    hir::Expr* text(const sonde_python& layout, hir::Expr* code, unsigned member) {
        return call("__python_text", {load(plus(code, member)), number(layout.text_data), number(layout.text_wide),
                                      number(static_cast<int64_t>(b_.context.options.max_string()) - 1)});
    }

    std::vector<hir::Expr*> keys() {
        const sonde_python& layout = b_.context.env.python_layouts[python_.layout];
        hir::Expr* frame = python_frame(b_.context.arena, range_, *b_.point, layout);
        if (layout.version < 11 && is_return())
            frame = binder_.at_entry(frame);
        return {call("pid", {}), frame};
    }

    static constexpr int64_t no = 1, yes = 2; // results of __python_known()

    // The instruction is not executed again for tools that trace the program. Null: it never is.
    hir::Expr* is_settled(const sonde_python& layout, hir::Expr* frame) {
        const PythonPlace& place = python_.place;
        if (place.settled)
            return hir::is_jump_taken(b_.context.arena, range_, b_.point->architecture().registers(), *place.settled);
        if (place.thread < 0)
            return nullptr;
        hir::Expr* thread = b_.make<hir::Register>(range_, place.thread);
        return call("__python_settled", {thread, number(layout.thread_tracing), number(layout.thread_tools),
                                         plus(code_of_frame(layout, frame), layout.code_tools)});
    }

    // Up to 3.10, the loop is entered for each call and each time that a generator goes on. `f_lasti` is -1 at first,
    // and the last argument is not 0 if an exception is thrown into a generator.
    hir::Expr* is_first(const sonde_python& layout, hir::Expr* frame) {
        const std::span<const int> arguments = b_.point->architecture().registers().arguments;
        hir::Expr* thrown = b_.make<hir::Register>(range_, arguments[layout.version == 8 ? 1 : 2]);
        hir::Expr* last = load(plus(frame, layout.frame_instr), 4);
        return both(compare(BinaryOp::Lt, last, 0),
                    compare(BinaryOp::Eq, b_.make<hir::Binary>(range_, BinaryOp::And, thrown, number(0xffffffff)), 0));
    }
    // C code, such as that of Cython, makes frames only for tracebacks. The interpreter does not execute these.
    hir::Expr* is_executing(const sonde_python& layout, hir::Expr* frame) {
        const PythonExceptionLayout exceptions = python_exception_layout(layout.version);
        const auto state = [&] { return load(plus(frame, exceptions.frame_executing), 1); };
        return both(compare(BinaryOp::Ge, state(), exceptions.first_executing),
                    compare(BinaryOp::Le, state(), exceptions.last_executing));
    }
    // The result is not null, and the function has not yielded.
    hir::Expr* has_returned(const sonde_python& layout, hir::Expr* frame) {
        hir::Expr* result = b_.make<hir::Register>(range_, b_.point->architecture().registers().result());
        hir::Expr* state = plus(binder_.at_entry(frame), layout.frame_state);
        return both(compare(BinaryOp::Ne, result, 0), layout.version == 10 ? compare(BinaryOp::Ne, load(state, 1), -1)
                                                                           : compare(BinaryOp::Eq, load(state), 0));
    }

    template <typename CodeOf> hir::Expr* matches(const sonde_python& layout, const CodeOf& code_of) {
        hir::Expr* out = nullptr;
        const auto add = [&](hir::Expr* one) { out = out ? both(out, one) : one; };
        if (const std::string file = file_regex(python_.file); !file.empty())
            add(match(text(layout, code_of(), layout.code_file), file));
        if (python_.function != "*" && python_.function != "**") {
            const std::string pattern = "^" + regex_of(python_.function) + "$";
            hir::Expr* named =
                match(text(layout, code_of(), layout.code_qualname ? layout.code_qualname : layout.code_name), pattern);
            // A name without a class means methods and inner functions, too.
            if (layout.code_qualname && python_.function.find('.') == std::string::npos)
                named = either(named, match(text(layout, code_of(), layout.code_name), pattern));
            add(named);
        }
        if (!python_.script.empty())
            add(match(call("cmdline_str", {}), "(^|[/ ])" + regex_of(python_.script) + "( |$)"));
        return out ? out : number(1);
    }

    hir::Expr* match(hir::Expr* subject, const std::string& text) {
        regex::Problem problem;
        std::optional<regex::Pattern> pattern = regex::parse(text, problem);
        if (!pattern) {
            b_.context.report_once(DiagId::BadRegex, range_,
                                   fmt::format("the patterns of a Python function are wrong: {}", problem.message));
            return number(0);
        }
        auto* out = b_.make<hir::Regex>(range_, subject, text, std::move(*pattern), false);
        b_.tables.regexes.emplace_back(out, range_);
        return out;
    }

    hir::Expr* number(int64_t value) { return b_.make<hir::ConstLong>(range_, value); }
    // Identifies the patterns.
    hir::Expr* which() {
        Hash hash;
        for (const std::string* text : {&python_.file, &python_.function, &python_.script})
            hash.add(std::span(reinterpret_cast<const uint8_t*>(text->data()), text->size()));
        return number(static_cast<int64_t>(hash.value()));
    }
    hir::Expr* plus(hir::Expr* value, unsigned offset) {
        return offset == 0 ? value : b_.make<hir::Binary>(range_, BinaryOp::Add, value, number(offset));
    }
    hir::Expr* load(hir::Expr* address, uint32_t size = 8) {
        auto* out = b_.make<hir::Load>(range_, address, size, size < 8);
        out->user = true;
        return out;
    }
    hir::Expr* compare(BinaryOp op, hir::Expr* left, int64_t right) {
        return b_.make<hir::Binary>(range_, op, left, number(right));
    }
    hir::Expr* both(hir::Expr* left, hir::Expr* right) { return b_.make<hir::Logical>(range_, true, left, right); }
    hir::Expr* either(hir::Expr* left, hir::Expr* right) { return b_.make<hir::Logical>(range_, false, left, right); }
    hir::Expr* assign(hir::Local* local, hir::Expr* value) {
        return b_.make<hir::Assign>(range_, b_.make<hir::LocalRef>(range_, local), value);
    }
    hir::Expr* call(const char* name, std::vector<hir::Expr*> arguments) {
        hir::Expr* made = binder_.call(name, std::move(arguments));
        return made ? made : number(0);
    }

    Body& b_;
    Binder& binder_;
    const PythonPoint& python_;
    Range range_;
};

} // namespace

hir::Expr* build_python_condition(Body& b, Binder& binder, Range range) {
    return b.point->python ? Builder(b, binder, range).condition() : nullptr;
}

hir::Expr* build_python_entry(Body& b, Binder& binder, const ast::EntryExpr& expr) {
    PythonEntries& entries = b.tables.python_entries;
    PythonEntries::Entry& entry = entries.all[&expr];
    if (!entry.values) {
        constexpr uint64_t most_calls = 16384; // that have not returned
        entry.values = b.make<hir::Global>();
        entry.values->name = fmt::format("python_entry_{}", entries.all.size()); // an invented name, as for arrivals
        entry.values->range = expr.range;
        entry.values->keys.assign(2, hir::ValueType::Long);
        entry.values->key_bounds.resize(2);
        entry.values->capacity = most_calls;
        entry.values->wrap = true;
        entries.globals.push_back(entry.values);
    }
    if (std::ranges::find(entry.calls, b.point->python->calls) == entry.calls.end())
        entry.calls.push_back(b.point->python->calls);
    if (b.handler)
        entries.used.try_emplace(b.handler, entry.values);
    return Builder(b, binder, expr.range).value_of(entry.values);
}

hir::Element* python_value(Body& b, Binder& binder, hir::Global* values, Range range) {
    return Builder(b, binder, range).value_of(values);
}

hir::Expr* build_python_seen(Body& b, Binder& binder, Range range) {
    const auto used = b.tables.python_entries.used.find(b.handler);
    return used == b.tables.python_entries.used.end() ? nullptr : Builder(b, binder, range).has_value(used->second);
}

hir::Expr* build_python_name(Body& b, Binder& binder, Range range) { return Builder(b, binder, range).name(); }

hir::Expr* build_python_fact(Body& b, const std::string& which, Range range) {
    const auto number = [&](uint64_t value) { return b.make<hir::ConstLong>(range, static_cast<int64_t>(value)); };
    if (!b.point || !b.point->interpreter)
        return number(0);
    const sonde_python& layout = b.context.env.python_layouts[*b.point->interpreter];
    if (which == "runtime") {
        const Address here = b.point->is_return ? b.point->entry_address : b.point->address;
        return number(layout.runtime - b.point->module->file().file_offset(here).value_or(0));
    }
    return number(which == "interpreters"       ? layout.runtime_interpreters
                  : which == "next interpreter" ? layout.interpreter_next
                                                : layout.thread_native);
}

} // namespace sonde
