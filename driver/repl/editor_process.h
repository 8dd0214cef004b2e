// The editor of a session with --editable: a process that translates the probes that a user adds, and runs each of them
// in a process of its own.
//
//     sonde --editable        the session: its script, output, control files and screen
//       └─ sonde-editor       translates; owns the maps of new globals; runs no handler
//            └─ probe 3 ...   one process for each added probe (driver/repl/piece_process.h)
//
// A translation takes long, and the session must not stop meanwhile, so the editor is a process. It ends with the
// session.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "driver/options.h"
#include "driver/policy.h"
#include "runtime/load/shared_maps.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/shared_globals.h"

namespace sonde::repl {

class EditorProcess {
  public:
    // Creates the maps of the plan's globals and forks the editor. `plan` was translated with plan::SharedGlobals, and
    // `texts` are the texts of its script. Call this before the session creates threads. Errors: a missing capability.
    static Result<std::unique_ptr<EditorProcess>> start(const plan::Plan& plan, const std::vector<std::string>& texts,
                                                        const Options& options, const Policies& policies);
    // Waits until the editor has ended. An editor that is busy is killed.
    ~EditorProcess();
    EditorProcess(const EditorProcess&) = delete;
    EditorProcess& operator=(const EditorProcess&) = delete;

    const SharedMaps& maps() const { return *maps_; }
    int socket() const { return socket_.get(); } // as SharedSession::editor

  private:
    EditorProcess() = default;
    std::unique_ptr<SharedMaps> maps_;
    Fd socket_;
    pid_t pid_ = 0;
};

} // namespace sonde::repl
