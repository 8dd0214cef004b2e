// Reads and writes memory of the kernel and of programs; finds symbols and mappings for addresses.
//
// All accesses go through routines or helpers, never through plain loads. To the verifier, an address of the script is
// only a number, and the page may be missing. A helper reports a fault by a result other than 0, and the lowering turns
// this into an error of the script.
//
// User memory may be on disk. Only a sleepable program may wait for the page, and the same function of a script can be
// inlined into handlers of both kinds. So each read gets the argument Environment::can_wait, which becomes a constant
// after inlining (separate_waits() in codegen/routines.h).
#include <cstddef>

#include "codegen/bpf/parts.h"
#include "codegen/rtlib/python_value.h"
#include "runtime/plan/kinds.h"

namespace sonde {

llvm::Value* BpfMemory::read(Environment& env, llvm::Value* buffer, uint32_t size, llvm::Value* address, bool user) {
    if (address->getType()->isPointerTy() || !user)
        return helper(e_, probe_read_kernel, {buffer, e_.number(size), address});
    return e_.routine("sonde_rt_read_user", e_.i64(), {buffer, e_.getInt32(size), address, may_wait(env)});
}

llvm::Value* BpfMemory::write(Environment&, llvm::Value* buffer, uint32_t size, llvm::Value* address) {
    return e_.routine("sonde_rt_write_user", e_.i64(), {buffer, e_.getInt32(size), address});
}

llvm::Value* BpfMemory::write_block(Environment&, llvm::Value* slot, llvm::Value* size, llvm::Value* address) {
    return e_.routine("sonde_rt_write_user_block", e_.i64(), {slot, size, address});
}

llvm::Value* BpfMemory::read_block(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address) {
    return e_.routine("sonde_rt_read_user_block", e_.i64(), {slot, size, address, may_wait(env)});
}

llvm::Value* BpfMemory::read_wide(Environment& env, llvm::Value* slot, uint32_t width, llvm::Value* address,
                                  bool user) {
    if (!user)
        return e_.routine("sonde_rt_read_kernel_wide", e_.i64(), {slot, e_.number(width), address});
    return e_.routine("sonde_rt_read_user_wide", e_.i64(), {slot, e_.number(width), address, may_wait(env)});
}

llvm::Value* BpfMemory::read_string(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address,
                                    bool user) {
    llvm::Value* got = user ? e_.routine("sonde_rt_read_user_string", e_.i64(), {slot, size, address, may_wait(env)})
                            : e_.routine("sonde_rt_read_kernel_string", e_.i64(), {slot, size, address});
    return e_.CreateZExt(e_.CreateICmpSLT(got, e_.number(0)), e_.i64());
}

// Also records that this program, and all later ones with the same functions, must be loaded as sleepable. Programs
// that read performance counters are exceptions: the kernel does not let these sleep.
llvm::Value* BpfMemory::may_wait(Environment& env) {
    bpf_.sleeps = bpf_.sleeps || (plan::is_uprobe(bpf_.kind) && !bpf_.looks_at_counters);
    return env.can_wait;
}

void BpfMemory::symbol(Environment&, llvm::Value* slot, llvm::Value* address, llvm::Value* style, llvm::Value* work) {
    e_.routine("sonde_rt_symbol", e_.i64(), {slot, address, style, work});
}

void BpfMemory::kernel_symbol(Environment&, llvm::Value* slot, llvm::Value* address, llvm::Value* style,
                              llvm::Value* work) {
    e_.routine("sonde_rt_kernel_symbol", e_.i64(), {slot, address, style, work});
}

llvm::Value* BpfMemory::python_value(Environment& env, llvm::Value* slot, llvm::Value* work, llvm::Value* steps,
                                     llvm::Value* address) {
    bpf_.reads_python = true;
    constexpr size_t size = sizeof(sonde_python_work::steps) + sizeof(sonde_python_work::names);
    helper(e_, probe_read_kernel, {e_.offset(work, offsetof(sonde_python_work, steps)), e_.number(size), steps});
    return e_.routine("sonde_rt_python_value", e_.i64(), {slot, work, address, may_wait(env)});
}

llvm::Value* BpfMemory::node(llvm::Value* address) { return e_.routine("sonde_rt_memory_node", e_.i64(), {address}); }

} // namespace sonde
