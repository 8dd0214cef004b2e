// Handles traced programs that move, copy or drop their code.
//
// Some programs move their code to large pages, such as `node --use-largepages` or programs with hugify. Others copy
// functions to new memory, or drop pages of their code to save memory.
//
// The problem: a copy contains the breakpoints of our uprobes, and the kernel has no uprobe for the copy's addresses.
// So the first breakpoint in the copy would end the program with SIGTRAP. And if a program drops a page with
// breakpoints, the kernel reads the page from the file again, but does not set them again (measured on 6.1, 6.18 and
// 7.2). The hits are lost, and nobody notices.
//
// The idea: a BPF program at mprotect(), mremap(), mmap() and madvise() holds the thread in its handler
// (codegen/rtlib/moved.bpf.c). The session then does one of these, and lets the process continue:
//
// * It writes the original instructions into the copy, and warns that it does not see hits there.
// * It sets the breakpoints again: the kernel does so when another uprobe is attached to the same places.
// * It warns that the kernel does not probe a mapping: a shared one, or a writable one.
//
// The functions are in a C library that all processes share, and only some must be followed. So the BPF program is
// attached there for single processes: for those that run when the session begins, and for a new one when it reaches
// the first instruction of a probed program, where it waits for this. Programs that call none of the functions are not
// followed (plan::ProbedFile::may_move).
//
// Limits:
// * A program that maps memory which is writable and executable can copy its code there and run it without a further
//   call. Nobody can stop it before it reaches the copied breakpoint.
// * Programs that make the system calls without the C library are not followed.
// * A process whose code is replaced by a copy waits five seconds for the session (before Linux 6.13, one). After that
//   it gets SIGSTOP, and SIGCONT when the session answers. A parent can see this (WUNTRACED). After other changes
//   of memory, a thread continues if the session does not answer within half a second.
// * If the session does not answer for five seconds, a process at its first instruction goes on and is followed later,
//   with a warning: if it has moved its code by then, SIGTRAP ends it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "runtime/attach/attach.h"
#include "runtime/attach/code_copies.h"
#include "runtime/kernel/uprobe_session.h"
#include "runtime/load/load.h"
#include "runtime/plan/moved_text_event.h"
#include "runtime/plan/plan.h"
#include "runtime/processes/breakpoint_check.h"
#include "runtime/processes/probed_files.h"
#include "runtime/text/warned_once.h"

namespace sonde {

// The functions of one file that change mappings.
struct FileFunctions {
    std::set<std::string> called; // in other files
    // Where the BPF program is attached, by function: file offsets, with SONDE_AT_* or SONDE_AFTER_*.
    std::map<std::string, std::map<uint64_t, uint64_t>> places;
};

class MovedText {
  public:
    // Begins to follow `running`, those of them that run a probed program, and all new processes that will.
    // `attachments` have the places with breakpoints. `uprobe_multi` selects the kind of link. Returns an error if the
    // kernel refuses the breakpoints. The references must outlive the result.
    static Result<std::unique_ptr<MovedText>> start(const plan::Plan& plan, const KernelObject& kernel,
                                                    const ProbedFiles& files, const Attachments& attachments,
                                                    WarnedOnce& warned, const std::vector<int64_t>& running,
                                                    bool uprobe_multi);
    ~MovedText();
    // Repairs the processes that wait now. The session calls this in each iteration of its loop.
    void look();

  private:
    MovedText(const plan::Plan& plan, const KernelObject& kernel, const ProbedFiles& files,
              const Attachments& attachments, WarnedOnce& warned, bool uprobe_multi)
        : plan_(plan), kernel_(kernel), files_(files), attachments_(attachments), uprobe_multi_(uprobe_multi),
          copies_(plan, files), checker_(plan, files), warned_(warned) {}
    // `cookies`: for each offset, where it is (SONDE_AT_*).
    Result<std::unique_ptr<Attachment>> attach(UprobeTargets targets) const;
    // Attaches to the first instruction of a program. Does nothing if it cannot be read.
    Result<void> catch_beginning(const plan::ProbedFile& file);
    const FileFunctions& functions_of(const std::string& path);
    // Attaches to the functions in the process. Does nothing if it runs no program that may move its code.
    Result<void> follow(int64_t process);
    // Detaches in another thread.
    void drop(Attachments& places);
    // Stops following processes that have ended.
    void drop_ended();
    // Does what the process waits for. `begins`: it is at its first instruction.
    void serve(int64_t process, bool begins, const sonde_moved& moved);
    // Returns false if the element has another state than `from`: the process does not wait any more.
    bool change_state(uint32_t key, sonde_moved_state from, sonde_moved_state to) const;
    // What happened to a copy of code.
    struct Copied {
        bool is_text = false; // it replaces probed code of the program
        size_t restored = 0;  // instructions that had breakpoints
        size_t failed = 0;    // that still have them
    };
    // Restores the original instructions in new executable memory, which will run at `moved.to`.
    Copied mend(int64_t process, const sonde_moved& moved) const;
    // Does so for memory that will be the program's own code. Appends the patches.
    void find_in_text(int64_t process, const sonde_moved& moved, std::vector<CodePatch>& patches, Copied& out) const;
    // Looks at memory that was mapped, or whose pages were dropped. Sets missing breakpoints again.
    void rearm(int64_t process, const sonde_moved& moved);
    void say_copied(int64_t process, const Copied& copied);
    // Prints a warning about the process.
    void tell(int64_t process, const std::string& text);

    const plan::Plan& plan_;
    const KernelObject& kernel_;
    const ProbedFiles& files_;
    const Attachments& attachments_;
    bool uprobe_multi_;
    CodeCopies copies_;
    BreakpointChecker checker_;
    WarnedOnce& warned_;
    // A kernel without session links calls handlers with the uprobe's register_rwsem held. Both changed in 6.13
    // ("uprobes: travers uprobe's consumer list locklessly under SRCU protection").
    bool handlers_hold_lock_ = !has_uprobe_session();
    using FileVersion = std::tuple<uint64_t, uint64_t, int64_t, int64_t>; // device, inode, time of the last write
    std::map<FileVersion, FileFunctions> functions_;
    Attachments beginnings_;
    std::map<int64_t, Attachments> followed_; // by process
    Attachments dropped_;                     // to be detached
    std::atomic<bool> is_detaching_ = false;
    std::thread detacher_;
};

} // namespace sonde
