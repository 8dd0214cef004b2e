// The events of a recording, as scripts see them. The engine runs a script over them and does not know the file
// (sinks/recording/event_reader.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/plan/recorded_points.h"
#include "runtime/symbols/symbolizer.h"

namespace sonde {

// The values that one run of a handler has printed. If a statement has printed several times, as in a loop, each time
// is an event.
struct RecordedEvent {
    struct Value {
        int64_t number = 0;
        std::string text; // of a number: in decimal
        bool is_text = false;
    };
    struct Stack {
        uint64_t process = 0, state = 0; // sonde_stack_state
        std::vector<uint64_t> addresses; // innermost first

        // `count` addresses (-1: all) from the index `first` on in hexadecimal, as many as fit into `size` bytes.
        std::string text(int64_t first, int64_t count, uint64_t size) const;
    };
    const plan::RecordedPoint* point = nullptr;
    int64_t time_ns = 0; // since 1970
    int64_t pid = 0, tid = 0;
    std::string task;
    bool has_task = false;
    std::map<std::string, Value, std::less<>> values; // by RecordedValue::name
    std::vector<std::string_view> names;              // the keys of `values`, in the order of printing
    std::optional<Stack> user_stack, kernel_stack;

    // `name` can also be plan::user_stack_value or plan::kernel_stack_value.
    bool has(std::string_view name) const;
    // Returns `name=value name=value`, in the order of printing.
    std::string all_values() const;
};

// Reads the events of a recording in order.
class RecordedEvents {
  public:
    virtual ~RecordedEvents() = default;
    // Returns the next event, which is valid until the next call; null at the end or at damage.
    virtual const RecordedEvent* next() = 0;
    // The times of the session's begin and of the last event that was read, in nanoseconds since 1970.
    virtual int64_t began_ns() const = 0;
    virtual int64_t last_ns() const = 0;
    // What to subtract for the kernel's monotonic clock.
    virtual int64_t boot_ns() const = 0;
    // The names of addresses. The object belongs to the caller, and grows while events are read.
    virtual std::unique_ptr<Symbolizer> take_symbols() = 0;
    // A stack that a handler has as text belongs to this process.
    virtual void note_stack(const std::string& text, uint64_t process) = 0;
    // Says what is missing: damage, addresses without names. Returns whether the recording is complete.
    virtual bool say_end() = 0;
};

} // namespace sonde
