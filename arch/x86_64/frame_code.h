// Recognizes code by its bytes. See arch/architecture.h.
#pragma once

#include <string_view>
#include <vector>

#include "arch/frame_code.h"

namespace sonde::x86 {

std::vector<FrameRow> stub_frames(std::string_view code);
bool is_signal_return(std::string_view code);

} // namespace sonde::x86
