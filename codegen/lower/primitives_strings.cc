// Primitives that create and search strings.
//
// Most of them only call a routine of codegen/rtlib/strings.c or text.c by their name (emit_routine()). A new one then
// needs a row in frontend/hir/primitives.def and the routine, but no code here.
//
// The others need something that a call cannot express: a table made at compile time, state that survives the call
// (tokenize()), or a check that raises an error.
#include <cstdlib>

#include <fmt/format.h>

#include "codegen/lower/constant_texts.h"
#include "codegen/lower/errors.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/primitives.h"
#include "codegen/lower/strings.h"

namespace sonde {
namespace {

// A table for flags: a name and its bits in each cell, in the order of the list, which is also the order of printing.
// In the list, "O_SYNC" is the bit after the previous name's, "O_SYNC=0x101000" gives the bits, and "" is a bit without
// a name. Empty after a report.
std::string flag_table(Lowerer& l, const hir::Expr& names, const std::string& primitive, uint64_t first,
                       size_t& count) {
    std::string table;
    uint64_t bit = uint64_t(1) << (first & 63);
    for (std::string& name : names_of(l, names, primitive)) {
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

} // namespace

llvm::Value* emit_max_string(Lowerer& l, const hir::Intrinsic&) {
    return l.e.number(static_cast<int64_t>(l.max_string()));
}

llvm::Value* emit_strlen(Lowerer& l, const hir::Intrinsic& expr) {
    Mark mark(l);
    llvm::Value* slot = l.new_slot();
    return l.e.routine("sonde_rt_copy", l.e.i64(), {slot, lower(l, *expr.args[0])});
}

llvm::Value* emit_substr(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* result = l.new_slot();
    Mark mark(l);
    llvm::Value* source = l.new_slot();
    llvm::Value* length = e.routine("sonde_rt_copy", e.i64(), {source, lower(l, *expr.args[0])});
    llvm::Value* start = lower(l, *expr.args[1]);
    e.routine("sonde_rt_substr", e.i64(), {result, source, start, lower(l, *expr.args[2]), length});
    return result;
}

// Calls sonde_rt_NAME. Its parameters are: a slot for the result if that is a string; the arguments, with strings in
// slots; and a slot for temporary data if the result is a number.
llvm::Value* emit_routine(Lowerer& l, const hir::Intrinsic& expr) {
    bool is_string = expr.type == hir::ValueType::String;
    llvm::Value* result = is_string ? l.new_slot() : nullptr;
    Mark mark(l);
    std::vector<llvm::Value*> args;
    if (is_string)
        args.push_back(result);
    bool reads_text = false;
    for (const hir::Expr* arg : expr.args) {
        bool is_text = arg->type == hir::ValueType::String;
        args.push_back(is_text ? lower_slot(l, *arg) : lower(l, *arg));
        reads_text = reads_text || is_text;
    }
    if (!is_string && reads_text)
        args.push_back(l.new_slot()); // temporary data
    size_t name = expr.name.find_first_not_of('_');
    llvm::Value* status = l.e.routine("sonde_rt_" + expr.name.substr(name), l.e.i64(), args);
    return is_string ? result : status;
}

llvm::Value* emit_stringat(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    Mark mark(l);
    llvm::Value* slot = l.new_slot();
    llvm::Value* length = e.routine("sonde_rt_copy", e.i64(), {slot, lower(l, *expr.args[0])});
    llvm::Value* at = lower(l, *expr.args[1]);
    llvm::Value* size = e.number(static_cast<int64_t>(l.max_string()));
    raise_if(l, e.CreateICmpUGE(at, size), "string position is out of bounds", expr.range);
    llvm::Value* inside = e.masked(at, l.max_string() - 1);
    llvm::Value* byte = e.CreateLoad(e.getInt8Ty(), e.CreateGEP(e.getInt8Ty(), slot, inside));
    return e.CreateSelect(e.CreateICmpULT(at, length), e.CreateZExt(byte, e.i64()), e.number(0));
}

llvm::Value* emit_tokenize(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* result = l.new_slot();
    Mark mark(l);
    llvm::Value* input = lower_slot(l, *expr.args[0]);
    llvm::Value* delimiters = lower_slot(l, *expr.args[1]);
    // The text lives as long as this run of the handler.
    e.routine("sonde_rt_tokenize", e.i64(), {result, e.offset(l.env.tokens, 8), l.env.tokens, input, delimiters});
    return result;
}

// Returns the name at an index, or "". Or returns the index of a name, or -1.
llvm::Value* emit_names(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    size_t count = 0;
    llvm::Value* table = name_table(l, *expr.args[0], expr.name, count);
    if (!table)
        return expr.type == hir::ValueType::String ? e.literal("") : e.number(0);
    Mark mark(l);
    if (expr.type != hir::ValueType::String) {
        llvm::Value* name = lower_slot(l, *expr.args[1]);
        return e.routine("sonde_rt_find_cell", e.i64(),
                         {number_of(l, table, name), e.number(static_cast<int64_t>(count)), name});
    }
    llvm::Value* index = index_of_name(l, lower(l, *expr.args[1]), count);
    return e.CreateGEP(e.getInt8Ty(), table, e.CreateMul(index, e.number(name_cell)));
}

llvm::Value* emit_call_names(Lowerer& l, const hir::Intrinsic&) {
    return l.e.literal(std::string(l.e.system_calls().names));
}

// At points that are not in an interpreter. At others, the call is a constant already.
llvm::Value* emit_python_fact(Lowerer& l, const hir::Intrinsic&) { return l.e.number(0); }

// A prefix and the names of a number's bits.
llvm::Value* emit_flags(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    size_t count = 0;
    if (expr.args[2]->kind != hir::ExprKind::ConstLong) {
        l.fail(expr.args[2]->range, fmt::format("`{}` needs the first bit as a literal", expr.name));
        return e.literal("");
    }
    const auto first = static_cast<uint64_t>(hir::as<hir::ConstLong>(*expr.args[2]).value);
    const std::string table = flag_table(l, *expr.args[1], expr.name, first, count);
    if (table.empty())
        return e.literal("");
    llvm::Value* slot = l.new_slot();
    Mark mark(l);
    llvm::Value* length = copy_text(l, slot, lower(l, *expr.args[0]));
    e.routine("sonde_rt_flags", e.i64(),
              {slot, length, number_of(l, e.literal(table), slot), e.number(static_cast<int64_t>(count)),
               lower(l, *expr.args[3])});
    return slot;
}

} // namespace sonde
