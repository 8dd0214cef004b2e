// A thread that writes texts to files, in order, so that nobody who has something to say waits for who reads it.
//
// O_NONBLOCK is no way: it belongs to the open file description, which the shell and other programs share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// How long to wait for a reader, in nanoseconds.
struct Patience {
    static constexpr int64_t forever = INT64_MAX;
    int64_t total = forever;            // in all
    int64_t without_progress = forever; // while the reader takes nothing
};

class Writer {
  public:
    enum Stream { Printed, Said }; // standard output or -o's file; standard error
    struct Loss {
        uint64_t lines = 0, bytes = 0;
    };
    // Begins with `file` for what is printed; an empty Fd: `path` is opened when it is needed, without waiting here for
    // the other end of a FIFO; an empty path: standard output. Queues at most `capacity` bytes (and 1 MB of messages).
    static Result<std::unique_ptr<Writer>> start(uint64_t capacity, Fd file = Fd(), const std::string& path = "");
    ~Writer(); // stop()
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    // Takes the text, and leaves it empty. False: there is no room; the text stays.
    bool push(Stream stream, std::string& text);
    // What is printed from here on goes to this file, which is made; `old` is removed (empty: none).
    void go_on_in(const std::string& path, const std::string& old);
    // Counts what the caller drops for want of room.
    void count_lost(Stream stream, const std::string& text);

    // A gate: nothing after it is written until it is opened. Gates open in the order in which they were put.
    void put_gate();
    void open_gate();

    // Each waits in slices of at most 10 ms, until `give_up` says so. True: it is so now. Writing that fails is no
    // reason to wait: what follows is dropped.
    using GiveUp = std::function<bool()>;
    bool wait_for_room(size_t size, Patience patience, const GiveUp& give_up);
    // Everything is written, up to a closed gate if there is one.
    bool wait_until_written(Patience patience, const GiveUp& give_up);

    // Ends the thread. What is not written then is lost. Takes at most 200 ms: a thread that the kernel does not let go
    // (a dead NFS server) is left alone.
    void stop();

    Loss lost(Stream stream) const;
    uint64_t queued_lines() const;
    // Why writing printed text failed; empty while it works. failure_fd() becomes readable then.
    std::optional<Error> failure() const;
    int failure_fd() const;

  private:
    struct State;
    Writer();
    bool wait(Patience patience, const GiveUp& give_up, const std::function<bool()>& reached);
    std::unique_ptr<State> state_; // the thread's too: left behind with a thread that does not end
};

} // namespace sonde
