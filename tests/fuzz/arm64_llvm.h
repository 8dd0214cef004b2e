// Compares arch/arm64/ with LLVM's disassembler.
#pragma once

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "arch/architecture.h"
#include "arch/arm64/arm64.h"

namespace sonde {

class Arm64Llvm {
  public:
    Arm64Llvm() {
        LLVMInitializeAArch64TargetInfo();
        LLVMInitializeAArch64TargetMC();
        LLVMInitializeAArch64Disassembler();
        context_ = LLVMCreateDisasmCPUFeatures("aarch64-linux-gnu", "", "+all", nullptr, 0, nullptr, nullptr);
    }
    ~Arm64Llvm() { LLVMDisasmDispose(context_); }
    Arm64Llvm(const Arm64Llvm&) = delete;
    Arm64Llvm& operator=(const Arm64Llvm&) = delete;

    // The instruction as text: the mnemonic, a tabulator, and the operands. Empty if LLVM does not know it.
    std::string text(uint32_t word) {
        char out[256] = "";
        if (LLVMDisasmInstruction(context_, reinterpret_cast<uint8_t*>(&word), sizeof word, 0, out, sizeof out) == 0)
            return "";
        const std::string_view found(out);
        return found.find("unknown") != std::string_view::npos || found.empty() ? "" : std::string(found.substr(1));
    }

    // Returns what the two disagree about; "" if they agree.
    std::string compare(uint32_t word) {
        const std::string theirs = text(word);
        const std::string code(reinterpret_cast<const char*>(&word), sizeof word);
        const std::optional<Instruction> one = arm64_architecture().decode(code);
        if (theirs.empty())
            return "";
        const std::string_view name = std::string_view(theirs).substr(0, theirs.find('\t'));
        // Registers of the system have `op0` 2 or 3; LLVM prints others, too.
        if (!one)
            return theirs.find("S0_") != std::string::npos || theirs.find("S1_") != std::string::npos
                       ? ""
                       : "only LLVM knows it";
        if (flow_of(name, theirs) != one->flow && !is_constant_branch(name, theirs))
            return "the flow";
        if (one->is_direct_jump() || one->flow == Flow::Call) {
            const size_t number = theirs.rfind('#');
            if (number == std::string::npos || std::atoll(&theirs[number + 1]) != one->distance + 4)
                return "the target";
        }
        if ((name == "mov" || name == "movz") && one->operation == Operation::Constant) {
            const size_t number = theirs.find('#');
            if (number != std::string::npos && std::strtoll(&theirs[number + 1], nullptr, 0) != one->immediate &&
                static_cast<uint32_t>(std::strtoll(&theirs[number + 1], nullptr, 0)) !=
                    static_cast<uint64_t>(one->immediate))
                return "the constant";
        }
        return "";
    }

  private:
    static bool is_constant_branch(std::string_view name, std::string_view text) {
        return (name.starts_with("cb") || name.starts_with("tb")) && text.find("zr") != std::string_view::npos;
    }
    static Flow flow_of(std::string_view name, std::string_view text) {
        if (name == "b" || name == "b.al" || name == "b.nv" || name == "bc.al" || name == "bc.nv")
            return Flow::Jump;
        if (name.starts_with("b.") || name.starts_with("bc.") || name == "cbz" || name == "cbnz" || name == "tbz" ||
            name == "tbnz")
            return Flow::ConditionalJump;
        if (name == "bl")
            return Flow::Call;
        if (name == "br" || name.starts_with("bra"))
            return Flow::IndirectJump;
        if (name.starts_with("blr"))
            return Flow::IndirectCall;
        if (name.starts_with("ret"))
            return name == "ret" && text.find('\t') != std::string_view::npos ? Flow::IndirectJump : Flow::Return;
        for (const std::string_view stop : {"udf", "brk", "hlt", "hvc", "smc", "dcps1", "dcps2", "dcps3", "drps"})
            if (name == stop)
                return Flow::Stop;
        return name.starts_with("eret") ? Flow::Stop : Flow::Next;
    }

    LLVMDisasmContextRef context_;
};

} // namespace sonde
