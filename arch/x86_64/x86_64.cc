// The interface of an architecture, for x86-64 and i386. Both are one class, because most encodings are the same; the
// mode decides about the rest. This file combines the topics, which are the other files of this folder.
#include "arch/x86_64/x86_64.h"

#include <elf.h>

#include <cstring>
#include <set>

#include "arch/x86_64/assembly.h"
#include "arch/x86_64/classify.h"
#include "arch/x86_64/files.h"
#include "arch/x86_64/frame_code.h"
#include "arch/x86_64/hazards.h"
#include "arch/x86_64/operands.h"
#include "arch/x86_64/passing.h"
#include "arch/x86_64/registers.h"
#include "arch/x86_64/system_calls.h"
#include "arch/x86_64/unwinding.h"
#include "base/hash.h"

namespace sonde {
namespace x86 {
namespace {

// Hashes the prefixes, the opcode map, the opcode, and the part of the opcode in ModRM. A kernel's decision about a
// probed instruction depends on nothing else. So of `push %rbx` in a thousand places, only one has to be tried. The set
// makes the order and the repetition of prefixes irrelevant, as they are for the kernel.
uint64_t encoding_of(const X86Instruction& one, std::string_view code) {
    constexpr std::string_view prefixes("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3", 11);
    std::set<char> used;
    for (char byte : code.substr(0, one.length)) {
        if (prefixes.find(byte) == std::string_view::npos)
            break;
        used.insert(byte);
    }
    Hash hash;
    for (char byte : used)
        hash.add(static_cast<uint64_t>(static_cast<uint8_t>(byte)));
    hash.add(uint64_t{one.is_vector} << 24 | uint64_t(one.map) << 16 | uint64_t{one.opcode} << 8 |
             uint64_t{one.has_modrm} << 3 | static_cast<uint64_t>(one.extension()));
    return hash.value();
}

class X86 : public Architecture {
  public:
    explicit X86(X86Mode mode) : mode_(mode) {}

    const char* name() const override { return mode_ == X86Mode::Long ? "x86-64" : "i386"; }
    uint16_t machine() const override { return mode_ == X86Mode::Long ? EM_X86_64 : EM_386; }
    std::span<const std::string_view> names() const override {
        static constexpr std::string_view wide[] = {"x86_64", "amd64"}, narrow[] = {"i386"};
        return mode_ == X86Mode::Long ? std::span<const std::string_view>(wide) : narrow;
    }
    const Architecture* narrow() const override { return mode_ == X86Mode::Long ? &i386_architecture() : nullptr; }
    int word_size() const override { return mode_ == X86Mode::Long ? 8 : 4; }
    const RegisterFile& registers() const override {
        return mode_ == X86Mode::Long ? wide_registers() : narrow_registers();
    }
    const GoConvention& go() const override { return go_convention(); }
    uint64_t register_of(uint64_t number) const override {
        return mode_ == X86Mode::Long ? number : register_of_i386(number);
    }
    std::string unreadable_register(uint64_t number) const override { return x86::unreadable_register(number); }
    PassedValue passed(const ValueShape& shape) const override { return x86::passed(shape); }
    UnwindColumns unwind_columns() const override {
        return mode_ == X86Mode::Long ? UnwindColumns{rsp, rbp, rip} : UnwindColumns{4, 5, 8};
    }
    const SystemCalls& system_calls() const override { return x86::system_calls(); }
    // Documentation/arch/x86/x86_64/mm.rst. Where it begins depends on KASLR and on the number of page table levels.
    bool is_in_direct_map(uint64_t address) const override {
        constexpr uint64_t first = 0xffff888000000000, end = 0xffffc90000000000;
        return address >= first && address < end;
    }
    size_t longest_instruction() const override { return 15; }

    std::optional<Instruction> decode(std::string_view code) const override {
        std::optional<Instruction> out;
        if (const std::optional<X86Instruction> one = decode_x86(code, mode_))
            classify(*one, mode_, out.emplace());
        return out;
    }
    std::optional<AnalyzedInstruction> analyze(std::string_view code) const override {
        std::optional<AnalyzedInstruction> out;
        if (const std::optional<X86Instruction> one = decode_x86(code, mode_)) {
            classify(*one, mode_, out.emplace().instruction);
            out->effect = effect_of(*one, mode_);
            out->result_use = use_of_result(*one, rax);
        }
        return out;
    }
    ResultUse use_of_second_result(std::string_view code) const override {
        const std::optional<X86Instruction> one = decode_x86(code, mode_);
        return one ? use_of_result(*one, rdx) : ResultUse::End;
    }
    size_t instruction_alignment() const override { return 1; }
    std::string_view padding() const override { return "\xcc"; } // int3

    bool leaves_state(std::string_view code) const override {
        const std::optional<X86Instruction> one = decode_x86(code, mode_);
        return one && sonde::leaves_state(*one);
    }
    Hazard hazard(std::string_view code) const override {
        const std::optional<X86Instruction> one = decode_x86(code, mode_);
        return one ? static_cast<Hazard>(hazard_of(*one)) : Hazard::Unknown;
    }
    size_t hazard_context() const override { return 0; }
    Hazard hazard_within(std::string_view code, size_t at) const override { return hazard(code.substr(at)); }
    std::span<const HazardTraits> hazards() const override { return x86_hazards(); }
    uint64_t encoding(std::string_view code) const override {
        const std::optional<X86Instruction> one = decode_x86(code, mode_);
        return one ? encoding_of(*one, code) : 0;
    }

    uint64_t branch_distance() const override { return uint64_t{1} << 31; }

    // The kernel emulates nops, pushes of a register, direct jumps and direct calls (arch/x86/kernel/uprobes.c,
    // branch_setup_xol_ops() and push_setup_xol_ops()).
    bool is_single_stepped(std::string_view code) const override {
        const auto byte = [&](size_t at) { return at < code.size() ? static_cast<uint8_t>(code[at]) : uint8_t{0}; };
        const auto within = [](uint8_t one, uint8_t low, uint8_t high) { return one >= low && one <= high; };
        const uint8_t first = byte(0), second = byte(1);
        const bool is_nop = first == 0x90 || (first == 0x0f && second == 0x1f),
                   is_push = within(first, 0x50, 0x57) || (first == 0x41 && within(second, 0x50, 0x57)),
                   is_jump = within(first, 0x70, 0x7f) || first == 0xe8 || first == 0xe9 || first == 0xeb ||
                             (first == 0x0f && within(second, 0x80, 0x8f));
        return !is_nop && !is_push && !is_jump;
    }
    std::string_view uprobe_breakpoint() const override { return "\xcc"; } // int3
    AssemblyOperand parse_operand(std::string_view text, const FindSymbol& symbol) const override {
        return x86::parse_operand(text, registers(), static_cast<uint32_t>(word_size()), symbol);
    }

    // e8, e9 or 0f 8x, and a distance of 4 bytes.
    void find_branches(std::string_view code, const std::function<void(const PossibleBranch&)>& visit) const override {
        for (size_t at = 0; at + 5 <= code.size(); at++) {
            const auto byte = static_cast<uint8_t>(code[at]);
            const bool conditional = byte >> 4 == 8 && at != 0 && code[at - 1] == '\x0f';
            if (byte != 0xe8 && byte != 0xe9 && !conditional)
                continue;
            int32_t distance = 0;
            std::memcpy(&distance, &code[at + 1], sizeof distance);
            visit({at + 1, at + 5, distance, byte == 0xe8});
        }
    }

    const UnwindTraits& unwind_traits() const override { return x86::unwind_traits(mode_); }
    std::vector<FrameRow> stub_frames(std::string_view code) const override { return x86::stub_frames(code); }
    std::span<const char* const> stub_sections() const override {
        static constexpr const char* sections[] = {".plt", ".plt.sec", ".plt.got", ".plt.bnd", ".iplt"};
        return sections;
    }
    bool is_signal_return(std::string_view code) const override {
        return mode_ == X86Mode::Long && x86::is_signal_return(code);
    }
    // syscall; test %rax,%rax
    std::string_view clone_call() const override {
        return mode_ == X86Mode::Long ? std::string_view("\x0f\x05\x48\x85\xc0", 5) : std::string_view();
    }

    std::span<const PltSection> plt_sections() const override {
        return mode_ == X86Mode::Long ? x86::plt_sections() : std::span<const PltSection>();
    }
    std::optional<uint64_t> plt_slot(std::string_view code, uint64_t address) const override {
        return x86::plt_slot(code, address);
    }
    // FLAG_ELF_LIBC6, for x86-64 with FLAG_X8664_LIB64.
    LibrarySearch library_search() const override {
        return mode_ == X86Mode::Long ? LibrarySearch{0x303, "x86_64-linux-gnu", machine()}
                                      : LibrarySearch{0x3, "i386-linux-gnu", machine()};
    }
    ThreadStorage thread_storage() const override {
        return {.space = 0, .table = word_size(), .descriptor = x86::descriptor_code};
    }
    // No code reads the relocations of 32-bit programs.
    DynamicRelocation dynamic_relocation(uint32_t type) const override {
        return mode_ == X86Mode::Long ? x86::dynamic_relocation(type) : DynamicRelocation::Other;
    }
    ObjectRelocation object_relocation(uint32_t type) const override { return x86::object_relocation(type); }
    Relocated relocate(const CodeRelocation& relocation) const override { return x86::relocate(relocation); }
    size_t call_stub_size() const override { return 0; }
    void write_call_stub(uint8_t*, uint64_t) const override {}
    const char* llvm_triple() const override { return "x86_64-pc-linux-gnu"; }
    const char* llvm_processor() const override { return "x86-64"; }

  private:
    X86Mode mode_;
};

} // namespace
} // namespace x86

const Architecture& x86_64_architecture() {
    static const x86::X86 architecture(X86Mode::Long);
    return architecture;
}

const Architecture& i386_architecture() {
    static const x86::X86 architecture(X86Mode::Protected);
    return architecture;
}

} // namespace sonde
