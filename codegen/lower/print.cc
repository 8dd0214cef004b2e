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
    e_.CreateStore(e_.getInt32(type), buffer);
    e_.CreateStore(e_.getInt32(format), e_.offset(buffer, 4));
    e_.CreateStore(env_.row, e_.offset(buffer, 8));
    for (size_t i = 0; i < longs.size(); i++)
        e_.CreateStore(longs[i], e_.offset(buffer, sizeof(plan::RecordHeader) + 8 * i));
    // Strings lie behind each other at their real lengths. Each one's offset is bounded by what could precede it.
    llvm::Value* used = e_.number(static_cast<int64_t>(fixed));
    for (const auto& [value, size, bytes] : rest) {
        llvm::Value* at = e_.CreateGEP(e_.getInt8Ty(), buffer, used);
        if (size) {
            t_.memory().read(env_, at, static_cast<uint32_t>(size), value, false);
            used = e_.CreateAdd(used, e_.number(static_cast<int64_t>(size)));
        } else if (bytes) {
            e_.CreateAlignedStore(e_.CreateTrunc(bytes, e_.getInt32Ty()), at, llvm::Align(1));
            t_.memory().read(env_, e_.offset(at, 4), static_cast<uint32_t>(max()), value, false);
            used = e_.CreateAdd(used, e_.CreateAdd(e_.masked(bytes, max() - 1), e_.number(4)));
        } else {
            llvm::Value* length = e_.routine("sonde_rt_copy", e_.i64(), {at, value});
            length = e_.CreateAnd(length, e_.number(static_cast<int64_t>(max() - 1)));
            used = e_.CreateAdd(used, e_.CreateAdd(length, e_.number(1)));
        }
    }
    e_.CreateStore(e_.CreateTrunc(e_.CreateSub(used, e_.number(sizeof(plan::RecordHeader))), e_.getInt32Ty()),
                   e_.offset(buffer, 12));
    t_.output().send(env_, type, buffer, used);
}

void Lowering::emit_error() {
    llvm::BasicBlock *report = e_.block("report"), *done = e_.block("reported");
    e_.CreateCondBr(is_aborted(), done, report);
    e_.SetInsertPoint(report);
    // Site, argument and text are only known now.
    bool text = env_.error_text != nullptr;
    const uint64_t details = sizeof(plan::RecordHeader), fixed = details + sizeof(plan::ErrorDetails);
    Mark mark(*this);
    llvm::Value* buffer = text ? new_bytes(fixed + 2 * max()) : scratch("record", fixed + 8);
    e_.CreateStore(e_.getInt32(plan::RaiseError), buffer);
    e_.CreateStore(e_.CreateTrunc(e_.CreateLoad(e_.i64(), env_.error), e_.getInt32Ty()), e_.offset(buffer, 4));
    e_.CreateStore(env_.row, e_.offset(buffer, 8));
    for (uint64_t at = 0; at < sizeof(plan::ErrorDetails); at += 8)
        e_.CreateStore(e_.CreateLoad(e_.i64(), error_details(e_, env_, at)), e_.offset(buffer, details + at));
    llvm::Value* size = nullptr;
    if (text) {
        llvm::Value* first = e_.CreateLoad(e_.getInt8Ty(), env_.error_text);
        e_.CreateStore(e_.CreateSelect(has_error_text(), first, e_.getInt8(0)), env_.error_text);
        llvm::Value* length = e_.routine("sonde_rt_copy", e_.i64(), {e_.offset(buffer, fixed), env_.error_text});
        size = e_.CreateAdd(e_.CreateAnd(length, e_.number(static_cast<int64_t>(max() - 1))),
                            e_.number(static_cast<int64_t>(fixed + 1)));
    } else {
        e_.CreateStore(e_.number(0), e_.offset(buffer, fixed));
        size = e_.number(static_cast<int64_t>(fixed + 8));
    }
    e_.CreateStore(e_.CreateTrunc(e_.CreateSub(size, e_.number(sizeof(plan::RecordHeader))), e_.getInt32Ty()),
                   e_.offset(buffer, 12));
    t_.output().send(env_, plan::RaiseError, buffer, size);
    e_.CreateBr(done);
    e_.SetInsertPoint(done);
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
    emit(plan::Print, e_.state().add_format(expr.format), longs, rest);
    return e_.number(0);
}

// %m and %M: as many bytes as the precision says, one without.
Lowering::Piece Lowering::read_dump(const Directive& directive, llvm::Value* precision, const hir::Expr& address) {
    auto most = static_cast<int64_t>(max() - 1);
    int64_t constant = directive.precision < 0 ? 1 : directive.precision;
    llvm::Value* size = precision ? precision : e_.number(constant);
    size = e_.CreateSelect(e_.CreateICmpUGT(size, e_.number(most)), e_.number(most), size);
    llvm::Value* slot = new_slot();
    llvm::Value* from = lower(address);
    llvm::Value* fault = t_.memory().read_block(env_, slot, size, from);
    raise_if(e_.CreateICmpNE(fault, e_.number(0)), "read fault [man error::fault] at %#x", address.range, from);
    return {slot, 0, size};
}

llvm::Value* Lowering::format_to_string(const hir::Print& expr) {
    llvm::Value* slot = new_slot();
    e_.CreateStore(e_.getInt8(0), slot);
    llvm::Value* length = e_.number(0);
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
            length = e_.routine("sonde_rt_append", e_.i64(), {slot, length, e_.literal(d.text)});
            continue;
        }
        // conversion, flag, width, precision + 1: see codegen/rtlib/format.c
        uint64_t constant = static_cast<uint8_t>(d.conversion) | static_cast<uint64_t>(static_cast<uint8_t>(d.flag))
                                                                     << 8;
        if (d.width > 0)
            constant |= static_cast<uint64_t>(d.width & 0xffffff) << 16;
        if (d.precision >= 0)
            constant |= static_cast<uint64_t>((d.precision + 1) & 0xffffff) << 40;
        llvm::Value* spec = e_.number(static_cast<int64_t>(constant));
        if (d.width_is_arg) {
            llvm::Value* width = argument(expr.args[next++]);
            llvm::Value* negative = e_.CreateICmpSLT(width, e_.number(0));
            width = e_.CreateSelect(negative, e_.number(0), width);
            spec = e_.CreateOr(spec, e_.CreateShl(e_.CreateAnd(width, e_.number(0xffffff)), e_.number(16)));
        }
        llvm::Value* given = nullptr;
        if (d.precision_is_arg) {
            given = argument(expr.args[next++]);
            llvm::Value* precision = e_.CreateAdd(given, e_.number(1));
            spec = e_.CreateOr(spec, e_.CreateShl(e_.CreateAnd(precision, e_.number(0xffffff)), e_.number(40)));
        }
        const hir::Expr* arg = expr.args[next++];
        const bool is_value = d.kind != Directive::Memory && d.kind != Directive::Histogram;
        llvm::Value* value = is_value ? argument(arg) : nullptr;
        switch (d.kind) {
        case Directive::Integer:
            length = e_.routine("sonde_rt_append_long", e_.i64(), {slot, length, value, spec});
            break;
        case Directive::Char:
            length = e_.routine("sonde_rt_append_char", e_.i64(), {slot, length, value, spec});
            break;
        case Directive::String: {
            bool plain = d.width <= 0 && d.precision < 0 && !d.width_is_arg && !d.precision_is_arg;
            if (plain) {
                length = e_.routine("sonde_rt_append", e_.i64(), {slot, length, value});
                break;
            }
            llvm::Value* copy = new_slot();
            llvm::Value* size = e_.routine("sonde_rt_copy", e_.i64(), {copy, value});
            length = e_.routine("sonde_rt_append_string", e_.i64(), {slot, length, copy, size, spec});
            break;
        }
        case Directive::Binary: {
            // Its bytes up to a NUL, as a string can have them.
            llvm::Value* bytes = new_bytes(16);
            e_.CreateStore(value, bytes);
            const uint32_t size = plan::binary_size(d.width, d.precision);
            const bool fills = d.width > static_cast<int32_t>(size) && d.flag != '-';
            e_.CreateStore(e_.getInt8(0), e_.offset(bytes, fills ? 0 : size));
            length = e_.routine("sonde_rt_append", e_.i64(), {slot, length, bytes});
            break;
        }
        case Directive::Memory: {
            Piece piece = read_dump(d, given, *arg);
            if (d.conversion == 'm') {
                length = e_.routine("sonde_rt_append", e_.i64(), {slot, length, piece.pointer});
                break;
            }
            // The count of bytes takes the place of conversion and flag.
            uint64_t width = d.width > 0 ? static_cast<uint64_t>(d.width & 0xffffff) << 16 : 0;
            llvm::Value* packed = e_.CreateOr(piece.length, e_.number(static_cast<int64_t>(width)));
            length = e_.routine("sonde_rt_append_dump", e_.i64(), {slot, length, piece.pointer, new_slot(), packed});
            break;
        }
        case Directive::Histogram: {
            if (e_.in_kernel()) {
                fail(expr.range, "a histogram can be made a string only where the session runs the handler: in begin, "
                                 "end, timers and control files");
                return slot;
            }
            llvm::Value* stats = stats_pointer(*arg);
            raise_if_empty(stats, arg->range);
            length = t_.output().append_histogram(env_, slot, length, global_of_statistic(*arg), stats);
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
