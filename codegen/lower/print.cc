// printf and its family: a record for the runtime to format, or a string built here.
#include "codegen/lower/lower.h"

namespace sonde {

using hir::ValueType;
using plan::Directive;

namespace {
const hir::Global& global_of_statistic(const hir::Expr& source) {
    return source.kind == hir::ExprKind::GlobalRef ? *hir::as<hir::GlobalRef>(source).global
                                                   : *hir::as<hir::Element>(source).array;
}
} // namespace

// A record: header, longs, then the rest (strings with their NUL, or blocks of a known size; size 0 means a string).
void Lowering::emit(uint32_t type, uint32_t format, const std::vector<llvm::Value*>& longs,
                    const std::vector<Piece>& rest) {
    uint64_t fixed = sizeof(plan::RecordHeader) + 8 * longs.size();
    bool is_small = rest.empty() && fixed <= 128;
    uint64_t bound = fixed;
    for (const Piece& piece : rest)
        bound += piece.size ? piece.size : piece.length ? 4 + max() : max();
    Mark mark(*this);
    llvm::Value* buffer = is_small ? scratch("record", fixed) : new_bytes(bound + max());
    b_.CreateStore(b_.getInt32(type), buffer);
    b_.CreateStore(b_.getInt32(format), t_.offset(buffer, 4));
    b_.CreateStore(env_.row, t_.offset(buffer, 8));
    for (size_t i = 0; i < longs.size(); i++)
        b_.CreateStore(longs[i], t_.offset(buffer, sizeof(plan::RecordHeader) + 8 * i));
    // Strings lie behind each other at their real lengths. Each one's offset is bounded by what could precede it.
    llvm::Value* used = t_.number(static_cast<int64_t>(fixed));
    for (const auto& [value, size, bytes] : rest) {
        llvm::Value* at = b_.CreateGEP(b_.getInt8Ty(), buffer, used);
        if (size) {
            t_.read_memory(env_, at, static_cast<uint32_t>(size), value, false);
            used = b_.CreateAdd(used, t_.number(static_cast<int64_t>(size)));
        } else if (bytes) {
            b_.CreateAlignedStore(b_.CreateTrunc(bytes, b_.getInt32Ty()), at, llvm::Align(1));
            t_.read_memory(env_, t_.offset(at, 4), static_cast<uint32_t>(max()), value, false);
            used = b_.CreateAdd(used, b_.CreateAdd(t_.masked(bytes, max() - 1), t_.number(4)));
        } else {
            llvm::Value* length = t_.routine("sonde_rt_copy", t_.i64(), {at, value});
            length = b_.CreateAnd(length, t_.number(static_cast<int64_t>(max() - 1)));
            used = b_.CreateAdd(used, b_.CreateAdd(length, t_.number(1)));
        }
    }
    b_.CreateStore(b_.CreateTrunc(b_.CreateSub(used, t_.number(sizeof(plan::RecordHeader))), b_.getInt32Ty()),
                   t_.offset(buffer, 12));
    t_.emit_record(env_, type, buffer, used, is_small);
}

void Lowering::emit_error() {
    llvm::BasicBlock *report = block("report"), *done = block("reported");
    b_.CreateCondBr(is_aborted(), done, report);
    b_.SetInsertPoint(report);
    // Site, argument and text are only known now.
    bool text = env_.error_text != nullptr;
    const uint64_t details = sizeof(plan::RecordHeader), fixed = details + sizeof(plan::ErrorDetails);
    Mark mark(*this);
    llvm::Value* buffer = text ? new_bytes(fixed + 2 * max()) : scratch("record", fixed + 8);
    b_.CreateStore(b_.getInt32(plan::RaiseError), buffer);
    b_.CreateStore(b_.CreateTrunc(b_.CreateLoad(t_.i64(), env_.error), b_.getInt32Ty()), t_.offset(buffer, 4));
    b_.CreateStore(env_.row, t_.offset(buffer, 8));
    for (uint64_t at = 0; at < sizeof(plan::ErrorDetails); at += 8)
        b_.CreateStore(b_.CreateLoad(t_.i64(), t_.error_details(env_, at)), t_.offset(buffer, details + at));
    llvm::Value* size = nullptr;
    if (text) {
        llvm::Value* first = b_.CreateLoad(b_.getInt8Ty(), env_.error_text);
        b_.CreateStore(b_.CreateSelect(has_error_text(), first, b_.getInt8(0)), env_.error_text);
        llvm::Value* length = t_.routine("sonde_rt_copy", t_.i64(), {t_.offset(buffer, fixed), env_.error_text});
        size = b_.CreateAdd(b_.CreateAnd(length, t_.number(static_cast<int64_t>(max() - 1))),
                            t_.number(static_cast<int64_t>(fixed + 1)));
    } else {
        b_.CreateStore(t_.number(0), t_.offset(buffer, fixed));
        size = t_.number(static_cast<int64_t>(fixed + 8));
    }
    b_.CreateStore(b_.CreateTrunc(b_.CreateSub(size, t_.number(sizeof(plan::RecordHeader))), b_.getInt32Ty()),
                   t_.offset(buffer, 12));
    t_.emit_record(env_, plan::RaiseError, buffer, size, !text);
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
}

llvm::Value* Lowering::print(const hir::Print& expr) {
    if (expr.to_string)
        return format_to_string(expr);
    Mark mark(*this);
    std::vector<Held> held;
    std::vector<Piece> rest;
    size_t next = 0;
    auto add = [&](llvm::Value* number) {
        held.push_back(hold(number, std::span(expr.args).subspan(next)));
        return number;
    };
    for (const Directive& d : expr.format.directives) {
        if (d.kind == Directive::Literal)
            continue;
        if (d.width_is_arg)
            add(lower(*expr.args[next++]));
        llvm::Value* precision = nullptr;
        if (d.precision_is_arg)
            precision = add(lower(*expr.args[next++]));
        const hir::Expr& arg = *expr.args[next++];
        if (arg.type == ValueType::Stats) {
            llvm::Value* stats = stats_pointer(arg);
            raise_if_empty(stats, arg.range);
            rest.push_back({stats, sizeof(plan::StatsBlock) + 8ull * global_of_statistic(arg).stats.buckets()});
        } else if (arg.type == ValueType::String) {
            rest.push_back({lower(arg)});
        } else if (d.kind == Directive::Memory) {
            rest.push_back(read_dump(d, precision, arg));
        } else {
            add(lower(arg));
        }
    }
    std::vector<llvm::Value*> longs;
    for (const Held& one : held)
        longs.push_back(take(one));
    emit(plan::Print, t_.state().add_format(expr.format), longs, rest);
    return t_.number(0);
}

// %m and %M: as many bytes as the precision says, one without.
Lowering::Piece Lowering::read_dump(const Directive& directive, llvm::Value* precision, const hir::Expr& address) {
    auto most = static_cast<int64_t>(max() - 1);
    int64_t constant = directive.precision < 0 ? 1 : directive.precision;
    llvm::Value* size = precision ? precision : t_.number(constant);
    size = b_.CreateSelect(b_.CreateICmpUGT(size, t_.number(most)), t_.number(most), size);
    llvm::Value* slot = new_slot();
    llvm::Value* from = lower(address);
    llvm::Value* fault = t_.read_block(env_, slot, size, from);
    raise_if(b_.CreateICmpNE(fault, t_.number(0)), "read fault [man error::fault] at %#x", address.range, from);
    return {slot, 0, size};
}

llvm::Value* Lowering::format_to_string(const hir::Print& expr) {
    llvm::Value* slot = new_slot();
    b_.CreateStore(b_.getInt8(0), slot);
    llvm::Value* length = t_.number(0);
    size_t next = 0;
    auto argument = [&](const hir::Expr* one) {
        Held before = hold(length, {&one, 1});
        llvm::Value* value = lower(*one);
        length = take(before);
        return value;
    };
    for (const Directive& d : expr.format.directives) {
        Mark mark(*this);
        if (d.kind == Directive::Literal) {
            length = t_.routine("sonde_rt_append", t_.i64(), {slot, length, t_.literal(d.text)});
            continue;
        }
        // conversion, flag, width, precision + 1: see codegen/rtlib/format.c
        uint64_t constant = static_cast<uint8_t>(d.conversion) | static_cast<uint64_t>(static_cast<uint8_t>(d.flag))
                                                                     << 8;
        if (d.width > 0)
            constant |= static_cast<uint64_t>(d.width & 0xffffff) << 16;
        if (d.precision >= 0)
            constant |= static_cast<uint64_t>((d.precision + 1) & 0xffffff) << 40;
        llvm::Value* spec = t_.number(static_cast<int64_t>(constant));
        if (d.width_is_arg) {
            llvm::Value* width = argument(expr.args[next++]);
            llvm::Value* negative = b_.CreateICmpSLT(width, t_.number(0));
            width = b_.CreateSelect(negative, t_.number(0), width);
            spec = b_.CreateOr(spec, b_.CreateShl(b_.CreateAnd(width, t_.number(0xffffff)), t_.number(16)));
        }
        llvm::Value* given = nullptr;
        if (d.precision_is_arg) {
            given = argument(expr.args[next++]);
            llvm::Value* precision = b_.CreateAdd(given, t_.number(1));
            spec = b_.CreateOr(spec, b_.CreateShl(b_.CreateAnd(precision, t_.number(0xffffff)), t_.number(40)));
        }
        const hir::Expr* arg = expr.args[next++];
        const bool is_value = d.kind != Directive::Memory && d.kind != Directive::Histogram;
        llvm::Value* value = is_value ? argument(arg) : nullptr;
        switch (d.kind) {
        case Directive::Integer:
            length = t_.routine("sonde_rt_append_long", t_.i64(), {slot, length, value, spec});
            break;
        case Directive::Char:
            length = t_.routine("sonde_rt_append_char", t_.i64(), {slot, length, value, spec});
            break;
        case Directive::String: {
            bool plain = d.width <= 0 && d.precision < 0 && !d.width_is_arg && !d.precision_is_arg;
            if (plain) {
                length = t_.routine("sonde_rt_append", t_.i64(), {slot, length, value});
                break;
            }
            llvm::Value* copy = new_slot();
            llvm::Value* size = t_.routine("sonde_rt_copy", t_.i64(), {copy, value});
            length = t_.routine("sonde_rt_append_string", t_.i64(), {slot, length, copy, size, spec});
            break;
        }
        case Directive::Binary: {
            // Its bytes up to a NUL, as a string can have them.
            llvm::Value* bytes = new_bytes(16);
            b_.CreateStore(value, bytes);
            const uint32_t size = plan::binary_size(d.width, d.precision);
            const bool fills = d.width > static_cast<int32_t>(size) && d.flag != '-';
            b_.CreateStore(b_.getInt8(0), t_.offset(bytes, fills ? 0 : size));
            length = t_.routine("sonde_rt_append", t_.i64(), {slot, length, bytes});
            break;
        }
        case Directive::Memory: {
            Piece piece = read_dump(d, given, *arg);
            if (d.conversion == 'm') {
                length = t_.routine("sonde_rt_append", t_.i64(), {slot, length, piece.pointer});
                break;
            }
            // The count of bytes takes the place of conversion and flag.
            uint64_t width = d.width > 0 ? static_cast<uint64_t>(d.width & 0xffffff) << 16 : 0;
            llvm::Value* packed = b_.CreateOr(piece.length, t_.number(static_cast<int64_t>(width)));
            length = t_.routine("sonde_rt_append_dump", t_.i64(), {slot, length, piece.pointer, new_slot(), packed});
            break;
        }
        case Directive::Histogram: {
            if (in_kernel_) {
                fail(expr.range, "a histogram can be made a string only where the session runs the handler: in begin, "
                                 "end, timers and control files");
                return slot;
            }
            llvm::Value* stats = stats_pointer(*arg);
            raise_if_empty(stats, arg->range);
            length = t_.append_histogram(env_, slot, length, global_of_statistic(*arg), stats);
            break;
        }
        case Directive::Stack:
        case Directive::Addresses:
        case Directive::Literal:
            fail(expr.range, "a stack cannot be made a string");
            break;
        }
    }
    return slot;
}

} // namespace sonde
