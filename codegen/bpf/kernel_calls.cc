// Patches the call instructions that stand for kernel functions.
//
// A call instruction has a number in `imm`, and in `src_reg` the meaning of that number (include/uapi/linux/bpf.h):
//
//     src_reg = 0                        a helper
//     src_reg = BPF_PSEUDO_CALL          a function of the program
//     src_reg = BPF_PSEUDO_KFUNC_CALL    a function of the kernel, by its BTF id
//
// Usually libbpf sets the third form, for an external function that it finds by name in the kernel's BTF. Here sonde
// knows the id already, because it has read the kernel's BTF to compile the script's C. So the IR calls the helper
// `kernel_call + id`, which does not exist, and this pass sets `src_reg` and subtracts `kernel_call` again.
//
// A 64-bit load (`ld_imm64`) takes the space of two instructions. Its second half is data, which could look like a
// call. So the scan skips it.
#include "codegen/bpf/kernel_calls.h"

#include <elf.h>
#include <linux/bpf.h>

#include <cstring>

namespace sonde {

void aim_kernel_calls(std::vector<uint8_t>& object) {
    Elf64_Ehdr head;
    std::memcpy(&head, object.data(), sizeof head);
    for (size_t i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr section;
        std::memcpy(&section, object.data() + head.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type != SHT_PROGBITS || !(section.sh_flags & SHF_EXECINSTR))
            continue;
        bpf_insn one;
        for (size_t at = 0; at + sizeof one <= section.sh_size; at += sizeof one) {
            uint8_t* place = object.data() + section.sh_offset + at;
            std::memcpy(&one, place, sizeof one);
            if (one.code == (BPF_LD | BPF_IMM | BPF_DW)) { // takes two instructions
                at += sizeof one;
                continue;
            }
            if (one.code != (BPF_JMP | BPF_CALL) || one.src_reg != 0 || !is_kernel_call(static_cast<uint32_t>(one.imm)))
                continue;
            one.src_reg = BPF_PSEUDO_KFUNC_CALL;
            one.imm -= static_cast<int32_t>(kernel_call);
            std::memcpy(place, &one, sizeof one);
        }
    }
}

} // namespace sonde
