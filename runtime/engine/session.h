// Runs a plan: loads its programs, attaches its probes, processes events until the end, and reports losses.
#pragma once

#include "base/result.h"
#include "options/translate.h"
#include "runtime/engine/session_options.h"
#include "runtime/engine/shared_session.h"
#include "runtime/plan/plan.h"

namespace sonde {

// Runs a session and returns its exit status:
// * 0: success, also after an interruption
// * 1: errors, or the command of -c has failed
// * exit_lossy (runtime/text/accounting.h): success, but data was lost
//
// Returns an error if a program could not be loaded or a probe could not be attached. If the verifier has rejected a
// program, the message has the script's line. Nothing remains attached. The error code kernel_cannot_compile
// (runtime/load/load.h) is possible.
//
// `shared`: the plan is a part of an interactive session. It then does not explain probes without hits at its end.
//
// The session reads only those options of `translate` that the plan does not decide: -t, -u and --attach.
Result<int> run_session(const plan::Plan& plan, const SessionOptions& options, const Translate& translate = {},
                        const SessionHooks& hooks = {}, const SharedSession* shared = nullptr);

} // namespace sonde
