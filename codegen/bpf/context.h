// The common tools of the BPF target: the emitter, the state of the program that is being lowered, calls of the
// kernel's helpers, and maps by name.
#pragma once

#include <initializer_list>
#include <string>

#include "codegen/emit/emitter.h"
#include "codegen/emit/session_split.h"
#include "frontend/hir/hir.h"
#include "runtime/plan/plan.h"

namespace sonde {

// Numbers of BPF helpers (include/uapi/linux/bpf.h).
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
    tail_call = 12,
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

// The state that all parts of the BPF target share. There is one object for each module; the second half of its members
// belongs to the program that is being lowered, and BpfPrograms::begin() resets it.
struct BpfContext {
    explicit BpfContext(Emitter& emitter);

    Emitter& e;
    PlanState& state;
    llvm::GlobalVariable* data; // the session's data area
    // Some program reads user memory and may have to wait for its page.
    bool sleeps = false;
    bool reads_python = false; // some program needs the layouts of interpreters

    // ---- state of the program that is being lowered
    plan::ProbeKind kind{}; // Begin
    uint32_t probe = 0;
    SessionSplit split;              // the handler's choices about a session program
    bool saves_entry = false;        // this program (or this part of a session program) runs at the function's entry
    bool at_syscall_event = false;   // a system call's program, attached to the perf event of its tracepoint
    bool looks_at_counters = false;  // reads performance counters, so it may not sleep
    bool writes_registers = false;   // some handler writes registers
    llvm::Value* argument = nullptr; // the program's argument: its context
    llvm::BasicBlock* out = nullptr; // where the program ends if it has claimed nothing
    llvm::Value* refused = nullptr;  // entry part: points to a word that is 1 until the return is known to be wanted
};

// Calls a helper of the kernel that returns a number (or, helper_pointer(), a pointer).
llvm::Value* helper(Emitter& e, uint64_t which, std::initializer_list<llvm::Value*> args);
llvm::Value* helper_pointer(Emitter& e, uint64_t which, std::initializer_list<llvm::Value*> args);
// The address of a map. The map may be declared later (maps.h).
llvm::Value* map_reference(Emitter& e, const std::string& name);
// A pointer to a constant key of 4 bytes.
llvm::Value* u32_key(Emitter& e, uint32_t value);
// A constant array of 64-bit words in the module.
llvm::Constant* constant_words(Emitter& e, llvm::ArrayRef<uint64_t> words, const char* name);
// Goes on only if the condition (an i1) holds; otherwise the handler ends.
void go_if(BpfContext& bpf, llvm::Value* condition);
// The value of a saved register, of which `word` has been read.
llvm::Value* whole_register(Emitter& e, int number, llvm::Value* word);
// The 64-bit word at byte offset `at` of the program's context.
llvm::Value* context_word(Emitter& e, llvm::Value* context, uint64_t at);
// Call it if a handler writes registers: prevents the optimizer from moving loads of the context across these writes.
void order_context_words(llvm::Module& module);

} // namespace sonde
