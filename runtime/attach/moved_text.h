// Handles traced programs that move their code to other memory, such as `node --use-largepages` or programs with
// hugify.
//
// The problem: the program copies its code, including the breakpoints of our uprobes, to large pages. The kernel has no
// uprobe for the copy's addresses. So the first breakpoint in the copy would end the program with SIGTRAP.
//
// The idea: a BPF program at mprotect() and mremap() holds the process in its handler before the copy can run
// (codegen/rtlib/moved.bpf.c). The session writes the original instructions into the copy, warns that it no longer sees
// hits there, and lets the process continue.
//
// Both functions are in a C library that all processes share, and only some must be followed. So the BPF program is
// attached there for single processes: for those that run when the session begins, and for a new one when it reaches
// the first instruction of a probed program, where it waits for this. Programs that do not call the two functions are
// not followed (plan::ProbedFile::may_move).
//
// Limits: if this takes more than five seconds (before Linux 6.13, one), for example because the session is stopped
// itself, the process gets SIGSTOP, which a parent can see (WUNTRACED), and SIGCONT later. If the session does not
// answer for five seconds, a process at its first instruction goes on and is followed later, with a warning: if it has
// moved its code by then, SIGTRAP ends it. Shared libraries do not move their code.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "runtime/attach/attach.h"
#include "runtime/kernel/uprobe_session.h"
#include "runtime/load/load.h"
#include "runtime/plan/moved_text_event.h"
#include "runtime/plan/plan.h"
#include "runtime/processes/probed_files.h"

namespace sonde {

class MovedText {
  public:
    // Begins to follow `running`, those of them that run a probed program, and all new processes that will.
    // `uprobe_multi` selects the kind of link. Returns an error if the kernel refuses the breakpoints. The references
    // must outlive the result.
    static Result<std::unique_ptr<MovedText>> start(const plan::Plan& plan, const KernelObject& kernel,
                                                    const ProbedFiles& files, const std::vector<int64_t>& running,
                                                    bool uprobe_multi);
    ~MovedText();
    // Repairs the processes that wait now. The session calls this in each iteration of its loop.
    void look();

  private:
    MovedText(const plan::Plan& plan, const KernelObject& kernel, const ProbedFiles& files, bool uprobe_multi)
        : plan_(plan), kernel_(kernel), files_(files), uprobe_multi_(uprobe_multi) {}
    // `cookies`: for each offset, where it is (SONDE_AT_*).
    Result<std::unique_ptr<Attachment>> attach(UprobeTargets targets) const;
    // Attaches to the first instruction of a program. Does nothing if it cannot be read.
    Result<void> catch_beginning(const plan::ProbedFile& file);
    // Attaches to the two functions in the process. Does nothing if it runs no program that may move its code.
    Result<void> follow(int64_t process);
    // Detaches in another thread.
    void drop(Attachments& places);
    // Stops following processes that have ended.
    void drop_ended();
    // Does what the process waits for. `begins`: it is at its first instruction.
    void serve(int64_t process, bool begins, const sonde_moved& moved);
    // Returns false if the element has another state than `from`: the process does not wait any more.
    bool change_state(uint32_t key, sonde_moved_state from, sonde_moved_state to) const;
    // Restores the original instructions in a copy of `size` bytes at `from`, which will run at `to`. `code` is the
    // address at which the program's code begins. Returns the number of restored instructions.
    size_t mend(int64_t process, uint64_t code, uint64_t from, uint64_t size, uint64_t to) const;

    const plan::Plan& plan_;
    const KernelObject& kernel_;
    const ProbedFiles& files_;
    bool uprobe_multi_;
    // A kernel without session links calls handlers with the uprobe's register_rwsem held. Both changed in 6.13
    // ("uprobes: travers uprobe's consumer list locklessly under SRCU protection").
    bool handlers_hold_lock_ = !has_uprobe_session();
    Attachments beginnings_;
    std::map<int64_t, Attachments> followed_; // by process
    Attachments dropped_;                     // to be detached
    std::atomic<bool> is_detaching_ = false;
    std::thread detacher_;
};

} // namespace sonde
