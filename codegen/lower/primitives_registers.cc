// Registers, arguments and results at a probe.
//
// A function is lowered anew for each kind of probe that calls it, so that here too it is known what there is.
#include <bit>
#include <iterator>
#include <optional>
#include <string_view>

#include "codegen/lower/lower.h"

namespace sonde {
namespace {

constexpr const char* no_registers = "cannot access CPU registers in this context";
// Arguments that the ABI passes in registers: System V psABI 3.2.3; the kernel takes the fourth one of a system call in
// r10.
constexpr int argument_registers[] = {5, 4, 1, 2, 8, 9};
constexpr uint64_t syscall_arguments[] = {112, 104, 96, 56, 72, 64}; // in struct pt_regs
constexpr uint64_t syscall_result = 80;

} // namespace

bool Lowering::has_registers() const { return plan::traits(root_->kind).has_registers; }

// At the raw tracepoint of all system calls.
bool Lowering::at_syscall() const {
    return plan::is_about(root_->kind, plan::Subject::Tracepoint) && !root_->points.empty() &&
           root_->points[0].number >= 0;
}

// Both raw tracepoints give the registers first.
llvm::Value* Lowering::syscall_register(uint64_t offset) {
    llvm::Value* value = e_.scratch("load", 8);
    e_.CreateStore(e_.number(0), value);
    llvm::Value* registers = t_.registers().argument(env_, 0);
    t_.memory().read(env_, value, 8, e_.CreateAdd(registers, e_.number(static_cast<int64_t>(offset))), false);
    return e_.CreateLoad(e_.i64(), value);
}

llvm::Value* Lowering::emit_registers_valid(const hir::Intrinsic&) { return e_.number(has_registers()); }

llvm::Value* Lowering::emit_argument(const hir::Intrinsic& expr) {
    using enum plan::ProbeKind;
    llvm::Value* number = lower(*expr.args[0]);
    plan::ProbeKind kind = root_->kind;
    bool trampoline = kind == Fentry || kind == Fexit;
    if (!has_registers() && !trampoline && !at_syscall()) {
        raise(no_registers, expr.range);
        e_.SetInsertPoint(e_.block("after_error"));
        return e_.number(0);
    }
    raise_if(e_.CreateICmpSLT(number, e_.number(1)), "cannot fetch argument number %#x", expr.range, number);
    if (trampoline) {
        llvm::Value* fault = nullptr;
        llvm::Value* value = t_.registers().numbered_argument(env_, e_.CreateSub(number, e_.number(1)), fault);
        raise_if(e_.CreateICmpNE(fault, e_.number(0)), "cannot fetch argument number %#x", expr.range, number);
        return value;
    }
    llvm::Value* result = e_.stack(8);
    llvm::BasicBlock *end = e_.block("argument"), *above = e_.block("above");
    llvm::SwitchInst* which = e_.CreateSwitch(number, above, 6);
    for (unsigned i = 0; i < 6; i++) {
        llvm::BasicBlock* one = e_.block("register");
        which->addCase(e_.getInt64(i + 1), one);
        e_.SetInsertPoint(one);
        e_.CreateStore(at_syscall() ? syscall_register(syscall_arguments[i])
                                    : t_.registers().read(env_, argument_registers[i]),
                       result);
        e_.CreateBr(end);
    }
    e_.SetInsertPoint(above);
    if (at_syscall()) {
        raise("cannot fetch argument number %#x", expr.range, number);
    } else {
        // Above the return address.
        llvm::Value* place = e_.CreateMul(e_.CreateSub(number, e_.number(6)), e_.number(8));
        hir::Load read(expr.range, nullptr, 8, false);
        read.user = kind != Kprobe && kind != Kretprobe;
        e_.CreateStore(load(read, e_.CreateAdd(t_.registers().read(env_, 7), place)), result);
        e_.CreateBr(end);
    }
    e_.SetInsertPoint(end);
    return e_.CreateLoad(e_.i64(), result);
}

llvm::Value* Lowering::emit_result(const hir::Intrinsic& expr) {
    using enum plan::ProbeKind;
    if (at_syscall())
        return syscall_register(syscall_result);
    if (root_->kind == Fexit)
        return t_.registers().argument(env_, hir::Argument::result);
    if (has_registers())
        return t_.registers().read(env_, 0);
    raise(no_registers, expr.range);
    e_.SetInsertPoint(e_.block("after_error"));
    return e_.number(0);
}

llvm::Value* Lowering::emit_uaddr(const hir::Intrinsic&) {
    if (!e_.in_kernel())
        return e_.number(0);
    if (!plan::is_uprobe(root_->kind))
        return t_.registers().user_address(env_);
    return t_.registers().read(env_, 16);
}

// The instruction pointer at a breakpoint in the kernel is behind the instruction that stands in the probed one's
// place.
llvm::Value* Lowering::read_register(int dwarf) {
    constexpr int instruction_pointer = 16;
    const bool breakpoint = plan::is_kernel_breakpoint(root_->kind) && !plan::traits(root_->kind).at_return;
    return dwarf == instruction_pointer && breakpoint ? t_.registers().kernel_function(env_)
                                                      : t_.registers().read(env_, dwarf);
}

llvm::Value* Lowering::emit_addr(const hir::Intrinsic&) {
    if (plan::is_kernel_function(root_->kind))
        return t_.registers().kernel_function(env_);
    return has_registers() ? t_.registers().read(env_, 16) : e_.number(0);
}

llvm::Value* Lowering::emit_user_mode(const hir::Intrinsic&) { return t_.registers().user_mode(env_); }

namespace {

struct RegisterRow {
    const char* names[5]; // 64, 32, 16, 8 bits, and bits 8 to 15
    int dwarf;
};
constexpr RegisterRow register_rows[] = {
    {{"rax", "eax", "ax", "al", "ah"}, 0},
    {{"rdx", "edx", "dx", "dl", "dh"}, 1},
    {{"rcx", "ecx", "cx", "cl", "ch"}, 2},
    {{"rbx", "ebx", "bx", "bl", "bh"}, 3},
    {{"rsi", "esi", "si", "sil", ""}, 4},
    {{"rdi", "edi", "di", "dil", ""}, 5},
    {{"rbp", "ebp", "bp", "bpl", ""}, 6},
    {{"rsp", "esp", "sp", "spl", ""}, 7},
    {{"r8", "r8d", "r8w", "r8b", ""}, 8},
    {{"r9", "r9d", "r9w", "r9b", ""}, 9},
    {{"r10", "r10d", "r10w", "r10b", ""}, 10},
    {{"r11", "r11d", "r11w", "r11b", ""}, 11},
    {{"r12", "r12d", "r12w", "r12b", ""}, 12},
    {{"r13", "r13d", "r13w", "r13b", ""}, 13},
    {{"r14", "r14d", "r14w", "r14b", ""}, 14},
    {{"r15", "r15d", "r15w", "r15b", ""}, 15},
    {{"rip", "eip", "ip", "", ""}, 16},
    {{"rflags", "eflags", "flags", "", ""}, hir::Register::flags},
    {{"cs", "xcs", "", "", ""}, hir::Register::cs},
    {{"ss", "xss", "", "", ""}, hir::Register::ss},
    {{"orig_rax", "orig_eax", "orig_ax", "", ""}, hir::Register::syscall_number},
};
constexpr size_t widths = std::size(register_rows[0].names);

} // namespace

// The number of a register's name among all names, in the order of the rows; none if there is no such register.
static std::optional<size_t> register_number(std::string_view name) {
    for (size_t i = 0; !name.empty() && i < std::size(register_rows) * widths; i++)
        if (name == register_rows[i / widths].names[i % widths])
            return i;
    return std::nullopt;
}

llvm::Value* Lowering::numbered_register(size_t number, bool is_unsigned) {
    const size_t width = number % widths;
    llvm::Value* value = read_register(register_rows[number / widths].dwarf);
    if (width == 0)
        return value;
    const bool high = width == 4;
    llvm::Value* narrow = e_.CreateTrunc(high ? e_.CreateLShr(value, 8) : value, e_.getIntNTy(high ? 8 : 64u >> width));
    return is_unsigned ? e_.CreateZExt(narrow, e_.i64()) : e_.CreateSExt(narrow, e_.i64());
}

llvm::Value* Lowering::emit_register(const hir::Intrinsic& expr) {
    const hir::Expr& name = *expr.args[0];
    const bool literal = name.kind == hir::ExprKind::ConstString;
    std::optional<size_t> number =
        literal ? register_number(hir::as<hir::ConstString>(name).value) : std::optional<size_t>();
    if (has_registers() && number)
        return numbered_register(*number, expr.facts.is_unsigned);
    if (has_registers() && !literal)
        return named_register(expr);
    if (has_registers())
        raise_text(e_.literal("Unknown register: " + hir::as<hir::ConstString>(name).value), expr.range);
    else
        raise(no_registers, expr.range);
    e_.SetInsertPoint(e_.block("after_error"));
    return e_.number(0);
}

// The same by a name that is only known at the hit.
llvm::Value* Lowering::named_register(const hir::Intrinsic& expr) {
    Mark mark(*this);
    // What is not the name of a register is none of the cells' either: these have a character that no script's name
    // has.
    std::string table;
    size_t count = 0;
    for (const RegisterRow& row : register_rows)
        for (const char* one : row.names) {
            std::string cell = *one ? one : "-";
            cell.resize(name_cell);
            table += cell;
            count++;
        }
    table.resize(std::bit_ceil(count + 1) * name_cell);
    llvm::Value* name = lower_slot(*expr.args[0]);
    llvm::Value* found = e_.routine("sonde_rt_find_cell", e_.i64(),
                                    {number_of(e_.literal(table), name), e_.number(static_cast<int64_t>(count)), name});
    llvm::Value* result = e_.stack(8);
    llvm::BasicBlock *unknown = e_.block("unknown_register"), *end = e_.block("register");
    llvm::SwitchInst* which = e_.CreateSwitch(found, unknown, static_cast<unsigned>(count));
    for (size_t i = 0; i < count; i++) {
        if (!*register_rows[i / widths].names[i % widths])
            continue;
        llvm::BasicBlock* one = e_.block("named");
        which->addCase(e_.getInt64(i), one);
        e_.SetInsertPoint(one);
        e_.CreateStore(numbered_register(i, expr.facts.is_unsigned), result);
        e_.CreateBr(end);
    }
    e_.SetInsertPoint(unknown);
    llvm::Value* message = new_slot();
    llvm::Value* length = e_.routine("sonde_rt_copy", e_.i64(), {message, e_.literal("Unknown register: ")});
    e_.routine("sonde_rt_append", e_.i64(), {message, length, name});
    raise_text(message, expr.range);
    e_.SetInsertPoint(end);
    return e_.CreateLoad(e_.i64(), result);
}

} // namespace sonde
