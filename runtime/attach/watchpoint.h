// Watches accesses to the memory of processes.
//
// The problem: hardware watchpoints use debug registers, and these belong to one thread. So sonde must open perf events
// in each thread of a process. Also, the load address of a program is unknown before it runs, and the program may
// access the variable soon after its start.
//
// The idea: new threads and child processes inherit the events (perf_event_attr::inherit). A uprobe at the first
// instruction of a watched program makes each new process wait (codegen/rtlib/watch.bpf.c). The BPF program sends a
// record with the process and its load address. A thread of the session opens the events and then lets the process
// continue. This thread does nothing else. If it also ran handlers or wrote output, a slow reader of the output would
// delay the watched program.
//
// A "family" is a watched process with all descendants that inherited its events. Its events are closed when its last
// member ends or executes another program. A process that waits for more than a second continues, and sonde warns that
// the first accesses may be missing.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "runtime/attach/attach.h"
#include "runtime/plan/watch_events.h"

struct ring_buffer;

namespace sonde {

// All watchpoints of a session in the memory of processes. The plan and the kernel object must outlive the object.
class Watchpoints {
  public:
    Watchpoints(const plan::Plan& plan, const KernelObject& kernel) : plan_(plan), kernel_(kernel) {}
    ~Watchpoints() { clear(); }
    Watchpoints(const Watchpoints&) = delete;
    Watchpoints& operator=(const Watchpoints&) = delete;

    // Starts watching. This covers new processes, processes that a probe names by number, and those of the `processes`
    // that run a watched program. `multi` selects uprobe_multi links. Returns an error if the first instruction of a
    // program cannot be probed, or if a process named by number cannot be watched.
    Result<void> begin(const std::vector<int64_t>& processes, bool multi);
    // Stops watching. The session's state must be Stopping already, so that waiting processes continue.
    void clear();

  private:
    // The first instruction of a watched program.
    struct Beginning {
        std::string program;
        uint64_t address = 0; // as linked
        uint64_t offset = 0;  // in the file
    };
    // Finds the first instruction of each watched program.
    Result<void> find_beginnings();
    // Attaches the uprobes at these instructions, and the programs that follow forks, execs and exits.
    Result<void> attach_beginnings(bool multi);
    // Watches a running process: because a probe names its number (`by_number`), or if it runs a watched program.
    Result<void> watch_running(int64_t process, bool by_number);
    // Opens events in all threads of the process, for all points that name this program, or this process' number if
    // `program` is empty. `bias` is the difference between the program's run-time and linked addresses.
    Result<Attachments> watch(int64_t process, const std::string& program, uint64_t bias);
    // Handles a record: a new process waits, or a family has ended.
    void handle(const sonde_watch_event& event);
    // Called for a new process that waits at its first instruction.
    void process_began(const sonde_watch_event& event);
    void serve(); // the main function of the thread
    static int handle_record(void* self, void* record, size_t size);

    const plan::Plan& plan_;
    // References must outlive this object.
    const KernelObject& kernel_;
    std::vector<Beginning> beginnings_; // indexed by the cookie of the uprobe
    Attachments attachments_;
    std::mutex lock_;                         // protects `watched_`
    std::map<uint64_t, Attachments> watched_; // by the number of the family
    ring_buffer* events_ = nullptr;
    Fd stop_; // readable when the thread should end
    std::thread thread_;
};

} // namespace sonde
