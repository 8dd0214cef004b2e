// The session's side of its control files: a process of their own serves them (runtime/engine/control_files.h), and
// asks here for what only the session's handlers know.
//
// Whoever touches a file system waits in the kernel for who serves it, `ls /run/sonde` and `df` as well. A session can
// be stopped, killed or busy; its server is not: it answers for files and folders by itself, and gives up on a session
// that does not answer. It holds nothing else of the session's, ends with it, and takes the folder away then, also when
// the session was killed.
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

namespace sonde {

class ControlProcess {
  public:
    // Forks the server, which waits. To be called before the session has threads, loads programs or opens files that
    // the server should not have. Null: the plan has no control files.
    static Result<std::unique_ptr<ControlProcess>> start(const plan::Plan& plan);
    ~ControlProcess(); // the folder is gone afterwards
    ControlProcess(const ControlProcess&) = delete;
    ControlProcess& operator=(const ControlProcess&) = delete;

    // Errors: no FUSE, no rights, another session of that name.
    Result<void> mount();
    int fd() const { return ended_ ? -1 : channel_.fd(); } // readable when somebody asks for something
    // Answers all that wait, until `stop` says that the session ends.
    void serve(const RunFileHandler& run, const std::function<bool()>& stop);

  private:
    ControlProcess(Fd socket, pid_t pid, const plan::Plan& plan);
    // Ends the server, and does what it would have done at its end.
    void take_away();
    ControlChannel channel_;
    pid_t pid_; // -1: reaped
    std::vector<ControlNode> nodes_;
    uint64_t text_limit_;
    bool ended_ = false; // the server was killed
};

} // namespace sonde
