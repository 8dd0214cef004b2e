// Watchpoints in processes' memory.
//
// A processor's debug registers are a thread's, so each thread gets the events, and what it starts or forks inherits
// them. Where a program is loaded is known only when it runs: a breakpoint at its first instruction keeps each process
// that begins with it (codegen/rtlib/watch.bpf.c) until a thread of ours has opened the events. This thread does
// nothing else, so that nobody waits for handlers or for whoever reads the session's output.
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

class Watchpoints {
  public:
    Watchpoints(const plan::Plan& plan, const KernelObject& kernel) : plan_(plan), kernel_(kernel) {}
    ~Watchpoints() { clear(); }
    Watchpoints(const Watchpoints&) = delete;
    Watchpoints& operator=(const Watchpoints&) = delete;

    // Watches the processes that begin from here on, and those that run already: the ones that a probe names by their
    // number, and those of the named programs among `processes`. `multi`: uprobes are attached by uprobe_multi links.
    // Errors: a program's beginning cannot be probed; a process that was asked for by its number cannot be watched.
    Result<void> begin(const std::vector<int64_t>& processes, bool multi);
    // Those that still wait go on first if the session's state is Stopping.
    void clear();

  private:
    // The first instruction of a program.
    struct Beginning {
        std::string program;
        uint64_t address = 0; // as linked
        uint64_t offset = 0;  // in the file
    };
    Result<void> find_beginnings();
    Result<void> attach_beginnings(bool multi);
    Result<void> watch_running(int64_t process, bool by_number);
    // Watches all points that name this program (empty: this process' number) in the process' threads.
    Result<Attachments> watch(int64_t process, const std::string& program, uint64_t bias);
    void handle(const sonde_watch_event& event);
    void process_began(const sonde_watch_event& event);
    void serve(); // the thread
    static int handle_record(void* self, void* record, size_t size);

    const plan::Plan& plan_;
    const KernelObject& kernel_;
    std::vector<Beginning> beginnings_; // by the cookie of what is attached there
    Attachments attachments_;
    std::mutex lock_;                         // of what follows
    std::map<uint64_t, Attachments> watched_; // by family
    ring_buffer* events_ = nullptr;
    Fd stop_; // readable when the thread has to end
    std::thread thread_;
};

} // namespace sonde
