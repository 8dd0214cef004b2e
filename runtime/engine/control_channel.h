// What the session and the process that serves its control files say to each other, over a socket: both are one
// program of one build, so that frames are structs.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"

namespace sonde {

struct ControlFrame {
    enum Kind : uint32_t {
        Mount,  // to the server, first
        Answer, // to the session: mounted, or the text says why not; to the server: the text of a Read
        Read,   // to the session: of the file `node`
        Write,  // to the session: this text to the file `node`; without an answer
    };
    Kind kind = Mount;
    uint32_t node = 0;       // index of ControlFiles::nodes
    uint64_t id = 0;         // of a Read, and of its Answer
    int64_t deadline_ns = 0; // CLOCK_MONOTONIC: nobody waits for the Answer of a Read beyond that
    uint64_t size = 0;       // of the text after it
};

class ControlChannel {
  public:
    explicit ControlChannel(Fd socket) : socket_(std::move(socket)) {}
    int fd() const { return socket_.get(); }
    // Takes what has come, without waiting. False: the other end is gone, and nothing is left of what it said.
    bool receive();
    // The next whole frame that has come.
    bool take(ControlFrame& frame, std::string& text);
    // Queues it, and sends what can be sent without waiting. False: too much waits already, as the other end does not
    // read.
    bool send(ControlFrame frame, const std::string& text);
    bool flush(); // false: the other end is gone
    bool has_unsent() const { return !out_.empty(); }

  private:
    Fd socket_;
    std::string in_, out_;
    bool gone_ = false;
};

} // namespace sonde
