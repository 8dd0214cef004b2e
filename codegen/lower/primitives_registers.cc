// Primitives for registers, arguments and results at a probe.
//
// A function is lowered separately for each kind of probe that calls it, so this code always knows which registers
// exist.
#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "arch/architecture.h"
#include "base/check.h"
#include "codegen/lower/constant_texts.h"
#include "codegen/lower/errors.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/memory.h"
#include "codegen/lower/primitives.h"
#include "codegen/lower/registers.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

constexpr const char* no_registers = "cannot access CPU registers in this context";

bool has_registers(const Lowerer& l) { return plan::traits(l.root->kind).has_registers; }

// Whether the probe is a raw tracepoint of all system calls.
bool at_syscall(const Lowerer& l) {
    return plan::is_about(l.root->kind, plan::Subject::Tracepoint) && !l.root->points.empty() &&
           std::ranges::all_of(l.root->points, [](const plan::Point& point) {
               return point.symbol == "sys_enter" || point.symbol == "sys_exit";
           });
}

// Whether the probe also sees system calls of 32-bit programs.
bool sees_32_bit_calls(const Lowerer& l) {
    return at_syscall(l) ? std::ranges::any_of(
                               l.root->points,
                               [](const plan::Point& point) { return point.number < 0 || !point.narrow_calls.empty(); })
                         : plan::is_about(l.root->kind, plan::Subject::SystemCall);
}

// Both raw tracepoints pass the registers as the first argument.
llvm::Value* syscall_register(Lowerer& l, int reg) {
    Emitter& e = l.e;
    llvm::Value* value = e.scratch("load", 8);
    e.CreateStore(e.number(0), value);
    llvm::Value* registers = l.target.registers().argument(l.env, 0);
    l.target.memory().read(l.env, value, 8, e.CreateAdd(registers, e.number(e.registers().offset(reg))), false);
    return e.CreateLoad(e.i64(), value);
}

llvm::Value* syscall_argument(Lowerer& l, int argument) {
    const int reg = l.e.system_calls().kept(argument);
    return at_syscall(l) ? syscall_register(l, reg) : l.target.registers().read(l.env, reg);
}

constexpr size_t widths = RegisterNames::widths;

// A register that a script can name.
struct RegisterRow {
    const RegisterNames* names;
    int number; // as in hir::Register
};
std::vector<RegisterRow> register_rows(const RegisterFile& file) {
    std::vector<RegisterRow> out;
    for (const RegisterNames& names : file.names)
        out.push_back({&names, static_cast<int>(out.size())});
    for (const StateRegister& one : file.state)
        out.push_back({&one.names, one.number});
    return out;
}

// The index of a register's name in the order of the rows, with five names in each row; nullopt if no register has this
// name. The index therefore also says which part of the register the name means: index % 5 is 0 for rax, 1 for eax, 2
// for ax, 3 for al, and 4 for ah.
std::optional<size_t> register_number(const RegisterFile& file, std::string_view name) {
    const std::vector<RegisterRow> rows = register_rows(file);
    for (size_t i = 0; !name.empty() && i < rows.size() * widths; i++)
        if (name == rows[i / widths].names->names[i % widths])
            return i;
    return std::nullopt;
}

llvm::Value* numbered_register(Lowerer& l, size_t number, bool is_unsigned) {
    Emitter& e = l.e;
    const size_t width = number % widths;
    llvm::Value* value = read_register(l, register_rows(e.registers())[number / widths].number);
    if (width == 0)
        return value;
    const bool high = width == 4;
    llvm::Value* narrow = e.CreateTrunc(high ? e.CreateLShr(value, 8) : value, e.getIntNTy(high ? 8 : 64u >> width));
    return is_unsigned ? e.CreateZExt(narrow, e.i64()) : e.CreateSExt(narrow, e.i64());
}

// The same for a name that is known only at the hit.
llvm::Value* named_register(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    Mark mark(l);
    // Rows without such a name get "-", which no other text in a script equals.
    std::string table;
    size_t count = 0;
    const std::vector<RegisterRow> rows = register_rows(e.registers());
    for (const RegisterRow& row : rows)
        for (const char* one : row.names->names) {
            std::string cell = *one ? one : "-";
            cell.resize(name_cell);
            table += cell;
            count++;
        }
    table.resize(std::bit_ceil(count + 1) * name_cell);
    llvm::Value* name = lower_slot(l, *expr.args[0]);
    llvm::Value* found = e.routine("sonde_rt_find_cell", e.i64(),
                                   {number_of(l, e.literal(table), name), e.number(static_cast<int64_t>(count)), name});
    llvm::Value* result = e.stack(8);
    llvm::BasicBlock *unknown = e.block("unknown_register"), *end = e.block("register");
    llvm::SwitchInst* which = e.CreateSwitch(found, unknown, static_cast<unsigned>(count));
    for (size_t i = 0; i < count; i++) {
        if (!*rows[i / widths].names->names[i % widths])
            continue;
        llvm::BasicBlock* one = e.block("named");
        which->addCase(e.getInt64(i), one);
        e.SetInsertPoint(one);
        e.CreateStore(numbered_register(l, i, expr.facts.is_unsigned), result);
        e.CreateBr(end);
    }
    e.SetInsertPoint(unknown);
    llvm::Value* message = l.new_slot();
    llvm::Value* length = e.routine("sonde_rt_copy", e.i64(), {message, e.literal("Unknown register: ")});
    e.routine("sonde_rt_append", e.i64(), {message, length, name});
    raise_text(l, message, expr.range);
    e.SetInsertPoint(end);
    return e.CreateLoad(e.i64(), result);
}

} // namespace

// At a kernel breakpoint, the instruction pointer can be after the breakpoint instruction, so the probed address is
// taken instead.
llvm::Value* read_register(Lowerer& l, int dwarf) {
    const int instruction_pointer = l.e.registers().instruction_pointer;
    const bool breakpoint = plan::is_kernel_breakpoint(l.root->kind) && !plan::traits(l.root->kind).at_return;
    return dwarf == instruction_pointer && breakpoint ? l.target.registers().kernel_function(l.env)
                                                      : l.target.registers().read(l.env, dwarf);
}

namespace {
llvm::Value* is_64_bit(Lowerer& l) {
    const RegisterTest& test = l.e.registers().in_wide_mode;
    return holds(l.e, test, l.target.registers().read(l.env, test.number));
}
} // namespace

llvm::Value* return_address(Lowerer& l) {
    Emitter& e = l.e;
    const int stack_pointer = l.e.registers().stack_pointer, return_register = l.e.registers().call.return_register;
    if (return_register >= 0)
        return l.target.registers().read(l.env, return_register);
    llvm::Value* word = e.scratch("load", 8);
    e.CreateStore(e.number(0), word);
    l.target.memory().read(l.env, word, 8, l.target.registers().read(l.env, stack_pointer), true);
    return e.CreateAnd(e.CreateLoad(e.i64(), word), e.CreateSelect(is_64_bit(l), e.number(-1), e.number(UINT32_MAX)));
}

llvm::Value* callers_stack(Lowerer& l) {
    Emitter& e = l.e;
    const RegisterFile& registers = e.registers();
    return e.CreateAdd(
        l.target.registers().read(l.env, registers.stack_pointer),
        e.CreateSelect(is_64_bit(l), e.number(registers.call.pushed), e.number(registers.call.pushed_in_32_bit_mode)));
}

llvm::Value* emit_registers_valid(Lowerer& l, const hir::Intrinsic&) { return l.e.number(has_registers(l)); }

// The place of an argument depends on the kind of the probe:
//
//     trampoline            the array of arguments that the kernel passes
//     system call           the registers of the system call ABI, of 32-bit programs too; at most six
//     function              the first ones in registers, the others on the stack above the return address
//     function, i386        an error: the places on the stack depend on the instruction
//
// The number is known only at run time, so the code is a `switch` over all registers.
llvm::Value* emit_argument(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    using enum plan::ProbeKind;
    llvm::Value* number = lower(l, *expr.args[0]);
    plan::ProbeKind kind = l.root->kind;
    bool trampoline = kind == Fentry || kind == Fexit;
    if (!has_registers(l) && !trampoline && !at_syscall(l)) {
        raise(l, no_registers, expr.range);
        e.SetInsertPoint(e.block("after_error"));
        return e.number(0);
    }
    raise_if(l, e.CreateICmpSLT(number, e.number(1)), "cannot fetch argument number %#x", expr.range, number);
    if (trampoline) {
        llvm::Value* fault = nullptr;
        llvm::Value* value = l.target.registers().numbered_argument(l.env, e.CreateSub(number, e.number(1)), fault);
        raise_if(l, e.CreateICmpNE(fault, e.number(0)), "cannot fetch argument number %#x", expr.range, number);
        return value;
    }
    llvm::Value* result = e.stack(8);
    const RegisterFile& registers = l.e.registers();
    const SystemCalls& calls = l.e.system_calls();
    const bool in_call = at_syscall(l) || plan::is_about(kind, plan::Subject::SystemCall);
    llvm::Value* narrow = sees_32_bit_calls(l) ? l.target.task().number(l.env, hir::TaskNumber::In32BitCall) : nullptr;
    // 32-bit programs pass arguments on the stack (i386's psABI, 2.2.3). Their positions depend on the instruction.
    if (plan::is_uprobe(kind)) {
        const RegisterTest& test = registers.in_32_bit_mode;
        raise_if(l, holds(e, test, l.target.registers().read(l.env, test.number)),
                 "a 32-bit program has its arguments on the stack; use `$NAME`", expr.range);
    }
    llvm::BasicBlock *end = e.block("argument"), *above = e.block("above");
    llvm::SwitchInst* which = e.CreateSwitch(number, above, 6);
    const size_t in_registers = in_call ? calls.arguments.size() : registers.arguments.size();
    for (size_t i = 0; i < in_registers; i++) {
        llvm::BasicBlock* one = e.block("register");
        which->addCase(e.getInt64(i + 1), one);
        e.SetInsertPoint(one);
        llvm::Value* value = in_call ? syscall_argument(l, calls.arguments[i])
                                     : l.target.registers().read(l.env, registers.arguments[i]);
        if (narrow)
            value = e.CreateSelect(e.CreateICmpNE(narrow, e.number(0)),
                                   e.CreateAnd(syscall_argument(l, calls.narrow_arguments[i]), e.number(0xffffffff)),
                                   value);
        e.CreateStore(value, result);
        e.CreateBr(end);
    }
    e.SetInsertPoint(above);
    if (in_call) {
        raise(l, "cannot fetch argument number %#x", expr.range, number);
    } else {
        // Above the return address.
        const auto first = static_cast<int64_t>(in_registers) + 1;
        llvm::Value* place = e.CreateAdd(e.CreateMul(e.CreateSub(number, e.number(first)), e.number(8)),
                                         e.number(registers.call.pushed));
        hir::Load read(expr.range, nullptr, 8, false);
        read.user = kind != Kprobe && kind != Kretprobe;
        e.CreateStore(load(l, read, e.CreateAdd(l.target.registers().read(l.env, registers.stack_pointer), place)),
                      result);
        e.CreateBr(end);
    }
    e.SetInsertPoint(end);
    return e.CreateLoad(e.i64(), result);
}

llvm::Value* emit_result(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    using enum plan::ProbeKind;
    if (at_syscall(l))
        return syscall_register(l, l.e.system_calls().result);
    if (l.root->kind == Fexit)
        return l.target.registers().argument(l.env, hir::Argument::result);
    if (has_registers(l))
        return l.target.registers().read(l.env, l.e.registers().result());
    raise(l, no_registers, expr.range);
    e.SetInsertPoint(e.block("after_error"));
    return e.number(0);
}

llvm::Value* emit_uaddr(Lowerer& l, const hir::Intrinsic&) {
    if (!l.e.in_kernel())
        return l.e.number(0);
    if (!plan::is_uprobe(l.root->kind))
        return l.target.registers().user_address(l.env);
    if (l.at_exit) // as after the return
        return return_address(l);
    return l.target.registers().read(l.env, l.e.registers().instruction_pointer);
}

llvm::Value* emit_addr(Lowerer& l, const hir::Intrinsic&) {
    if (plan::is_kernel_function(l.root->kind))
        return l.target.registers().kernel_function(l.env);
    return has_registers(l) ? l.target.registers().read(l.env, l.e.registers().instruction_pointer) : l.e.number(0);
}

llvm::Value* emit_user_mode(Lowerer& l, const hir::Intrinsic&) { return l.target.registers().user_mode(l.env); }

llvm::Value* emit_register(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    const hir::Expr& name = *expr.args[0];
    const bool literal = name.kind == hir::ExprKind::ConstString;
    std::optional<size_t> number =
        literal ? register_number(e.registers(), hir::as<hir::ConstString>(name).value) : std::optional<size_t>();
    if (has_registers(l) && number)
        return numbered_register(l, *number, expr.facts.is_unsigned);
    if (has_registers(l) && !literal)
        return named_register(l, expr);
    if (has_registers(l))
        raise_text(l, e.literal("Unknown register: " + hir::as<hir::ConstString>(name).value), expr.range);
    else
        raise(l, no_registers, expr.range);
    e.SetInsertPoint(e.block("after_error"));
    return e.number(0);
}

llvm::Value* emit_set_register(Lowerer& l, const hir::Intrinsic& expr) {
    CHECK(expr.args[0]->kind == hir::ExprKind::ConstLong);
    llvm::Value* value = lower(l, *expr.args[1]);
    note_change(l, expr.range, "a register's new value");
    l.target.registers().write(l.env, static_cast<int>(hir::as<hir::ConstLong>(*expr.args[0]).value), value);
    return value;
}

} // namespace sonde
