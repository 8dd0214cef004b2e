// The protocol between the session and the process that serves its control files. Both ends are the same program, so
// frames are plain structs, sent over a Unix socket.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"

namespace sonde {

// A message: this struct, followed by `size` bytes of text.
struct ControlFrame {
    enum Kind : uint32_t {
        Mount,  // to the server: create the file system
        Answer, // to the session: the result of Mount, with an error message or an empty text; to the server: the text
                // of a Read
        Read,   // to the session: run the handler for reading the file `node`
        Write,  // to the session: run the handlers for writing the file `node`; not answered
        Edit,   // to the session: pass the text to the editor, for the file `node`; answered
    };
    Kind kind = Mount;
    uint32_t node = 0;       // index into ControlFiles::nodes
    uint64_t id = 0;         // of a Read or an Edit, repeated in its Answer
    int64_t deadline_ns = 0; // of a Read or an Edit: when the caller gives up, CLOCK_MONOTONIC
    int32_t error = 0;       // of the Answer to an Edit, as ProbeEditor::Answer::error
    bool is_whole = false;   // of an Edit: no more text follows
    uint64_t size = 0;       // of the text, in bytes
};

// One end of the connection. No function blocks.
class ControlChannel {
  public:
    explicit ControlChannel(Fd socket) : socket_(std::move(socket)) {}
    int fd() const { return socket_.get(); }
    // Receives the available bytes. Returns false if the other end has closed and all its frames were taken.
    bool receive();
    // Takes the next complete frame. Returns false if none has arrived.
    bool take(ControlFrame& frame, std::string& text);
    // Queues a frame and sends as much as possible. Returns false if the queue is full, because the other end does not
    // read.
    bool send(ControlFrame frame, const std::string& text);
    bool flush(); // false: the other end has closed
    bool has_unsent() const { return !out_.empty(); }

  private:
    Fd socket_;
    std::string in_, out_;
    bool gone_ = false;
};

} // namespace sonde
