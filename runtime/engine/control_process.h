// The session's end of its control files. A separate process serves the file system (runtime/engine/control_files.h).
// It sends a request here when only a handler of the session knows the answer.
//
// Every access to a file system waits in the kernel for the process that serves it, even `df`. A session may be
// stopped, killed or busy. The server is not: it answers for names and attributes by itself, and gives up on a session
// that does not respond. It has no other resources of the session, ends with the session, and then removes the folder,
// even if the session was killed.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/engine/control_channel.h"
#include "runtime/engine/control_files.h"
#include "runtime/plan/plan.h"
#include "runtime/values/probe_editor.h"

namespace sonde {

class ControlProcess {
  public:
    // Forks the server, which then waits for mount(). Call this before the session creates threads, loads programs or
    // opens files that the server must not inherit. Returns null if the session has no control files. Errors: a file of
    // the script is in the folder `probes`, which is that of --editable.
    static Result<std::unique_ptr<ControlProcess>> start(const plan::Plan& plan, SpecialFiles special);
    ~ControlProcess(); // waits until the folder is removed
    ControlProcess(const ControlProcess&) = delete;
    ControlProcess& operator=(const ControlProcess&) = delete;

    // Mounts the file system. Fails if FUSE is not available, if permissions are missing, or if another session has the
    // same name.
    Result<void> mount();
    int fd() const { return ended_ ? -1 : channel_.fd(); } // readable when a request has arrived
    // Answers all requests that have arrived. Stops early if `stop()` returns true. `editor` answers the requests for
    // the files of the folder `probes`; null: there are none.
    void serve(const RunFileHandler& run, const DumpHandler& dump, ProbeEditor* editor,
               const std::function<bool()>& stop);

  private:
    ControlProcess(Fd socket, pid_t pid, const plan::Plan& plan, SpecialFiles special);
    // Kills the server and removes its folder.
    void take_away();
    ControlChannel channel_;
    pid_t pid_; // -1: the server has ended
    std::vector<ControlNode> nodes_;
    uint64_t text_limit_;
    bool ended_ = false; // the server was killed
};

} // namespace sonde
