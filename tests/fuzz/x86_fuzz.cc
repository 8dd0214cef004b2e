// libFuzzer's entry point for machine code: the decoder agrees with LLVM's about the length of instructions that both
// know, reads no further than that, and gives every instruction a class. The first byte chooses 64-bit or 32-bit code.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "arch/x86_64/hazards.h"
#include "tests/fuzz/llvm_length.h"

using namespace sonde;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2)
        return 0;
    const X86Mode mode = data[0] & 1 ? X86Mode::Protected : X86Mode::Long;
    const std::string code(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (std::optional<X86Instruction> one = decode_x86(code, mode)) {
        std::optional<X86Instruction> again = decode_x86(code.substr(0, one->length), mode);
        if (one->length == 0 || one->length > 15 || !again || again->length != one->length ||
            decode_x86(code.substr(0, one->length - 1), mode).value_or(X86Instruction()).length == one->length ||
            static_cast<size_t>(hazard_of(*one)) >= x86_hazards().size())
            abort();
        leaves_state(*one);
    }
    static LlvmLength lengths[] = {LlvmLength(X86Mode::Long), LlvmLength(X86Mode::Protected)};
    if (!lengths[data[0] & 1].compare(code).empty())
        abort();
    return 0;
}
