// Records, host handlers and frames.
#include "runtime/session_state.h"

#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "runtime/format.h"

namespace sonde {

char* Session::push_frame(uint64_t size) {
    constexpr size_t stack_bytes = 64 << 20;
    if (stack_.empty())
        stack_.resize(stack_bytes);
    if (size > stack_.size() - stack_top_)
        return nullptr;
    char* frame = stack_.data() + stack_top_;
    stack_top_ += size;
    return frame;
}

void Session::pop_frame(char* frame) { stack_top_ = static_cast<size_t>(frame - stack_.data()); }

void Session::run_host_handler(const plan::Probe& probe) {
    using Handler = void (*)(void*, char*, char*);
    auto handler = reinterpret_cast<Handler>(host_object.symbol(probe.symbol));
    if (!handler)
        return;
    // Strings of a handler lie in slots; a page more is what the last one may spill into.
    char* frame = push_frame(probe.frame_size + 4096);
    handler(this, frame, data);
    pop_frame(frame);
    iterators.clear();
}

void Session::handle_record(const uint8_t* record, size_t size) {
    plan::RecordHeader header;
    if (size < sizeof header)
        return;
    std::memcpy(&header, record, sizeof header);
    const uint8_t* payload = record + sizeof header;
    size_t payload_size = std::min<size_t>(header.size, size - sizeof header);
    switch (header.type) {
    case plan::Print:
        if (header.format < plan.formats.size())
            output.write(render_print(plan.formats[header.format], {payload, payload_size}));
        break;
    case plan::Warn:
        if (!options.warnings_off) {
            output.flush();
            std::string text(reinterpret_cast<const char*>(payload),
                             strnlen(reinterpret_cast<const char*>(payload), payload_size));
            std::fprintf(stderr, "WARNING: %s\n", text.c_str());
        }
        break;
    case plan::Exit:
        exiting = true;
        break;
    case plan::Abort:
        exiting = aborted = true;
        break;
    case plan::RaiseError:
        report_error(header, payload);
        break;
    default:
        break;
    }
}

void Session::report_error(const plan::RecordHeader& header, const uint8_t* payload) {
    int64_t argument = 0;
    std::string text;
    if (header.size >= sizeof argument)
        std::memcpy(&argument, payload, sizeof argument);
    if (header.size > sizeof argument)
        text.assign(reinterpret_cast<const char*>(payload) + sizeof argument,
                    strnlen(reinterpret_cast<const char*>(payload) + sizeof argument, header.size - sizeof argument));
    std::string message = text, near;
    if (header.format < plan.sites.size()) {
        const plan::Site& site = plan.sites[header.format];
        near = site.near;
        if (message.empty()) {
            message = site.message;
            if (size_t at = message.find("%#x"); at != std::string::npos)
                message.replace(at, 3, fmt::format("{:#x}", static_cast<uint64_t>(argument)));
            if (message == "%s")
                message.clear();
        }
    }
    output.flush();
    std::fprintf(stderr, "ERROR: %s%s%s\n", message.c_str(), near.empty() ? "" : " near ", near.c_str());
    bool in_kernel = header.row < plan.rows.size() && kernel != nullptr && error_counted_in_kernel;
    if (!in_kernel)
        words->errors++;
    if (words->errors > words->max_errors) {
        failed = true;
        exiting = true;
    }
}

} // namespace sonde
