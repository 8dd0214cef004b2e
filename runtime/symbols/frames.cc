// Stacks as lists of frames.
//
// One address of a stack can stand for several functions, because inlined functions have no frame of their own in the
// machine's stack:
//
//     main() calls f(), which is inlined; f() calls g(), which is inlined
//     the address has the frames: g, f, main
//
// The debug information has the lines of the calls. The innermost function is at the line of the address, and each
// other one is at the line of the call that was inlined into it. places_at() shifts the lines by one for that reason.
#include "runtime/symbols/frames.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "runtime/plan/stack.h"
#include "runtime/symbols/symbolizer.h"

namespace sonde {

// The line table has the line of the innermost function. Each outer function is at the line of its inlined call.
std::vector<FramePlace> places_at(Symbolizer& symbols, uint64_t process, uint64_t address, bool with_source) {
    std::vector<FramePlace> out;
    std::string source = with_source ? symbols.source(process, address) : "";
    for (const InlinedCall& call : symbols.inlined(process, address)) {
        out.push_back({call.name, std::move(source)});
        source = with_source && !call.file.empty() ? fmt::format("{}:{}", call.file, call.line) : "";
    }
    out.push_back({"", std::move(source)});
    return out;
}

std::vector<Frame> frames_at(Symbolizer& symbols, uint64_t process, uint64_t address, bool after_call,
                             bool with_source) {
    std::vector<Frame> out;
    if (std::optional<InterpretedFrame> found = symbols.interpreted_frame(address)) {
        Frame frame;
        frame.address = address;
        frame.function = found->function;
        frame.source = found->file.empty() ? "" : found->place(true);
        frame.file = std::move(found->file);
        frame.language = language_id(found->language);
        return {std::move(frame)};
    }
    const std::string file = symbols.text(process, address, SONDE_SYMBOL_PATH);
    for (FramePlace& place : places_at(symbols, process, address - after_call, with_source)) {
        Frame frame;
        frame.process = process;
        frame.address = address;
        frame.is_kernel = static_cast<int64_t>(address) < 0;
        frame.file = file;
        frame.source = std::move(place.source);
        frame.is_inlined = !place.inlined.empty();
        frame.function = std::move(place.inlined);
        out.push_back(std::move(frame));
    }
    const std::string text =
        symbols.text(process, address, SONDE_SYMBOL_BRIEF | (after_call ? uint64_t{SONDE_BEHIND_CALL} : 0));
    const size_t digits = text.rfind("0x");
    if (digits != std::string::npos && digits != 0 && (text[digits - 1] == '+' || text[digits - 1] == '-')) {
        out.back().function = text.substr(0, digits - 1);
        out.back().offset = std::strtoll(text.c_str() + digits - 1, nullptr, 16); // with its sign
    }
    return out;
}

std::string frame_name(const Frame& frame) {
    if (frame.language)
        return frame.source.empty()
                   ? frame.function
                   : fmt::format("{} {}", frame.function, frame.source.substr(frame.file.rfind('/') + 1));
    if (!frame.function.empty())
        return frame.function;
    return frame.file.empty() ? fmt::format("{:#x}", frame.address)
                              : fmt::format("[{}]", frame.file.substr(frame.file.rfind('/') + 1));
}

std::string folded(const std::vector<std::string>& names) {
    std::string out;
    for (std::string name : names) {
        std::replace_if(name.begin(), name.end(), [](char c) { return c == ';' || c == '\n'; }, ':');
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
