// A handler does not format its output. It sends a record with the number of the format and the values, and the runtime
// formats it later. The hit takes less time, and formats may use what BPF does not have, such as floating point. Only
// sprintf and similar functions are formatted here, by the routines of codegen/rtlib/format.c.
//
// Example: the record of `printf("%d %s\n", pid(), execname())` is
//     header (plan::RecordHeader): type Print, number of the format, row of the probe point, bytes after the header
//     longs, 8 bytes each:         the pid
//     the rest:                    "bash" and its NUL
// All numbers come first, whatever the order in the format is, so that their offsets are constant. The format's
// directives tell the runtime how to read the record (runtime/text/output).
//
// If the record has one string and nothing else after the numbers, the string is made in its place in the record, and
// is not copied (in_place()).
//
// What would break it: the verifier must be able to bound each offset after the first string. So the buffer has room
// for the maximum size of each string, and each length is masked before it is added.
#include "codegen/lower/print.h"

#include <utility>

#include "codegen/lower/array.h"
#include "codegen/lower/errors.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/lowerer.h"
#include "runtime/plan/kinds.h"

namespace sonde {

using hir::ValueType;
using plan::Directive;

namespace {

// %m and %M: the precision is the number of bytes; 1 without a precision.
Piece read_dump(Lowerer& l, const Directive& directive, llvm::Value* precision, const hir::Expr& address) {
    Emitter& e = l.e;
    auto most = static_cast<int64_t>(l.max_string() - 1);
    int64_t constant = directive.precision < 0 ? 1 : directive.precision;
    llvm::Value* size = precision ? precision : e.number(constant);
    size = e.CreateSelect(e.CreateICmpUGT(size, e.number(most)), e.number(most), size);
    llvm::Value* slot = l.new_slot();
    llvm::Value* from = lower(l, address);
    llvm::Value* fault = l.target.memory().read_block(l.env, slot, size, from);
    raise_if(l, e.CreateICmpNE(fault, e.number(0)), plan::ErrorId::ReadFault, address.range, from);
    return {slot, 0, size};
}

// Builds the text of sprintf() in the slot: each directive appends its text at `length`. A directive's form is packed
// into one number, because routines take at most five arguments. A width or precision from an argument is added at run
// time.
llvm::Value* format_to_string(Lowerer& l, const hir::Print& expr, llvm::Value* slot) {
    Emitter& e = l.e;
    e.CreateStore(e.getInt8(0), slot);
    llvm::Value* length = e.number(0);
    size_t next = 0;
    auto argument = [&](const hir::Expr* one) {
        Held before = l.hold(length, {&one, 1});
        llvm::Value* value = lower(l, *one);
        length = l.take(before);
        return value;
    };
    for (const Directive& d : expr.format.directives) {
        Mark mark(l);
        if (d.kind == Directive::Literal) {
            length = e.routine("sonde_rt_append", e.i64(), {slot, length, e.literal(d.text)});
            continue;
        }
        // conversion, flag, width, precision + 1 (see codegen/rtlib/format.c)
        uint64_t constant = static_cast<uint8_t>(d.conversion) | static_cast<uint64_t>(static_cast<uint8_t>(d.flag))
                                                                     << 8;
        if (d.width > 0)
            constant |= static_cast<uint64_t>(d.width & 0xffffff) << 16;
        if (d.precision >= 0)
            constant |= static_cast<uint64_t>((d.precision + 1) & 0xffffff) << 40;
        llvm::Value* spec = e.number(static_cast<int64_t>(constant));
        if (d.width_is_arg) {
            llvm::Value* width = argument(expr.args[next++]);
            llvm::Value* negative = e.CreateICmpSLT(width, e.number(0));
            width = e.CreateSelect(negative, e.number(0), width);
            spec = e.CreateOr(spec, e.CreateShl(e.CreateAnd(width, e.number(0xffffff)), e.number(16)));
        }
        llvm::Value* given = nullptr;
        if (d.precision_is_arg) {
            given = argument(expr.args[next++]);
            llvm::Value* precision = e.CreateAdd(given, e.number(1));
            spec = e.CreateOr(spec, e.CreateShl(e.CreateAnd(precision, e.number(0xffffff)), e.number(40)));
        }
        const hir::Expr* arg = expr.args[next++];
        const bool is_value = d.kind != Directive::Memory && d.kind != Directive::Histogram;
        llvm::Value* value = is_value ? argument(arg) : nullptr;
        switch (d.kind) {
        case Directive::Integer:
            length = e.routine("sonde_rt_append_long", e.i64(), {slot, length, value, spec});
            break;
        case Directive::Char:
            length = e.routine("sonde_rt_append_char", e.i64(), {slot, length, value, spec});
            break;
        case Directive::String: {
            bool plain = d.width <= 0 && d.precision < 0 && !d.width_is_arg && !d.precision_is_arg;
            if (plain) {
                length = e.routine("sonde_rt_append", e.i64(), {slot, length, value});
                break;
            }
            llvm::Value* copy = l.new_slot();
            llvm::Value* size = e.routine("sonde_rt_copy", e.i64(), {copy, value});
            length = e.routine("sonde_rt_append_string", e.i64(), {slot, length, copy, size, spec});
            break;
        }
        case Directive::Binary: {
            // Bytes up to the first NUL, because the result is a string.
            llvm::Value* bytes = l.new_bytes(16);
            e.CreateStore(value, bytes);
            const uint32_t size = plan::binary_size(d.width, d.precision);
            const bool fills = d.width > static_cast<int32_t>(size) && d.flag != '-';
            e.CreateStore(e.getInt8(0), e.offset(bytes, fills ? 0 : size));
            length = e.routine("sonde_rt_append", e.i64(), {slot, length, bytes});
            break;
        }
        case Directive::Memory: {
            Piece piece = read_dump(l, d, given, *arg);
            if (d.conversion == 'm') {
                length = e.routine("sonde_rt_append", e.i64(), {slot, length, piece.pointer});
                break;
            }
            // The count of bytes replaces conversion and flag.
            uint64_t width = d.width > 0 ? static_cast<uint64_t>(d.width & 0xffffff) << 16 : 0;
            llvm::Value* packed = e.CreateOr(piece.length, e.number(static_cast<int64_t>(width)));
            length = e.routine("sonde_rt_append_dump", e.i64(), {slot, length, piece.pointer, l.new_slot(), packed});
            break;
        }
        case Directive::Histogram: {
            if (e.in_kernel()) {
                l.fail(expr.range, "only handlers that the session runs can convert a histogram to a string: begin, "
                                   "end, timers and control files");
                return slot;
            }
            llvm::Value* stats = stats_pointer(l, *arg);
            raise_if_empty(l, stats, arg->range);
            length = l.target.output().append_histogram(l.env, slot, length, global_of_statistic(*arg), stats);
            break;
        }
        case Directive::Stack:
        case Directive::Addresses:
        case Directive::Literal:
            l.fail(expr.range, "a stack cannot be converted to a string");
            break;
        }
    }
    return slot;
}

// The bytes of the record in front of its only string, if the print is of one string and numbers and runs in the
// kernel. Otherwise 0.
uint64_t bytes_before_string(const Lowerer& l, const hir::Print& expr) {
    uint64_t strings = 0, longs = 0;
    size_t next = 0;
    for (const Directive& d : expr.format.directives) {
        if (d.kind == Directive::Literal)
            continue;
        longs += d.width_is_arg + d.precision_is_arg;
        next += d.width_is_arg + d.precision_is_arg;
        const hir::Expr& arg = *expr.args[next++];
        if (arg.type == ValueType::Stats || d.kind == Directive::Memory)
            return 0;
        (arg.type == ValueType::String ? strings : longs)++;
    }
    // The verifier may not know the address of a machine's frame.
    const bool fits = strings == 1 && l.e.in_kernel() && l.env.has_frame && !l.machine;
    return fits && !l.e.state().translate.tells_context ? sizeof(plan::RecordHeader) + 8 * longs : 0;
}

// Whether the string is in memory `bytes` after this address.
bool is_behind(const Lowerer& l, llvm::Value* address, uint64_t bytes, llvm::Value* text) {
    const auto place = [&](llvm::Value* pointer) {
        llvm::APInt offset(64, 0);
        llvm::Value* base =
            pointer->stripAndAccumulateConstantOffsets(l.e.module().getDataLayout(), offset, /*AllowNonInbounds=*/true);
        return std::pair(base, offset.getZExtValue());
    };
    const auto [base, offset] = place(address);
    return place(text) == std::pair(base, offset + bytes);
}

} // namespace

void print_into(Lowerer& l, const hir::Print& expr, llvm::Value* slot) { format_to_string(l, expr, slot); }

void send_record(Lowerer& l, uint32_t type, uint32_t format, const std::vector<llvm::Value*>& longs,
                 const std::vector<Piece>& rest, llvm::Value* in_place) {
    Emitter& e = l.e;
    uint64_t fixed = sizeof(plan::RecordHeader) + 8 * longs.size();
    bool is_small = rest.empty() && fixed <= 128;
    uint64_t bound = fixed;
    for (const Piece& piece : rest)
        bound += piece.size ? piece.size : piece.length ? 4 + l.max_string() : l.max_string();
    Mark mark(l);
    llvm::Value* buffer = in_place   ? in_place
                          : is_small ? l.scratch("record", fixed)
                                     : l.new_bytes(bound + l.max_string());
    e.CreateStore(e.getInt32(type), buffer);
    e.CreateStore(e.getInt32(format), e.offset(buffer, 4));
    e.CreateStore(l.env.row, e.offset(buffer, 8));
    for (size_t i = 0; i < longs.size(); i++)
        e.CreateStore(longs[i], e.offset(buffer, sizeof(plan::RecordHeader) + 8 * i));
    // Strings follow each other at their actual lengths. The largest possible size of the preceding ones bounds each
    // offset.
    llvm::Value* used = e.number(static_cast<int64_t>(fixed));
    for (const auto& [value, size, bytes] : rest) {
        llvm::Value* at = e.CreateGEP(e.getInt8Ty(), buffer, used);
        if (size) {
            l.target.memory().read(l.env, at, static_cast<uint32_t>(size), value, false);
            used = e.CreateAdd(used, e.number(static_cast<int64_t>(size)));
        } else if (bytes) {
            e.CreateAlignedStore(e.CreateTrunc(bytes, e.getInt32Ty()), at, llvm::Align(1));
            l.target.memory().read(l.env, e.offset(at, 4), static_cast<uint32_t>(l.max_string()), value, false);
            used = e.CreateAdd(used, e.CreateAdd(e.masked(bytes, l.max_string() - 1), e.number(4)));
        } else {
            llvm::Value* length = in_place ? e.routine("sonde_rt_length", e.i64(), {value})
                                           : e.routine("sonde_rt_copy", e.i64(), {at, value});
            length = e.CreateAnd(length, e.number(static_cast<int64_t>(l.max_string() - 1)));
            used = e.CreateAdd(used, e.CreateAdd(length, e.number(1)));
        }
    }
    e.CreateStore(e.CreateTrunc(e.CreateSub(used, e.number(sizeof(plan::RecordHeader))), e.getInt32Ty()),
                  e.offset(buffer, 12));
    l.target.output().send(l.env, type, buffer, used);
}

namespace {

// Adds the time of the print and the task. Handlers of the session have no task, except those of recorded events.
void add_context(Lowerer& l, plan::Format& format, std::vector<llvm::Value*>& longs, std::vector<Piece>& rest) {
    const auto add = [&](plan::About about, Directive::Kind kind, char conversion) {
        Directive d;
        d.kind = kind;
        d.conversion = conversion;
        d.about = about;
        format.directives.push_back(std::move(d));
    };
    add(plan::About::Time, Directive::Integer, 'd');
    longs.push_back(l.target.task().clock(l.env, hir::Clock::Steady));
    if (!l.e.in_kernel() && (!l.root || plan::traits(l.root->kind).cause != plan::Cause::Recorded))
        return;
    for (auto [about, number] :
         {std::pair(plan::About::Process, hir::TaskNumber::Pid), {plan::About::Thread, hir::TaskNumber::Tid}}) {
        add(about, Directive::Integer, 'd');
        longs.push_back(l.target.task().number(l.env, number));
    }
    add(plan::About::TaskName, Directive::String, 's');
    llvm::Value* name = l.new_slot();
    l.target.task().execname(l.env, name);
    rest.push_back({name});
}

} // namespace

void send_hit(Lowerer& l) {
    Mark mark(l);
    plan::Format format;
    format.is_hit = true;
    std::vector<llvm::Value*> longs;
    std::vector<Piece> rest;
    add_context(l, format, longs, rest);
    send_record(l, plan::Print, l.e.state().add_format(format), longs, rest);
}

void send_print(Lowerer& l, plan::Format format, std::vector<llvm::Value*> longs, std::vector<Piece> rest,
                llvm::Value* in_place) {
    Mark mark(l);
    if (l.e.state().translate.tells_context)
        add_context(l, format, longs, rest);
    send_record(l, plan::Print, l.e.state().add_format(format), longs, rest, in_place);
}

llvm::Value* lower_print(Lowerer& l, const hir::Print& expr) {
    if (expr.to_string)
        return format_to_string(l, expr, l.new_slot());
    Mark mark(l);
    std::vector<Held> held;
    std::vector<Piece> rest;
    const uint64_t before_string = bytes_before_string(l, expr);
    llvm::Value* in_place = nullptr;
    size_t next = 0;
    auto add = [&](llvm::Value* number) {
        held.push_back(l.hold(number, std::span(expr.args).subspan(next)));
        return number;
    };
    for (const Directive& d : expr.format.directives) {
        if (d.kind == Directive::Literal)
            continue;
        if (d.width_is_arg)
            add(lower(l, *expr.args[next++]));
        llvm::Value* precision = nullptr;
        if (d.precision_is_arg)
            precision = add(lower(l, *expr.args[next++]));
        const hir::Expr& arg = *expr.args[next++];
        if (arg.type == ValueType::Stats) {
            llvm::Value* stats = stats_pointer(l, arg);
            raise_if_empty(l, stats, arg.range);
            rest.push_back({stats, plan::stats_bytes(global_of_statistic(arg).stats)});
        } else if (arg.type == ValueType::String) {
            // The next slot is that of the result, if the string is made here and does not exist already.
            llvm::Value* record = before_string ? l.new_bytes(before_string) : nullptr;
            llvm::Value* text = lower(l, arg);
            in_place = record && is_behind(l, record, before_string, text) ? record : nullptr;
            rest.push_back({text});
        } else if (d.kind == Directive::Memory) {
            rest.push_back(read_dump(l, d, precision, arg));
        } else {
            add(lower(l, arg));
        }
    }
    std::vector<llvm::Value*> longs;
    for (const Held& one : held)
        longs.push_back(l.take(one));
    send_print(l, expr.format, std::move(longs), std::move(rest), in_place);
    return l.e.number(0);
}

} // namespace sonde
