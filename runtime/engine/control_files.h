// The files of procfs probes, and standard input: two ways in which users exchange text with a running session.
#pragma once

#include <termios.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "runtime/plan/plan.h"

namespace sonde {

// Runs a handler with `$value` set to `value`, and returns `$value` at the handler's end. `limit` is its maximum length
// in bytes.
using RunFileHandler = std::function<std::string(const plan::Probe& probe, const std::string& value, uint64_t limit)>;

// Handles the file of `sonde dump NAME`. With a reason, lets the flight recorder write a recording. Without one,
// returns the recorder's message about its last recording.
using DumpHandler = std::function<std::string(const std::optional<std::string>& why)>;

// Removes the control folders of sessions whose server process was killed, and their parent folder if it is empty.
void remove_leftovers();

// A file or folder in the control file system.
struct ControlNode {
    std::string name;
    uint64_t parent = 0; // index of the folder that contains it
    bool is_folder = false;
    // The permissions in the file system, 0644 for example.
    uint32_t mode = 0;
    // The probes whose handlers run when a user reads or writes the file. The plan owns them.
    const plan::Probe* reads = nullptr;
    std::vector<const plan::Probe*> writes;
    // The file of `sonde dump NAME`: a write lets the flight recorder write a recording, and a read returns its
    // message.
    bool is_dump = false;

    bool can_read() const { return reads || is_dump; }
    bool can_write() const { return is_dump || !writes.empty(); }
};
// Returns all nodes. [0] is the root folder; without procfs probes and without `has_dump` it is the only node.
// `has_dump`: add the file of `sonde dump NAME`, unless a probe has a file of that name.
std::vector<ControlNode> control_nodes(const plan::Plan& plan, bool has_dump);
// The name of this file, and the folder that has the control files of the session with this name.
constexpr const char* dump_file = "dump";
std::string control_folder(const std::string& name);

// The main function of the process that serves a session's control files (runtime/engine/control_process.h). It mounts
// a FUSE file system when the session asks for it, and ends when the session closes `socket`. Reading a file from its
// beginning runs the session's handler for reading and returns its text. Each write runs the handlers for writing. Also
// removes leftovers of killed sessions.
void serve_control_files(const plan::Plan& plan, bool has_dump, Fd socket);

// Standard input, for the probes input.char and input.line. A terminal is switched to deliver each character as it is
// typed; the destructor restores it.
class StandardInput {
  public:
    StandardInput(const plan::Plan& plan, RunFileHandler run);
    ~StandardInput();
    StandardInput(const StandardInput&) = delete;
    StandardInput& operator=(const StandardInput&) = delete;
    int fd() const { return fd_; } // -1: no probe needs standard input, or it has ended
    // Reads the available input and runs the handlers. Stops early if `stop()` returns true, which means that the
    // session ends.
    void serve(const std::function<bool()>& stop);

  private:
    std::vector<const plan::Probe*> characters_, lines_;
    RunFileHandler run_;
    uint64_t limit_;
    std::string line_;
    int fd_ = -1;
    bool changed_ = false;
    termios before_{};
};

} // namespace sonde
