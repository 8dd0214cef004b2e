// The state of the host handler that runs, and of the functions that it calls (runtime/plan/host_api.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/values/host_arrays.h"
#include "runtime/values/recorded_events.h"

namespace sonde {

// Frames of host code: one for each handler, and more for functions that call themselves.
class FrameStack {
  public:
    FrameStack() = default;
    ~FrameStack();
    FrameStack(const FrameStack&) = delete;
    FrameStack& operator=(const FrameStack&) = delete;

    // Returns a frame that is filled with zeros, or null if memory runs out. pop() frees it and all later frames.
    char* push(uint64_t size);
    void pop(char* frame);

  private:
    char* memory_ = nullptr;
    size_t size_ = 0, top_ = 0;
};

// One object for each session, because host handlers run one after the other.
struct HostRun {
    struct Iterator {
        const plan::Global* global;
        std::vector<ArrayElement> elements;
        size_t next = 0, end = 0;
    };
    FrameStack frames;
    const plan::Probe* probe = nullptr; // whose handler runs; null: none
    uint64_t nesting = 0;               // depth of recursive calls
    std::list<Iterator> iterators;      // of foreach loops; freed with the handler that began them
    std::string file_value;             // `$value` of the control file whose handler runs
    uint64_t file_limit = 0;            // its largest size in bytes
    // Scripts over a recording: the event whose handler runs (null: another handler runs), and the row of its point in
    // Plan::rows.
    const RecordedEvent* event = nullptr;
    uint32_t row = 0;
    int64_t time_ns = 0; // the time of the recording, in nanoseconds since 1970
    std::map<const plan::Probe*, uint64_t> hits;
    // Events without a value that a handler reads, so that it did not run.
    std::map<std::pair<const plan::Probe*, std::string>, uint64_t> lacking;
    // Tells the process of a stack that a handler has as text; null in a session.
    std::function<void(const std::string& stack, uint64_t process)> note_stack;

    const RecordedEvent::Value* recorded(std::string_view name) const;
    RecordedEvent::Stack recorded_stack(bool of_kernel) const;
};

} // namespace sonde
