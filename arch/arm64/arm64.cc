// The interface of an architecture, for arm64. This file combines the topics, which are the other files of this folder.
#include "arch/arm64/arm64.h"

#include <elf.h>

#include <cstring>

#include "arch/arm64/assembly.h"
#include "arch/arm64/classify.h"
#include "arch/arm64/files.h"
#include "arch/arm64/frame_code.h"
#include "arch/arm64/hazards.h"
#include "arch/arm64/passing.h"
#include "arch/arm64/registers.h"
#include "arch/arm64/system_calls.h"
#include "arch/arm64/unwinding.h"
#include "base/hash.h"

namespace sonde {
namespace arm64 {
namespace {

// Kernels decide by an instruction's group and its bits that are not operands. For hints and system instructions, these
// are all of its bits but the register.
uint64_t encoding_of(const Arm64Instruction& one) {
    Hash hash;
    hash.add(uint64_t{one.row} << 32 | one.opcode);
    return hash.value();
}

class Arm64 : public Architecture {
  public:
    const char* name() const override { return "arm64"; }
    uint16_t machine() const override { return EM_AARCH64; }
    std::span<const std::string_view> names() const override {
        static constexpr std::string_view names[] = {"arm64", "aarch64"};
        return names;
    }
    const Architecture* narrow() const override { return nullptr; }
    int word_size() const override { return 8; }
    const RegisterFile& registers() const override { return arm64::registers(); }
    const GoConvention& go() const override { return go_convention(); }
    uint64_t register_of(uint64_t number) const override { return number; }
    std::string unreadable_register(uint64_t number) const override { return arm64::unreadable_register(number); }
    PassedValue passed(const ValueShape& shape) const override { return arm64::passed(shape); }
    UnwindColumns unwind_columns() const override { return {sp, fp, lr}; }
    const SystemCalls& system_calls() const override { return arm64::system_calls(); }
    // Documentation/arch/arm64/memory.rst. Where it begins depends on the size of virtual addresses, 48 or 52 bits.
    bool is_in_direct_map(uint64_t address) const override {
        constexpr uint64_t first = 0xfff0000000000000, end = 0xffff800000000000;
        return address >= first && address < end;
    }
    size_t longest_instruction() const override { return 4; }

    std::optional<Instruction> decode(std::string_view code) const override {
        std::optional<Instruction> out;
        if (const std::optional<Arm64Instruction> one = decode_arm64(code))
            classify(*one, out.emplace());
        return out;
    }
    std::optional<AnalyzedInstruction> analyze(std::string_view code) const override {
        std::optional<AnalyzedInstruction> out;
        if (const std::optional<Arm64Instruction> one = decode_arm64(code)) {
            classify(*one, out.emplace().instruction);
            out->effect = effect_of(*one);
            out->result_use = use_of_result(*one, x0);
        }
        return out;
    }
    ResultUse use_of_second_result(std::string_view code) const override {
        const std::optional<Arm64Instruction> one = decode_arm64(code);
        return one ? use_of_result(*one, x1) : ResultUse::End;
    }
    size_t instruction_alignment() const override { return instruction_size; }
    std::string_view padding() const override { return {"\0\0\0\0", instruction_size}; } // udf #0

    bool leaves_state(std::string_view code) const override {
        const std::optional<Arm64Instruction> one = decode_arm64(code);
        return one && arm64::leaves_state(*one);
    }
    Hazard hazard(std::string_view code) const override {
        const std::optional<Arm64Instruction> one = decode_arm64(code);
        return one ? static_cast<Hazard>(hazard_of(*one)) : Hazard::Unknown;
    }
    size_t hazard_context() const override { return exclusive_context; }
    Hazard hazard_within(std::string_view code, size_t at) const override {
        const Hazard alone = hazard(code.substr(at));
        return traits(alone).trial == HazardTrial::Certain || !is_between_exclusives(code, at)
                   ? alone
                   : static_cast<Hazard>(Arm64Hazard::BetweenExclusives);
    }
    std::span<const HazardTraits> hazards() const override { return arm64_hazards(); }
    uint64_t encoding(std::string_view code) const override {
        const std::optional<Arm64Instruction> one = decode_arm64(code);
        return one ? encoding_of(*one) : 0;
    }
    uint64_t branch_distance() const override { return uint64_t{1} << 27; }
    // brk #5 (UPROBES_BRK_IMM in the kernel)
    std::string_view uprobe_breakpoint() const override { return {"\xa0\x00\x20\xd4", instruction_size}; }
    bool is_single_stepped(std::string_view code) const override {
        const std::optional<Arm64Instruction> one = decode_arm64(code);
        return !one || arm64::is_single_stepped(*one);
    }
    AssemblyOperand parse_operand(std::string_view text, const FindSymbol& symbol) const override {
        return arm64::parse_operand(text, symbol);
    }
    void find_branches(std::string_view code, const std::function<void(const PossibleBranch&)>& visit) const override {
        for (size_t at = 0; at + instruction_size <= code.size(); at += instruction_size) {
            if (!may_branch(code[at + instruction_size - 1]))
                continue;
            const std::optional<Instruction> one = decode(code.substr(at, instruction_size));
            if (one && (one->is_direct_jump() || one->flow == Flow::Call))
                visit({at, at + instruction_size, one->distance, one->flow == Flow::Call});
        }
    }

    const UnwindTraits& unwind_traits() const override { return arm64::unwind_traits(); }
    std::vector<FrameRow> stub_frames(std::string_view code) const override { return arm64::stub_frames(code); }
    std::span<const char* const> stub_sections() const override {
        static constexpr const char* sections[] = {".plt", ".iplt"};
        return sections;
    }
    bool is_signal_return(std::string_view code) const override { return arm64::is_signal_return(code); }
    // The tables describe clone() completely.
    std::string_view clone_call() const override { return {}; }

    std::span<const PltSection> plt_sections() const override { return arm64::plt_sections(); }
    std::optional<uint64_t> plt_slot(std::string_view code, uint64_t address) const override {
        return arm64::plt_slot(code, address);
    }
    LibrarySearch library_search() const override {
        return {0xa03, "aarch64-linux-gnu", machine()};
    } // FLAG_AARCH64_LIB64
    ThreadStorage thread_storage() const override {
        return {.space = 16, .table = 0, .descriptor = arm64::descriptor_code};
    }
    DynamicRelocation dynamic_relocation(uint32_t type) const override { return arm64::dynamic_relocation(type); }
    ObjectRelocation object_relocation(uint32_t type) const override { return arm64::object_relocation(type); }
    Relocated relocate(const CodeRelocation& relocation) const override { return arm64::relocate(relocation); }
    size_t call_stub_size() const override { return arm64::call_stub_size; }
    void write_call_stub(uint8_t* place, uint64_t target) const override { arm64::write_call_stub(place, target); }
    const char* llvm_triple() const override { return "aarch64-unknown-linux-gnu"; }
    const char* llvm_processor() const override { return "generic"; }

  private:
    // Whether the last byte can be that of b, bl, b.cond, cbz or tbz. Most instructions are excluded so.
    static bool may_branch(char last) {
        const auto byte = static_cast<uint8_t>(last);
        return (byte & 0x7c) == 0x14 || byte == 0x54 || (byte & 0x7c) == 0x34;
    }
};

} // namespace
} // namespace arm64

const Architecture& arm64_architecture() {
    static const arm64::Arm64 architecture;
    return architecture;
}

} // namespace sonde
