// libFuzzer's entry point for machine code of arm64: the decoder agrees with LLVM's about the flow, and gives every
// instruction a class. The first four bytes are the instruction; the others are the code behind it.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/fuzz/arm64_llvm.h"

using namespace sonde;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    uint32_t word = 0;
    if (size < sizeof word)
        return 0;
    std::memcpy(&word, data, sizeof word);
    const std::string code(reinterpret_cast<const char*>(data), size);
    const Architecture& arm64 = arm64_architecture();
    if (const std::optional<AnalyzedInstruction> one = arm64.analyze(code)) {
        if (one->instruction.length != sizeof word || one->instruction.shape == 0 || arm64.encoding(code) == 0)
            abort();
        arm64.leaves_state(code);
        arm64.is_single_stepped(code);
    }
    for (size_t at = 0; at < size; at++)
        if (static_cast<size_t>(arm64.hazard_within(code, at)) >= arm64.hazards().size())
            abort();
    arm64.find_branches(code, [&](const PossibleBranch& one) {
        if (one.end > size)
            abort();
    });
    static Arm64Llvm llvm;
    if (!llvm.compare(word).empty())
        abort();
    return 0;
}
