// The files of procfs probes, and standard input: texts that come from and go to whoever uses the session.
#pragma once

#include <termios.h>

#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "runtime/plan/plan.h"

namespace sonde {

// Runs a handler with that `$value`; gives what it leaves there. `limit`: bytes that it may have.
using RunFileHandler = std::function<std::string(const plan::Probe& probe, const std::string& value, uint64_t limit)>;

// Takes away the folders that nobody serves any more, as their servers were killed, and the one that they are in when
// it is empty.
void remove_leftovers();

// A file or folder of procfs probes.
struct ControlNode {
    std::string name;
    uint64_t parent = 0; // index
    bool is_folder = false;
    uint32_t mode = 0;
    const plan::Probe* reads = nullptr;
    std::vector<const plan::Probe*> writes;
};
// [0] is the folder that has all others; nothing else if the plan has no such probes.
std::vector<ControlNode> control_nodes(const plan::Plan& plan);

// The process that serves a session's control files (runtime/engine/control_process.h): mounts a file system of the
// session's own when the session says so, with a file for each path, and ends with the session, which it notices by
// `socket`. Reading a file from its beginning gives the text that the session's handler makes; each write goes to the
// handlers for writing. A leftover of sessions that were killed together with their servers is removed.
void serve_control_files(const plan::Plan& plan, Fd socket);

// What input.char and input.line are made of. A terminal gives characters as they are typed.
class StandardInput {
  public:
    StandardInput(const plan::Plan& plan, RunFileHandler run);
    ~StandardInput();
    StandardInput(const StandardInput&) = delete;
    StandardInput& operator=(const StandardInput&) = delete;
    int fd() const { return fd_; } // -1: nobody asks for it, or it has ended
    // Reads what is there; `stop` tells whether the session ends.
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
