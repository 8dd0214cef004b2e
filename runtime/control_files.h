// The files of procfs probes, and standard input: texts that come from and go to whoever uses the session.
#pragma once

#include <termios.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/plan.h"

struct fuse_session;

namespace sonde {

// Runs a handler with that `$value`; gives what it leaves there. `limit`: bytes that it may have.
using RunFileHandler = std::function<std::string(const plan::Probe& probe, const std::string& value, uint64_t limit)>;

// A file system of the session's own, with a file for each path: reading one from its beginning runs its handler and
// gives the text that it makes; each write runs the handlers for writing. The session's loop answers, so a reader waits
// while a handler runs.
class ControlFiles {
  public:
    // Mounts it at folder(); a leftover of a session that was killed is removed. Errors: no FUSE, no rights, another
    // session of that name.
    static Result<std::unique_ptr<ControlFiles>> open(const plan::Plan& plan, RunFileHandler run);
    ~ControlFiles(); // takes it away
    ControlFiles(const ControlFiles&) = delete;
    ControlFiles& operator=(const ControlFiles&) = delete;

    int fd() const; // readable when somebody asks for something
    void serve();   // answers all that wait
    const std::string& folder() const { return folder_; }

    struct Node {
        std::string name;
        uint64_t parent = 0; // index of nodes
        bool is_folder = false;
        uint32_t mode = 0;
        const plan::Probe* reads = nullptr;
        std::vector<const plan::Probe*> writes;
    };
    std::vector<Node> nodes; // [0] is the folder itself
    RunFileHandler run;
    uint64_t text_limit = 0;
    int open_files = 0;

  private:
    ControlFiles() = default;
    void let_go();
    void add(const plan::Probe& probe);
    Result<void> mount(const std::string& name);
    std::string folder_;
    bool made_ = false;
    fuse_session* session_ = nullptr;
};

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
