// Detects the features of a kernel that is not running, so that nothing can be tested.
//
// The idea: the kernel's types (BTF) list its functions, structures and enumerations. For each feature there is a
// function that implements the feature, or a member or enumerator that the same change added. The commit titles below
// name these changes.
//
// Types do not show what is decided when the machine starts (security modules, lockdown). The session reports this.
#include <algorithm>

#include <linux/btf.h>

#include "base/btf_file.h"
#include "runtime/kernel/features.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

bool has_function(const BtfFile& types, const char* name) { return types.find(name, BTF_KIND_FUNC) != 0; }

// Returns whether the type has an entry (btf_member, btf_enum) with this name.
template <typename Entry> bool has_entry(const BtfFile& types, const char* type, uint32_t kind, std::string_view name) {
    const btf_type* found = types.at(types.find(type, kind));
    if (!found)
        return false;
    const Entry* entries = BtfFile::entries<Entry>(*found);
    return std::any_of(entries, entries + BtfFile::entry_count(*found),
                       [&](const Entry& entry) { return types.name(entry.name_off) == name; });
}

bool has_member(const BtfFile& types, const char* record, std::string_view member) {
    return has_entry<btf_member>(types, record, BTF_KIND_STRUCT, member);
}

bool has_enumerator(const BtfFile& types, const char* enumeration, std::string_view name) {
    return has_entry<btf_enum>(types, enumeration, BTF_KIND_ENUM, name);
}

// What the types show about handlers that decide.
struct DecisionsByTypes {
    std::string why_not_fentry;
    bool netfilter, lsm, error_injection;
    std::string_view call_prefix; // SystemCalls::function_prefix

    std::string why_not(plan::ProbeKind kind, const std::string& function) const {
        switch (plan::traits(kind).decision) {
        case plan::Decision::None:
            return "";
        case plan::Decision::Verdict:
            return netfilter ? "" : "it has no BPF programs for packets (CONFIG_NETFILTER_BPF_LINK)";
        case plan::Decision::Refusal:
            if (!lsm)
                return "it is built without BPF security hooks (CONFIG_BPF_LSM)";
            break;
        case plan::Decision::Result:
            break;
        }
        if (!why_not_fentry.empty())
            return "it has no trampolines (fentry): " + why_not_fentry;
        if (plan::traits(kind).decision == plan::Decision::Refusal)
            return "";
        // Types do not show which functions are on the list, and whether system calls are accepted without it. So
        // assume that these are.
        if (error_injection || function.starts_with("security_") || function.starts_with(call_prefix))
            return "";
        return only_security_functions(false);
    }
};

} // namespace

std::string why_no_direct_calls(const BtfFile& types) {
    return has_function(types, "register_ftrace_direct")
               ? ""
               : "it is built without CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS";
}

KernelFacts read_kernel_facts(std::string_view bytes, const SystemCalls& calls) {
    BtfFile types(bytes);
    KernelFacts facts;
    // 6.9, "bpf: Introduce may_goto instruction"
    facts.may_goto = has_member(types, "bpf_subprog_info", "stack_extra");
    // 6.10, "bpf: support BPF cookie in raw tracepoint (raw_tp, tp_btf) programs"
    facts.tracepoint_cookie = has_member(types, "bpf_raw_tp_link", "cookie");
    // 6.13, "bpf: Add support for uprobe multi session attach"
    facts.uprobe_session = has_enumerator(types, "bpf_attach_type", "BPF_TRACE_UPROBE_SESSION");
    // "bpf: Allow uprobe program to change context registers". 6.18 has the member, but may still refuse such programs.
    facts.register_writes = has_member(types, "bpf_prog_aux", "kprobe_write_ctx");
    const DecisionsByTypes decisions = {.why_not_fentry = why_no_direct_calls(types),
                                        .netfilter = has_function(types, "bpf_nf_link_attach"),
                                        .lsm = has_function(types, "bpf_lsm_file_open"),
                                        .error_injection = has_function(types, "within_error_injection_list"),
                                        .call_prefix = calls.function_prefix};
    if (!decisions.why_not_fentry.empty())
        facts.why_not_fentry = decisions.why_not_fentry;
    if (!has_function(types, "create_local_trace_kprobe"))
        facts.why_not_kprobe = std::string("it is built without CONFIG_KPROBE_EVENTS");
    facts.why_no_decision = [decisions](plan::ProbeKind kind, const std::string& function) {
        return decisions.why_not(kind, function);
    };
    return facts;
}

} // namespace sonde
