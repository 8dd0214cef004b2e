#include "runtime/symbols/frames.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "runtime/symbols/stack.h"
#include "runtime/symbols/symbols.h"

namespace sonde {

std::vector<Frame> frames_at(Symbols& symbols, uint64_t process, uint64_t address, bool after_call, bool with_source) {
    std::vector<Frame> out;
    const uint64_t place = address - after_call;
    Frame frame;
    frame.address = address;
    frame.is_kernel = static_cast<int64_t>(address) < 0;
    frame.file = symbols.text(process, address, SONDE_SYMBOL_PATH);
    frame.source = with_source ? symbols.source(process, place) : "";
    for (const InlinedCall& call : symbols.inlined(process, place)) {
        Frame inlined = frame;
        inlined.function = call.name;
        inlined.is_inlined = true;
        out.push_back(std::move(inlined));
        // What a function has inlined, it calls where that was.
        frame.source = with_source && !call.file.empty() ? fmt::format("{}:{}", call.file, call.line) : "";
    }
    const std::string text =
        symbols.text(process, address, SONDE_SYMBOL_BRIEF | (after_call ? uint64_t{SONDE_BEHIND_CALL} : 0));
    if (const size_t plus = text.rfind("+0x"); plus != std::string::npos && !text.starts_with("0x")) {
        frame.function = text.substr(0, plus);
        frame.offset = std::strtoull(text.c_str() + plus + 1, nullptr, 16);
    }
    out.push_back(std::move(frame));
    return out;
}

std::string frame_name(const Frame& frame) {
    if (!frame.function.empty())
        return frame.function;
    return frame.file.empty() ? fmt::format("{:#x}", frame.address)
                              : fmt::format("[{}]", frame.file.substr(frame.file.rfind('/') + 1));
}

std::string folded_stack(const std::vector<Frame>& innermost_first) {
    std::string out;
    for (auto frame = innermost_first.rbegin(); frame != innermost_first.rend(); ++frame) {
        std::string name = frame_name(*frame);
        std::replace(name.begin(), name.end(), ';', ':');
        out += (out.empty() ? "" : ";") + name;
    }
    return out;
}

std::vector<uint64_t> addresses_in(const std::string& text) {
    std::vector<uint64_t> out;
    for (const char* at = text.c_str();;) {
        char* end = nullptr;
        const uint64_t address = std::strtoull(at, &end, 16);
        if (end == at)
            return out;
        out.push_back(address);
        at = end;
    }
}

} // namespace sonde
