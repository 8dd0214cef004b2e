// snprintf() for the script's C, by the kernel's bpf_snprintf().
//
// The kernel's function supports `%d`, `%i`, `%u`, `%x` and `%X` with `l` and `ll`, `%c`, `%s`, and some extensions of
// `%p` (kernel/bpf/helpers.c, bpf_bprintf_prepare()). Other conversions are replaced by these, with other values.
// Examples: a short number is passed as a truncated long one, `%o` becomes a decimal number with octal digits, `%.3s`
// prints a copy of three bytes, and `%pM` prints six bytes.
//
// If a string cannot be read, bpf_snprintf() writes nothing and does not report it. So the generated code reads the
// string's first byte before.
#include "codegen/c/formats.h"

#include <cctype>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "codegen/c/helpers.h"

namespace sonde {
namespace {

constexpr unsigned most_values = 12; // MAX_BPRINTF_VARARGS (include/linux/bpf.h)
// Positions of bpf_snprintf()'s arguments.
constexpr unsigned format_at = 2, values_at = 3, bytes_at = 4;
constexpr int64_t read_text = 115, read_memory = 113; // bpf_probe_read_kernel_str, bpf_probe_read_kernel

// The parts of a conversion: "%-10.3ls" has the flags "-", the width "10", the precision ".3" and the length "l".
struct Conversion {
    std::string text, flags, width, precision, length;
    char kind = 0;    // 0: the format ends within the conversion
    std::string more; // the extension of `%p`, for example "I4"
};

bool is_one_of(char c, std::string_view some) { return c && some.find(c) != std::string_view::npos; }

Conversion read_conversion(std::string_view format, size_t& at) {
    const size_t begin = at++;
    Conversion out;
    auto take = [&](std::string& part, auto belongs) {
        while (at < format.size() && belongs(format[at]))
            part += format[at++];
    };
    auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    take(out.flags, [](char c) { return is_one_of(c, "-+ #0"); });
    take(out.width, [&](char c) { return is_digit(c) || c == '*'; });
    if (at < format.size() && format[at] == '.') {
        out.precision = format[at++];
        take(out.precision, [&](char c) { return is_digit(c) || c == '*'; });
    }
    take(out.length, [](char c) { return is_one_of(c, "hlzjtLq"); });
    if (at < format.size())
        out.kind = format[at++];
    if (out.kind == 'p')
        take(out.more, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
    out.text = format.substr(begin, at - begin);
    return out;
}

// One call of bpf_snprintf().
class Format {
  public:
    Format(CBody& body, llvm::CallBase& call)
        : body_(body), ir_(body.ir), call_(call), module_(*body.function.getParent()) {}

    void run() {
        llvm::StringRef format;
        auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(call_.getArgOperand(bytes_at));
        if (!bytes || !llvm::getConstantStringInfo(call_.getArgOperand(format_at), format))
            return;
        given_ = bytes->getZExtValue() / 8;
        ir_.SetInsertPoint(&call_);
        for (size_t at = 0; at < format.size();) {
            if (format[at] != '%') {
                out_ += format[at++];
            } else if (at + 1 < format.size() && format[at + 1] == '%') {
                out_ += "%%";
                at += 2;
            } else if (!convert(read_conversion({format.data(), format.size()}, at))) {
                return;
            }
        }
        if (taken_ != given_) {
            body_.refuse(call_, fmt::format("the format takes {} value{}, but {} {} given", taken_,
                                            taken_ == 1 ? "" : "s", given_, given_ == 1 ? "is" : "are"));
            return;
        }
        if (values_.size() > most_values) {
            body_.refuse(call_, "a format of C can have at most twelve values, and `%pM` takes six");
            return;
        }
        if (is_changed_)
            replace(format);
    }

  private:
    bool refuse(const std::string& message) {
        body_.refuse(call_, message);
        return false;
    }
    bool refuse_kind(const Conversion& one) {
        return refuse(fmt::format(
            "`{}` is not a conversion of C in BPF; use one of `%d %i %u %x %X %o %c %s %p`, with `h`, `l` or `z`",
            one.text));
    }

    llvm::Value* take() {
        llvm::Value* at = call_.getArgOperand(values_at);
        return ir_.CreateLoad(ir_.getInt64Ty(), ir_.CreateConstInBoundsGEP1_64(ir_.getInt64Ty(), at, taken_++));
    }
    void give(llvm::Value* value) { values_.push_back(value); }
    void change(llvm::Value* value) {
        give(value);
        is_changed_ = true;
    }

    bool convert(const Conversion& one) {
        if (!one.kind)
            return refuse(fmt::format("`{}` is not a whole conversion", one.text));
        if (one.width.find('*') != std::string::npos)
            return refuse(fmt::format("`{}`: the width must be in the format, as in `%8d`", one.text));
        // More conversions than values: run() reports that.
        if (taken_ + (one.precision == ".*") >= given_) {
            taken_ += 1 + (one.precision == ".*");
            return true;
        }
        switch (one.kind) {
        case 'd':
        case 'i':
        case 'u':
        case 'x':
        case 'X':
        case 'o':
            return convert_number(one);
        case 'c':
            if (!one.precision.empty() || !one.length.empty())
                return refuse_kind(one);
            out_ += one.text;
            give(take());
            return true;
        case 's':
            return convert_text(one);
        case 'p':
            return convert_pointer(one);
        default:
            return refuse_kind(one);
        }
    }

    bool convert_number(const Conversion& one) {
        const bool is_signed = one.kind == 'd' || one.kind == 'i';
        std::string length = one.length, flags = one.flags, width = one.width, begin;
        if (length.size() == 1 && is_one_of(length[0], "zjtLq"))
            length = "l";
        if (!length.empty() && length != "l" && length != "ll" && length != "h" && length != "hh")
            return refuse_kind(one);
        const unsigned bits = length == "hh" ? 8 : length == "h" ? 16 : length.empty() ? 32 : 64;
        if (!one.precision.empty()) {
            // With a sign or a width, the zeros of a precision differ from those of a width.
            if (is_signed || !flags.empty() || !width.empty() || one.precision == ".*")
                return refuse(fmt::format("`{}`: only `%u`, `%x` and `%o` can have a precision, in the format and "
                                          "without a width (`%.2x`); `%02d` also pads with zeros",
                                          one.text));
            width = std::to_string(std::atoi(one.precision.c_str() + 1));
            flags = width == "0" ? "" : "0";
            width = width == "0" ? "" : width;
        }
        if (flags.find('#') != std::string::npos) {
            const bool has_zeros = flags.find('0') != std::string::npos;
            const int room = std::atoi(width.c_str());
            if ((one.kind != 'x' && one.kind != 'X') || (!width.empty() && !has_zeros) ||
                flags.find_first_not_of("#0") != std::string::npos)
                return refuse(
                    fmt::format("`{}`: only `%x` can have `#`, without a width or with zeros (`%#010x`)", one.text));
            // The kernel prints 0 as `0x0`, C as `0`.
            begin = one.kind == 'x' ? "0x" : "0X";
            flags = has_zeros ? "0" : "";
            width = room > 2 ? std::to_string(room - 2) : "";
        }
        llvm::Value* value = take();
        char kind = one.kind;
        if (bits < 32) {
            value = ir_.CreateTrunc(value, ir_.getIntNTy(bits));
            value = is_signed ? ir_.CreateSExt(value, ir_.getInt64Ty()) : ir_.CreateZExt(value, ir_.getInt64Ty());
            is_changed_ = true;
            length.clear();
        }
        if (kind == 'o') {
            if (bits > 32)
                return refuse(fmt::format("`{}`: octal numbers can have at most 32 bits", one.text));
            value = octal(ir_.CreateAnd(value, 0xffffffff));
            kind = 'u';
            length = "l";
            is_changed_ = true;
        }
        give(value);
        out_ += begin + "%" + flags + width + length + kind;
        is_changed_ = is_changed_ || one.text != "%" + flags + width + length + kind;
        return true;
    }

    // A decimal number that has the octal digits of the value (at most eleven): 420, in octal 644, gives 644.
    llvm::Value* octal(llvm::Value* value) {
        llvm::Value* out = ir_.getInt64(0);
        uint64_t weight = 1;
        for (unsigned bit = 0; bit < 32; bit += 3, weight *= 10)
            out = ir_.CreateAdd(out, ir_.CreateMul(ir_.CreateAnd(ir_.CreateLShr(value, bit), 7), ir_.getInt64(weight)));
        return out;
    }

    // The value that was stored at this index, if it is known.
    llvm::Value* stored(unsigned index) {
        auto* values = llvm::dyn_cast<llvm::AllocaInst>(call_.getArgOperand(values_at)->stripPointerCasts());
        if (!values)
            return nullptr;
        llvm::Value* found = nullptr;
        llvm::SmallVector<llvm::User*, 16> users(values->users());
        while (!users.empty()) {
            llvm::User* user = users.pop_back_val();
            if (llvm::isa<llvm::GetElementPtrInst>(user))
                users.append(user->user_begin(), user->user_end());
            auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
            llvm::APInt offset(64, 0);
            if (!store ||
                store->getPointerOperand()->stripAndAccumulateConstantOffsets(body_.layout, offset, true) != values)
                continue;
            if (offset == 8 * index) {
                if (found)
                    return nullptr;
                found = store->getValueOperand();
            }
        }
        return found;
    }

    // The address of a constant text of the script or its C, which needs no read. Null: the value is something else.
    llvm::Value* own_text(llvm::Value* value) {
        auto* number = llvm::dyn_cast_or_null<llvm::PtrToIntOperator>(value);
        if (!number)
            return nullptr;
        llvm::SmallVector<const llvm::Value*, 4> objects;
        llvm::getUnderlyingObjects(number->getPointerOperand(), objects, nullptr, 0);
        const bool is_own = llvm::all_of(objects, [](const llvm::Value* object) {
            if (const auto* made = llvm::dyn_cast<llvm::CallBase>(object))
                return made->getCalledFunction() && made->getCalledFunction()->getName() == "sonde_mark_slot";
            return llvm::isa<llvm::AllocaInst>(object) || llvm::isa<llvm::GlobalVariable>(object) ||
                   llvm::isa<llvm::Argument>(object);
        });
        return is_own ? number->getPointerOperand() : nullptr;
    }

    // Converts the number to a pointer. On a path that is never taken, the verifier may know a pointer instead of the
    // number and refuse to compute with it; hence as_scalar().
    llvm::Value* pointer_to(llvm::Value* number) { return ir_.CreateIntToPtr(body_.as_scalar(number), ir_.getPtrTy()); }
    llvm::Value* call_helper(int64_t number, llvm::Value* to, llvm::Value* size, llvm::Value* from) {
        auto* type =
            llvm::FunctionType::get(ir_.getInt64Ty(), {ir_.getPtrTy(), ir_.getInt32Ty(), ir_.getPtrTy()}, false);
        llvm::Value* helper =
            llvm::ConstantExpr::getIntToPtr(ir_.getInt64(static_cast<uint64_t>(number)), ir_.getPtrTy());
        llvm::Value* status = ir_.CreateCall(type, helper, {to, size, from});
        auto* check = llvm::FunctionType::get(ir_.getVoidTy(), {ir_.getInt64Ty(), ir_.getPtrTy()}, false);
        ir_.CreateCall(module_.getOrInsertFunction("sonde_mark_read", check), {status, from});
        return status;
    }
    llvm::AllocaInst* new_variable(llvm::Type* type) {
        llvm::IRBuilderBase::InsertPointGuard guard(ir_);
        ir_.SetInsertPoint(&*body_.function.getEntryBlock().begin());
        ir_.SetCurrentDebugLocation({});
        return ir_.CreateAlloca(type);
    }

    // A string of the script's C is passed as it is. Any other string is first read by its first byte, so that an
    // invalid pointer is an error. With a precision, the bytes are copied to a slot, and the copy is printed.
    bool convert_text(const Conversion& one) {
        if (!one.length.empty() || one.flags.find_first_not_of('-') != std::string::npos)
            return refuse_kind(one);
        llvm::Value* precision = one.precision == ".*" ? take() : nullptr;
        llvm::Value* from = own_text(stored(taken_));
        llvm::Value* value = take();
        const bool is_own = from;
        if (!is_own) {
            // The kernel prints a null pointer this way.
            llvm::Value* none = ir_.CreateGlobalString("(null)", "null");
            auto* number = ir_.Insert(new llvm::PtrToIntInst(none, ir_.getInt64Ty()));
            value = ir_.CreateSelect(ir_.CreateICmpEQ(value, ir_.getInt64(0)), number, value);
            from = pointer_to(value);
            is_changed_ = true;
        }
        if (one.precision.empty()) {
            if (!is_own)
                call_helper(read_memory, new_variable(ir_.getInt64Ty()), ir_.getInt32(1), from);
            give(value);
            out_ += one.text;
            return true;
        }
        const uint64_t most = body_.limits.max_string - 1;
        llvm::Value* size = nullptr;
        if (precision) {
            // A negative precision counts as none.
            llvm::Value* wanted = ir_.CreateSExt(ir_.CreateTrunc(precision, ir_.getInt32Ty()), ir_.getInt64Ty());
            wanted = ir_.CreateSelect(ir_.CreateICmpULT(wanted, ir_.getInt64(most)), wanted, ir_.getInt64(most));
            size = ir_.CreateTrunc(ir_.CreateAdd(wanted, ir_.getInt64(1)), ir_.getInt32Ty());
        } else {
            const uint64_t wanted = std::strtoul(one.precision.c_str() + 1, nullptr, 10);
            size = ir_.getInt32(static_cast<uint32_t>(std::min(wanted, most) + 1));
        }
        auto* slot = llvm::FunctionType::get(ir_.getPtrTy(), false);
        llvm::Value* copy = ir_.CreateCall(module_.getOrInsertFunction("sonde_mark_slot", slot));
        call_helper(read_text, copy, size, from);
        change(ir_.CreatePtrToInt(copy, ir_.getInt64Ty()));
        out_ += "%" + one.flags + one.width + "s";
        return true;
    }

    bool convert_pointer(const Conversion& one) {
        const std::string& more = one.more;
        if (!one.precision.empty() || !one.length.empty())
            return refuse_kind(one);
        if (more == "M" || more == "m") {
            if (!one.flags.empty() || !one.width.empty())
                return refuse(fmt::format("`{}` cannot have a width in BPF", one.text));
            llvm::AllocaInst* bytes = new_variable(llvm::ArrayType::get(ir_.getInt8Ty(), 8));
            llvm::Value* own = own_text(stored(taken_));
            llvm::Value* number = take();
            call_helper(read_memory, bytes, ir_.getInt32(6), own ? own : pointer_to(number));
            for (unsigned i = 0; i < 6; i++) {
                llvm::Value* at = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), bytes, i);
                change(ir_.CreateZExt(ir_.CreateLoad(ir_.getInt8Ty(), at), ir_.getInt64Ty()));
                out_ += i && more == "M" ? ":%02x" : "%02x";
            }
            return true;
        }
        if (!more.empty() && !is_one_of(more[0], "KxsSB") && !more.starts_with("I4") && !more.starts_with("i4") &&
            !more.starts_with("I6") && !more.starts_with("i6"))
            return refuse(fmt::format(
                "`%p{}` is not a conversion of C in BPF; write one of `x s S B K I4 i4 I6 i6 M` after `%p`", more[0]));
        out_ += one.text;
        give(take());
        return true;
    }

    void replace(llvm::StringRef format) {
        llvm::Value* values = call_.getArgOperand(values_at);
        if (values_.size() != given_) {
            values = new_variable(llvm::ArrayType::get(ir_.getInt64Ty(), values_.size()));
            ir_.SetInsertPoint(&call_);
            call_.setArgOperand(values_at, values);
            call_.setArgOperand(bytes_at,
                                llvm::ConstantInt::get(call_.getArgOperand(bytes_at)->getType(), 8 * values_.size()));
        }
        for (size_t i = 0; i < values_.size(); i++)
            ir_.CreateStore(values_[i], ir_.CreateConstInBoundsGEP1_64(ir_.getInt64Ty(), values, i));
        if (out_ != format)
            call_.setArgOperand(format_at, ir_.CreateGlobalString(out_, "format"));
    }

    CBody& body_;
    llvm::IRBuilder<>& ir_;
    llvm::CallBase& call_;
    llvm::Module& module_;
    std::string out_; // the new format
    std::vector<llvm::Value*> values_;
    uint64_t taken_ = 0, given_ = 0; // counts of values
    bool is_changed_ = false;
};

} // namespace

void rewrite_formats(CBody& body) {
    std::vector<llvm::CallBase*> calls;
    for (llvm::BasicBlock& block : body.function)
        for (llvm::Instruction& at : block)
            if (auto* call = llvm::dyn_cast<llvm::CallBase>(&at))
                if (std::optional<uint64_t> number = helper_number(*call);
                    number && helper_name(*number) == "bpf_snprintf")
                    calls.push_back(call);
    for (llvm::CallBase* call : calls)
        Format(body, *call).run();
}

} // namespace sonde
