// Lengths of instructions according to LLVM's disassembler, for a comparison with arch/x86_64/decode.h.
#pragma once

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "arch/x86_64/decode.h"

namespace sonde {

class LlvmLength {
  public:
    explicit LlvmLength(X86Mode mode) : mode_(mode) {
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86Disassembler();
        context_ = LLVMCreateDisasm(mode == X86Mode::Long ? "x86_64-linux-gnu" : "i386-linux-gnu", nullptr, 0, nullptr,
                                    nullptr);
    }
    ~LlvmLength() { LLVMDisasmDispose(context_); }
    LlvmLength(const LlvmLength&) = delete;
    LlvmLength& operator=(const LlvmLength&) = delete;

    // Compares the two decoders on 15 bytes. Returns the two lengths if both know the instruction and disagree;
    // otherwise "".
    std::string compare(std::string code) {
        constexpr size_t longest = 15;
        code.resize(longest);
        const std::optional<X86Instruction> one = decode_x86(code, mode_);
        char text[256] = "";
        auto* bytes = reinterpret_cast<uint8_t*>(code.data());
        const size_t length = LLVMDisasmInstruction(context_, bytes, code.size(), 0, text, sizeof text);
        if (!one || length == 0 || one->length == length)
            return "";
        // REX.W takes precedence over 0x66 (Intel SDM, volume 2, 2.2.1.2); LLVM reads a distance of 16 bits all the
        // same.
        if (one->is_direct_jump() && one->operand16)
            return "";
        // LLVM prints unexpected prefixes as separate instructions, and takes AMD's extrq for vmread.
        for (const char* name : {"\tlock", "\txacquire", "\txrelease", "\trep", "\tvmread"})
            if (std::string_view(text).find(name) != std::string_view::npos)
                return "";
        return std::to_string(one->length) + " and" + text + " of " + std::to_string(length);
    }
    // Whether LLVM knows the instruction.
    bool knows(std::string code) {
        code.resize(16);
        char text[256] = "";
        return LLVMDisasmInstruction(context_, reinterpret_cast<uint8_t*>(code.data()), code.size(), 0, text,
                                     sizeof text) != 0;
    }

  private:
    X86Mode mode_;
    LLVMDisasmContextRef context_;
};

} // namespace sonde
