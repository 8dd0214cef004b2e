// Writes texts to files in a separate thread, so that a slow reader does not delay the session.
//
// A non-blocking descriptor (O_NONBLOCK) is not a solution: the flag belongs to the open file description, which the
// shell and other programs share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// Limits for waiting for a reader, in nanoseconds.
struct Patience {
    static constexpr int64_t forever = INT64_MAX;
    int64_t total = forever;            // total time
    int64_t without_progress = forever; // time during which the reader reads nothing
};

// A queue of texts in order, and the thread that writes them. All functions can be called from any thread.
class Writer {
  public:
    enum Stream { Printed, Said }; // Printed: standard output or -o's file; Said: standard error
    struct Loss {
        uint64_t lines = 0, bytes = 0;
    };
    // Starts the thread. Printed text goes to `file`. If `file` is empty, the thread opens `path`, so that a FIFO
    // without a reader does not block the caller. If `path` is empty, too, printed text goes to standard output. The
    // queue holds at most `capacity` bytes, and another 1 MB of messages.
    static Result<std::unique_ptr<Writer>> start(uint64_t capacity, Fd file = Fd(), const std::string& path = "");
    ~Writer(); // stop()
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    // Appends the text to the queue and empties `text`. Returns false and keeps `text` if the queue has no room.
    bool push(Stream stream, std::string& text);
    // Printed text from now on goes to this file, which is created. Then `old` is removed, unless it is empty.
    void go_on_in(const std::string& path, const std::string& old);
    // Counts text as lost that the caller drops because the queue is full.
    void count_lost(Stream stream, const std::string& text);

    // A gate in the queue: texts after it are not written until it is opened. Gates open in the order in which they
    // were put.
    void put_gate();
    void open_gate();

    // The functions that wait check `give_up` every 10 ms. They return whether the condition is true. After a write has
    // failed they return at once, because all further text is dropped.
    using GiveUp = std::function<bool()>;
    // Waits until the queue has room for `size` bytes.
    bool wait_for_room(size_t size, Patience patience, const GiveUp& give_up);
    // Waits until the queue is empty up to the first closed gate.
    bool wait_until_written(Patience patience, const GiveUp& give_up);

    // Ends the thread within 200 ms. Text that is not written by then is lost. A thread that hangs in the kernel (for
    // example because an NFS server does not respond) is abandoned.
    void stop();

    Loss lost(Stream stream) const;
    // The number of lines that wait in the queue.
    uint64_t queued_lines() const;
    // Why writing printed text failed; empty while it works. failure_fd() becomes readable then.
    std::optional<Error> failure() const;
    int failure_fd() const;

  private:
    struct State;
    Writer();
    bool wait(Patience patience, const GiveUp& give_up, const std::function<bool()>& reached);
    std::unique_ptr<State> state_; // shared with the thread, and abandoned with a thread that does not end
};

} // namespace sonde
