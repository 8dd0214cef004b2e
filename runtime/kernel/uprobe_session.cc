// A BPF program calls kernel functions (kfuncs) by their BTF numbers. The compiler writes placeholders, and this file
// replaces them by the numbers. There are two reasons not to leave this to libbpf:
//
// * libbpf would read and index all types of the kernel, which is slow (kernel_btf.h).
// * The prototypes of the two functions changed in 7.0 ("bpf: change prototype of bpf_session_{cookie,is_return}"), and
//   libbpf accepts only one prototype. The programs always pass the new argument. Older kernels ignore it.
#include "runtime/kernel/uprobe_session.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "base/btf_file.h"
#include "base/fd.h"
#include "runtime/plan/plan.h"

namespace sonde {
namespace {

struct SessionCalls {
    uint32_t is_return = 0, cookie = 0; // BTF numbers; 0: the function does not exist
};

SessionCalls find_in(std::string_view bytes) {
    BtfFile types(bytes);
    return {types.find("bpf_session_is_return", BTF_KIND_FUNC), types.find("bpf_session_cookie", BTF_KIND_FUNC)};
}

SessionCalls find_session_calls() {
    Result<Fd> file = open_file("/sys/kernel/btf/vmlinux", O_RDONLY);
    struct stat info;
    if (!file || fstat(file->get(), &info) != 0 || info.st_size <= 0)
        return {};
    // Linux 6.16 can map this file, which is faster than reading it.
    auto size = static_cast<size_t>(info.st_size);
    if (void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file->get(), 0); memory != MAP_FAILED) {
        SessionCalls out = find_in({static_cast<const char*>(memory), size});
        munmap(memory, size);
        return out;
    }
    Result<std::string> read = read_all(file->get(), "the kernel's types");
    return read.ok() ? find_in(*read) : SessionCalls();
}

const SessionCalls& session_calls() {
    static const SessionCalls calls = find_session_calls();
    return calls;
}

} // namespace

bool has_uprobe_session() {
    const SessionCalls& calls = session_calls();
    if (calls.is_return == 0 || calls.cookie == 0)
        return false;
    // r6 = r1; bpf_session_is_return(r1); r1 = r6; bpf_session_cookie(r1); r0 = 0; exit
    const bpf_insn code[] = {
        {0xbf, 6, 1, 0, 0}, {0x85, 0, BPF_PSEUDO_KFUNC_CALL, 0, static_cast<int>(calls.is_return)},
        {0xbf, 1, 6, 0, 0}, {0x85, 0, BPF_PSEUDO_KFUNC_CALL, 0, static_cast<int>(calls.cookie)},
        {0xb7, 0, 0, 0, 0}, {0x95, 0, 0, 0, 0},
    };
    bpf_prog_load_opts options{};
    options.sz = sizeof options;
    options.expected_attach_type = static_cast<enum bpf_attach_type>(trace_uprobe_session);
    return Fd(bpf_prog_load(BPF_PROG_TYPE_KPROBE, "sonde_try", "GPL", code, std::size(code), &options)).get() >= 0;
}

Result<void> aim_session_calls(bpf_program* program) {
    const bpf_insn* given = bpf_program__insns(program);
    std::vector<bpf_insn> code(given, given + bpf_program__insn_cnt(program));
    for (bpf_insn& one : code) {
        if (one.code != (BPF_JMP | BPF_CALL) || one.src_reg != 0)
            continue;
        const auto helper = static_cast<uint32_t>(one.imm);
        if (helper != plan::call_session_is_return && helper != plan::call_session_cookie)
            continue;
        const SessionCalls& calls = session_calls();
        one.src_reg = BPF_PSEUDO_KFUNC_CALL;
        one.imm = static_cast<int>(helper == plan::call_session_cookie ? calls.cookie : calls.is_return);
    }
    if (int failed = bpf_program__set_insns(program, code.data(), code.size()))
        return errno_error("internal: cannot prepare the program of a session link", -failed);
    return {};
}

} // namespace sonde
