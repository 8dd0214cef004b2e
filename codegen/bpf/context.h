// What all parts of the BPF target work with: the emitter, the program that is being lowered, calls of the kernel's
// helpers, maps by their names.
#pragma once

#include <initializer_list>
#include <string>

#include "codegen/emitter.h"
#include "codegen/session_legs.h"
#include "frontend/hir/hir.h"
#include "runtime/plan.h"

namespace sonde {

// Of the kernel (include/uapi/linux/bpf.h).
enum Helper : uint64_t {
    map_lookup_elem = 1,
    map_update_elem = 2,
    map_delete_elem = 3,
    ktime_get_ns = 5,
    trace_printk = 6,
    get_smp_processor_id = 8,
    get_current_pid_tgid = 14,
    get_current_uid_gid = 15,
    get_current_comm = 16,
    get_current_task = 35,
    probe_read_kernel = 113,
    probe_read_kernel_str = 115,
    send_signal = 109,
    send_signal_thread = 117,
    ringbuf_output = 130,
    ringbuf_reserve = 131,
    ringbuf_submit = 132,
    ringbuf_query = 134,
    get_func_ip = 173,
    get_attach_cookie = 174,
    get_func_arg = 183,
    get_func_arg_cnt = 185, // 5.17, bpf: Add get_func_[arg|ret|arg_cnt] helpers
    get_func_ret = 184,
    get_current_task_btf = 158,
    ktime_get_tai_ns = 208,     // 6.1, bpf: Add BPF-helper for accessing CLOCK_TAI
    task_pt_regs = 175,         // 5.15, bpf: Add bpf_task_pt_regs() helper
    get_current_cgroup_id = 80, // 4.18, bpf: implement bpf_get_current_cgroup_id() helper
};

// DWARF's numbers of registers (System V psABI, figure 3.36).
constexpr int dwarf_rbp = 6, dwarf_rsp = 7, dwarf_r14 = 14, dwarf_rip = 16;

struct BpfContext {
    explicit BpfContext(Emitter& emitter);

    Emitter& e;
    PlanState& state;
    llvm::GlobalVariable* data; // the data area
    // A program reads user memory, whose pages may have to be waited for.
    bool sleeps = false;

    // ---- the program that is being lowered
    plan::ProbeKind kind = plan::ProbeKind::Begin;
    uint32_t probe = 0;
    SessionLegs legs;                // of its handler
    bool saves_entry = false;        // it is the program, or the leg, for the function's entry
    bool at_syscall_event = false;   // of a system call, at the perf event of its tracepoint
    bool looks_at_counters = false;  // then it may not wait
    bool writes_registers = false;   // some handler does
    llvm::Value* argument = nullptr; // the program's context
    llvm::BasicBlock* out = nullptr; // where it ends, when it holds nothing
    llvm::Value* refused = nullptr;  // leg for the entry: 1 until it is known that the return is wanted
};

// Calls one of the kernel's helpers, which gives a number or a pointer.
llvm::Value* helper(Emitter& e, uint64_t which, std::initializer_list<llvm::Value*> args);
llvm::Value* helper_pointer(Emitter& e, uint64_t which, std::initializer_list<llvm::Value*> args);
// A map, which may be referred to before its type is known (maps.h).
llvm::Value* map_reference(Emitter& e, const std::string& name);
// A pointer to a key of 4 bytes.
llvm::Value* u32_key(Emitter& e, uint32_t value);
llvm::Constant* constant_words(Emitter& e, llvm::ArrayRef<uint64_t> words, const char* name);
// Goes on only if the condition holds; otherwise the handler ends.
void go_if(BpfContext& bpf, llvm::Value* condition);
// A word of what the kernel hands the program.
llvm::Value* context_word(Emitter& e, llvm::Value* context, uint64_t at);
// Words of the context stay where the code has read them: handlers write there.
void order_context_words(llvm::Module& module);

} // namespace sonde
