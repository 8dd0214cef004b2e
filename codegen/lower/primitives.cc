// Primitives: one emitter a family, chosen by the row in frontend/hir/primitives.def.
#include <bit>
#include <cstddef>
#include <map>

#include <fmt/format.h>

#include "codegen/lower/lower.h"
#include "codegen/texts.h"

namespace sonde {

llvm::Value* Lowering::intrinsic(const hir::Intrinsic& expr) {
    using Emitter = llvm::Value* (Lowering::*)(const hir::Intrinsic&);
    static const std::map<std::string, Emitter, std::less<>> emitters = {
#define PRIMITIVE(name, emitter, ...) {name, &Lowering::emitter},
#include "frontend/hir/primitives.def"
#undef PRIMITIVE
    };
    auto found = emitters.find(expr.name);
    if (found == emitters.end()) {
        fail(expr.range, fmt::format("primitive `{}` has no implementation", expr.name));
        return e_.number(0);
    }
    return (this->*found->second)(expr);
}

// ---- control ----------------------------------------------------------------------------------------------------

// No handler begins any more but those of the end.
void Lowering::stop_session() {
    e_.CreateStore(e_.number(plan::Stopping), e_.offset(env_.data, offsetof(plan::SessionWords, state)));
}

llvm::Value* Lowering::emit_exit(const hir::Intrinsic&) {
    emit(plan::Exit, 0, {}, {});
    stop_session();
    return e_.number(0);
}

llvm::Value* Lowering::emit_abort(const hir::Intrinsic&) {
    emit(plan::Abort, 0, {}, {});
    stop_session();
    set_error(e_.number(abort_site), nullptr);
    e_.CreateBr(catch_);
    e_.SetInsertPoint(e_.block("after_abort"));
    return e_.number(0);
}

llvm::Value* Lowering::emit_error_call(const hir::Intrinsic& expr) {
    raise_text(lower(*expr.args[0]), expr.range);
    e_.SetInsertPoint(e_.block("after_error"));
    return e_.number(0);
}

llvm::Value* Lowering::emit_system(const hir::Intrinsic& expr) {
    Mark mark(*this);
    emit(plan::System, 0, {}, {{lower(*expr.args[0])}});
    return e_.number(0);
}

llvm::Value* Lowering::emit_ftrace(const hir::Intrinsic& expr) {
    Mark mark(*this);
    llvm::Value* text = lower(*expr.args[0]);
    if (!t_.output().trace(text))
        emit(plan::TraceText, 0, {}, {{text}});
    return e_.number(0);
}

llvm::Value* Lowering::emit_printk(const hir::Intrinsic& expr) {
    Mark mark(*this);
    llvm::Value* level = lower(*expr.args[0]);
    emit(plan::LogText, 0, {level}, {{lower(*expr.args[1])}});
    return e_.number(0);
}

llvm::Value* Lowering::emit_switch_file(const hir::Intrinsic&) {
    emit(plan::SwitchFile, 0, {}, {});
    return e_.number(0);
}

llvm::Value* Lowering::emit_speculation(const hir::Intrinsic& expr) {
    Mark mark(*this);
    llvm::Value* id = lower(*expr.args[0]);
    if (expr.args.size() > 1)
        emit(static_cast<plan::RecordType>(expr.facts.record), 0, {id}, {{lower(*expr.args[1])}});
    else
        emit(static_cast<plan::RecordType>(expr.facts.record), 0, {id}, {});
    return e_.number(0);
}

llvm::Value* Lowering::emit_raise(const hir::Intrinsic& expr) {
    llvm::Value* signal = lower(*expr.args[0]);
    llvm::Value* failed = t_.task().raise_signal(signal);
    raise_if(e_.CreateICmpNE(failed, e_.number(0)), "cannot send the signal %#x", expr.range, signal);
    return e_.number(0);
}

// The target has looked for it where the handler begins.
llvm::Value* Lowering::emit_about_task(const hir::Intrinsic&) { return e_.number(0); }

llvm::Value* Lowering::emit_loadavg(const hir::Intrinsic& expr) {
    llvm::Value* load = t_.task().load_average(lower(*expr.args[0]));
    raise_if(e_.CreateICmpSLT(load, e_.number(0)), "the load average is not known here", expr.range);
    return load;
}

llvm::Value* Lowering::emit_memory_node(const hir::Intrinsic& expr) { return t_.memory().node(lower(*expr.args[0])); }

llvm::Value* Lowering::emit_warn(const hir::Intrinsic& expr) {
    Mark mark(*this);
    emit(plan::Warn, 0, {}, {{lower(*expr.args[0])}});
    return e_.number(0);
}

// ---- the task, the point, time ------------------------------------------------------------------------------------

llvm::Value* Lowering::emit_task(const hir::Intrinsic& expr) { return t_.task().number(env_, expr.name); }

llvm::Value* Lowering::emit_random(const hir::Intrinsic&) { return t_.task().number(env_, "random"); }

llvm::Value* Lowering::emit_execname(const hir::Intrinsic&) {
    llvm::Value* slot = new_slot();
    t_.task().execname(env_, slot);
    return slot;
}

llvm::Value* Lowering::emit_session_word(const hir::Intrinsic& expr) {
    llvm::Value* word = e_.offset(env_.data, expr.facts.word);
    return expr.type == hir::ValueType::String ? word : e_.CreateLoad(e_.i64(), word);
}

std::optional<std::string> Lowering::known_point_text(hir::PointText text) const {
    if (handler_ && text == hir::PointText::Type)
        return handler_->points.empty() ? plan::name_of(handler_->kind)
                                        : plan::type_at(handler_->kind, handler_->points[0]);
    if (!handler_ || handler_->points.size() != 1)
        return std::nullopt;
    return hir::point_text(text, handler_->points[0]);
}

llvm::Value* Lowering::emit_point_text(const hir::Intrinsic& expr) {
    if (std::optional<std::string> known = known_point_text(expr.facts.text))
        return e_.literal(*known);
    return row_text(e_, env_.row, expr.facts.text);
}

llvm::Value* Lowering::emit_clock(const hir::Intrinsic& expr) { return t_.task().clock(env_, expr.name); }

llvm::Value* Lowering::emit_ctime(const hir::Intrinsic& expr) {
    llvm::Value* slot = new_slot();
    llvm::Value* seconds = lower(*expr.args[0]);
    llvm::Value* length = e_.routine("sonde_rt_ctime", e_.i64(), {slot, seconds});
    raise_if(e_.CreateICmpEQ(length, e_.number(0)), "no date for the time %#x", expr.range, seconds);
    return slot;
}

llvm::Value* Lowering::emit_module_name(const hir::Intrinsic&) { return e_.literal(e_.state().plan.module); }

llvm::Value* Lowering::emit_counter(const hir::Intrinsic& expr) {
    llvm::Value* value = t_.task().counter(static_cast<uint32_t>(hir::as<hir::ConstLong>(*expr.args[0]).value));
    raise_if(e_.CreateICmpSLT(value, e_.number(0)), "this processor does not count that", expr.range);
    return value;
}

// ---- what a handler gives ------------------------------------------------------------------------------------------

llvm::Value* Lowering::emit_file_value(const hir::Intrinsic&) {
    llvm::Value* slot = new_slot();
    e_.routine("sonde_host_file_value", e_.getVoidTy(), {env_.context, slot, e_.number(static_cast<int64_t>(max()))});
    return slot;
}

// Gives the text again, since an assignment has a value.
llvm::Value* Lowering::emit_set_file_value(const hir::Intrinsic& expr) {
    llvm::Value* text = lower(*expr.args[0]);
    e_.routine("sonde_host_set_file_value", e_.getVoidTy(), {env_.context, text, e_.number(expr.facts.appends)});
    return text;
}

llvm::Value* Lowering::emit_set_result(const hir::Intrinsic& expr) {
    llvm::Value* value = lower(*expr.args[0]);
    bool verdict = expr.facts.decides == plan::Decision::Verdict;
    if (verdict)
        raise_if(e_.CreateICmpUGT(value, e_.number(1)), "BPF can drop (0) and accept (1) packets only, not %#x",
                 expr.range, value);
    else
        raise_if(e_.CreateICmpUGT(e_.CreateAdd(value, e_.number(4095)), e_.number(4095)),
                 "a security hook gives 0 or a negative error number down to -4095, not %#x", expr.range, value);
    e_.CreateStore(value, decision_place(e_, env_));
    return value;
}

// ---- strings ------------------------------------------------------------------------------------------------------

llvm::Value* Lowering::emit_max_string(const hir::Intrinsic&) { return e_.number(static_cast<int64_t>(max())); }

llvm::Value* Lowering::emit_strlen(const hir::Intrinsic& expr) {
    Mark mark(*this);
    llvm::Value* slot = new_slot();
    return e_.routine("sonde_rt_copy", e_.i64(), {slot, lower(*expr.args[0])});
}

llvm::Value* Lowering::emit_substr(const hir::Intrinsic& expr) {
    llvm::Value* result = new_slot();
    Mark mark(*this);
    llvm::Value* source = new_slot();
    llvm::Value* length = e_.routine("sonde_rt_copy", e_.i64(), {source, lower(*expr.args[0])});
    llvm::Value* start = lower(*expr.args[1]);
    e_.routine("sonde_rt_substr", e_.i64(), {result, source, start, lower(*expr.args[2]), length});
    return result;
}

// sonde_rt_NAME: a slot for the result where that is a string, the arguments (strings in slots), and where the result
// is a number a slot for whatever.
llvm::Value* Lowering::emit_routine(const hir::Intrinsic& expr) {
    bool is_string = expr.type == hir::ValueType::String;
    llvm::Value* result = is_string ? new_slot() : nullptr;
    Mark mark(*this);
    std::vector<llvm::Value*> args;
    if (is_string)
        args.push_back(result);
    bool reads_text = false;
    for (const hir::Expr* arg : expr.args) {
        bool is_text = arg->type == hir::ValueType::String;
        args.push_back(is_text ? lower_slot(*arg) : lower(*arg));
        reads_text = reads_text || is_text;
    }
    if (!is_string && reads_text)
        args.push_back(new_slot()); // to work in
    size_t name = expr.name.find_first_not_of('_');
    llvm::Value* status = e_.routine("sonde_rt_" + expr.name.substr(name), e_.i64(), args);
    return is_string ? result : status;
}

llvm::Value* Lowering::emit_stringat(const hir::Intrinsic& expr) {
    Mark mark(*this);
    llvm::Value* slot = new_slot();
    llvm::Value* length = e_.routine("sonde_rt_copy", e_.i64(), {slot, lower(*expr.args[0])});
    llvm::Value* at = lower(*expr.args[1]);
    llvm::Value* size = e_.number(static_cast<int64_t>(max()));
    raise_if(e_.CreateICmpUGE(at, size), "string position is out of bounds", expr.range);
    llvm::Value* inside = e_.masked(at, max() - 1);
    llvm::Value* byte = e_.CreateLoad(e_.getInt8Ty(), e_.CreateGEP(e_.getInt8Ty(), slot, inside));
    return e_.CreateSelect(e_.CreateICmpULT(at, length), e_.CreateZExt(byte, e_.i64()), e_.number(0));
}

llvm::Value* Lowering::emit_tokenize(const hir::Intrinsic& expr) {
    llvm::Value* result = new_slot();
    Mark mark(*this);
    llvm::Value* input = lower_slot(*expr.args[0]);
    llvm::Value* delimiters = lower_slot(*expr.args[1]);
    // The text being taken apart lives as long as this handler's run.
    e_.routine("sonde_rt_tokenize", e_.i64(), {result, e_.offset(env_.tokens, 8), env_.tokens, input, delimiters});
    return result;
}

// A literal, names separated by `|`; none after a report.
std::vector<std::string> Lowering::names_of(const hir::Expr& names, const std::string& primitive) {
    const size_t most = primitive == "__name" ? 1024 : 256;
    std::vector<std::string> out;
    if (names.kind == hir::ExprKind::ConstString)
        out = hir::names_in(hir::as<hir::ConstString>(names));
    if (!out.empty() && out.size() < most &&
        std::all_of(out.begin(), out.end(), [](const std::string& name) { return name.size() < name_cell; }))
        return out;
    fail(names.range, fmt::format("`{}` needs up to {} names of at most {} characters as a literal", primitive,
                                  most - 1, name_cell - 1));
    return {};
}

// As cells of 32 bytes, a power of two of them and at least one without a name at the end; null after a report.
llvm::Value* Lowering::name_table(const hir::Expr& names, const std::string& primitive, size_t& count) {
    std::vector<std::string> list = names_of(names, primitive);
    count = list.size();
    if (list.empty())
        return nullptr;
    std::string table;
    for (std::string& name : list) {
        name.resize(name_cell);
        table += name;
    }
    table.resize(std::bit_ceil(count + 1) * name_cell);
    return e_.literal(table);
}

// Within such a table, whatever the number is.
llvm::Value* Lowering::index_of_name(const hir::Expr& number, size_t count) {
    llvm::Value* index = lower(number);
    llvm::Value* end = e_.number(static_cast<int64_t>(count));
    index = e_.CreateSelect(e_.CreateICmpULT(index, end), index, end);
    return e_.masked(index, std::bit_ceil(count + 1) - 1);
}

// An address as a number, which the verifier takes for one too: it keeps nothing of what lies behind a slot's text.
// Routines that it checks once take pointers to what can be written only.
llvm::Value* Lowering::number_of(llvm::Value* address, llvm::Value* slot) {
    llvm::Value* behind = e_.offset(slot, 2 * max());
    e_.CreateStore(address, behind);
    auto* number = e_.CreateLoad(e_.i64(), behind);
    number->setVolatile(true);
    return number;
}

// The name at an index ("" if there is none), and the index of a name (-1).
llvm::Value* Lowering::emit_names(const hir::Intrinsic& expr) {
    size_t count = 0;
    llvm::Value* table = name_table(*expr.args[0], expr.name, count);
    if (!table)
        return expr.type == hir::ValueType::String ? e_.literal("") : e_.number(0);
    Mark mark(*this);
    if (expr.type != hir::ValueType::String) {
        llvm::Value* name = lower_slot(*expr.args[1]);
        return e_.routine("sonde_rt_find_cell", e_.i64(),
                          {number_of(table, name), e_.number(static_cast<int64_t>(count)), name});
    }
    llvm::Value* index = index_of_name(*expr.args[1], count);
    return e_.CreateGEP(e_.getInt8Ty(), table, e_.CreateMul(index, e_.number(name_cell)));
}

// A list for flags as cells of a name and its bits: "O_SYNC" is the bit after the last name's, "O_SYNC=0x101000" those
// bits,
// "" a bit without a name. In the list's order, which is the order of printing. Empty after a report.
std::string Lowering::flag_table(const hir::Expr& names, const std::string& primitive, uint64_t first, size_t& count) {
    std::string table;
    uint64_t bit = uint64_t(1) << (first & 63);
    for (std::string& name : names_of(names, primitive)) {
        uint64_t bits = bit;
        bit <<= 1;
        if (const size_t equals = name.find('='); equals != std::string::npos) {
            bits = strtoull(name.c_str() + equals + 1, nullptr, 0);
            name.resize(equals);
        }
        if (name.empty())
            continue;
        name.resize(name_cell);
        table += name;
        table.append(reinterpret_cast<const char*>(&bits), sizeof bits);
        count++;
    }
    return table;
}

// What stands before, and names for the bits of a number.
llvm::Value* Lowering::emit_flags(const hir::Intrinsic& expr) {
    size_t count = 0;
    if (expr.args[2]->kind != hir::ExprKind::ConstLong) {
        fail(expr.args[2]->range, fmt::format("`{}` needs the first bit as a literal", expr.name));
        return e_.literal("");
    }
    const auto first = static_cast<uint64_t>(hir::as<hir::ConstLong>(*expr.args[2]).value);
    const std::string table = flag_table(*expr.args[1], expr.name, first, count);
    if (table.empty())
        return e_.literal("");
    llvm::Value* slot = new_slot();
    Mark mark(*this);
    llvm::Value* length = e_.routine("sonde_rt_copy", e_.i64(), {slot, lower(*expr.args[0])});
    e_.routine("sonde_rt_flags", e_.i64(),
               {slot, length, number_of(e_.literal(table), slot), e_.number(static_cast<int64_t>(count)),
                lower(*expr.args[3])});
    return slot;
}

// ---- user and kernel memory ---------------------------------------------------------------------------------------

llvm::Value* Lowering::emit_user_string(const hir::Intrinsic& expr) {
    llvm::Value* slot = new_slot();
    llvm::Value* address = lower(*expr.args[0]);
    llvm::Value* size = e_.number(static_cast<int64_t>(max()));
    if (expr.args.size() == 2) {
        llvm::Value* limit = e_.CreateAdd(lower(*expr.args[1]), e_.number(1));
        llvm::Value* in_range = e_.CreateAnd(e_.CreateICmpSGT(limit, e_.number(0)), e_.CreateICmpSLT(limit, size));
        size = e_.CreateSelect(in_range, limit, size);
    }
    llvm::Value* fault = t_.memory().read_string(env_, slot, size, address, !expr.facts.of_kernel);
    raise_if(e_.CreateICmpNE(fault, e_.number(0)), "string copy fault at %#x", expr.range, address);
    return slot;
}

llvm::Value* Lowering::emit_user_string_quoted(const hir::Intrinsic& expr) {
    llvm::Value* result = new_slot();
    Mark mark(*this);
    llvm::Value* slot = new_slot();
    llvm::Value* address = lower(*expr.args[0]);
    llvm::Value* most = expr.args.size() == 3 ? lower(*expr.args[2]) : e_.number(-1);
    llvm::Value* fault =
        t_.memory().read_string(env_, slot, e_.number(static_cast<int64_t>(max())), address, !expr.facts.of_kernel);
    raise_if(e_.CreateICmpNE(fault, e_.number(0)), "string copy fault at %#x", expr.range, address);
    e_.routine("sonde_rt_text", e_.i64(), {result, slot, lower(*expr.args[1]), most, e_.number(1)});
    return result;
}

llvm::Value* Lowering::emit_user_text(const hir::Intrinsic& expr) {
    llvm::Value* result = new_slot();
    Mark mark(*this);
    llvm::Value* slot = new_slot();
    llvm::Value* address = lower(*expr.args[0]);
    llvm::Value* fault =
        t_.memory().read_string(env_, slot, e_.number(static_cast<int64_t>(max())), address, !expr.facts.of_kernel);
    llvm::BasicBlock *there = e_.block("text"), *missing = e_.block("address"), *end = e_.block("endtext");
    e_.CreateCondBr(e_.CreateICmpEQ(fault, e_.number(0)), there, missing);
    e_.SetInsertPoint(there);
    e_.routine("sonde_rt_text", e_.i64(), {result, slot, e_.number(-1), e_.number(-1), e_.number(1)});
    e_.CreateBr(end);
    e_.SetInsertPoint(missing);
    e_.CreateStore(e_.getInt8(0), result);
    e_.routine("sonde_rt_append_long", e_.i64(), {result, e_.number(0), address, e_.number('x' | '#' << 8)});
    e_.CreateBr(end);
    e_.SetInsertPoint(end);
    return result;
}

llvm::Value* Lowering::emit_user_wide(const hir::Intrinsic& expr) {
    llvm::Value* slot = new_slot();
    bool is_16 = expr.name.ends_with("utf16");
    llvm::Value* address = lower(*expr.args[0]);
    llvm::Value* status = t_.memory().read_wide(env_, slot, is_16 ? 2 : 4, address, !expr.facts.of_kernel);
    raise_if(e_.CreateICmpEQ(status, e_.number(1)), "string copy fault at %#x", expr.range, address);
    raise_if(e_.CreateICmpNE(status, e_.number(0)),
             is_16 ? "invalid UTF-16 string at %#x" : "invalid UTF-32 string at %#x", expr.range, address);
    return slot;
}

llvm::Value* Lowering::emit_user_buffer_quoted(const hir::Intrinsic& expr) {
    llvm::Value* result = new_slot();
    Mark mark(*this);
    llvm::Value* slot = new_slot();
    llvm::Value* address = lower(*expr.args[0]);
    llvm::Value* size = lower(*expr.args[1]);
    llvm::Value* most = e_.number(static_cast<int64_t>(max() - 1));
    size = e_.CreateSelect(e_.CreateICmpSLT(size, e_.number(0)), e_.number(0), size);
    size = e_.CreateSelect(e_.CreateICmpSGT(size, most), most, size);
    llvm::Value* fault = t_.memory().read_block(env_, slot, size, address);
    raise_if(e_.CreateICmpNE(fault, e_.number(0)), "read fault [man error::fault] at %#x", expr.range, address);
    e_.routine("sonde_rt_text", e_.i64(), {result, slot, size, lower(*expr.args[2]), e_.number(3)});
    return result;
}

llvm::Value* Lowering::emit_user_load(const hir::Intrinsic& expr) {
    if (expr.args[1]->kind != hir::ExprKind::ConstLong || expr.args[2]->kind != hir::ExprKind::ConstLong) {
        fail(expr.range, fmt::format("`{}` needs literal sizes", expr.name));
        return e_.number(0);
    }
    hir::Load load_expr(expr.range, expr.args[0], static_cast<uint32_t>(hir::as<hir::ConstLong>(*expr.args[1]).value),
                        hir::as<hir::ConstLong>(*expr.args[2]).value != 0);
    load_expr.user = !expr.facts.of_kernel;
    return load(load_expr);
}

llvm::Value* Lowering::emit_set_user(const hir::Intrinsic& expr) {
    llvm::Value* address = lower(*expr.args[0]);
    write_memory(address, lower(*expr.args[1]), expr.facts.size, expr.range, expr.name);
    return e_.number(0);
}

// A text with its NUL, or at most n bytes of that.
llvm::Value* Lowering::emit_set_user_string(const hir::Intrinsic& expr) {
    Mark mark(*this);
    llvm::Value* address = lower(*expr.args[0]);
    llvm::Value* slot = new_slot();
    llvm::Value* length = e_.routine("sonde_rt_copy", e_.i64(), {slot, lower(*expr.args.back())});
    llvm::Value* size = e_.CreateAdd(length, e_.number(1));
    if (expr.args.size() == 3) {
        llvm::Value* most = lower(*expr.args[1]);
        most = e_.CreateSelect(e_.CreateICmpSLT(most, e_.number(0)), e_.number(0), most);
        size = e_.CreateSelect(e_.CreateICmpSLT(most, size), most, size);
    }
    note_write(expr.range, expr.name);
    llvm::Value* fault = t_.memory().write_block(env_, slot, size, address);
    raise_if(e_.CreateICmpNE(fault, e_.number(0)), write_fault, expr.range, address);
    return e_.number(0);
}

} // namespace sonde
