// Recognizes code of frames. See arch/architecture.h.
#pragma once

#include <span>

#include "arch/frame_code.h"
#include "arch/x86_64/decode.h"

namespace sonde::x86 {

FramePrologue frame_prologue(std::string_view code, X86Mode mode);
size_t frame_epilogue(std::string_view code);
std::span<const StubInstruction> stub_instructions();
bool is_signal_return(std::string_view code);

} // namespace sonde::x86
