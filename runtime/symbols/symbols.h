// Turns addresses of traced processes into names.
//
// Handlers report every mapping of a file once, before any output that refers to it. So the runtime knows the mappings
// of a process after its exit, too.
//
// A file is identified by the address of its inode in kernel memory, because path names and device numbers differ
// between containers and some file systems. The runtime asks the kernel for it (codegen/rtlib/ask.bpf.c). Each known
// file stays mapped in this process, so that the kernel cannot reuse its inode for another file.
//
// Processes are identified as in symbolizer.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "runtime/load/load.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/stack.h"
#include "runtime/symbols/frame_values.h"
#include "runtime/symbols/inlined.h"
#include "runtime/symbols/interpreted_frames.h"
#include "runtime/symbols/jit_names.h"
#include "runtime/symbols/kernel_symbols.h"
#include "runtime/symbols/rendered.h"
#include "runtime/symbols/shared_stacks.h"
#include "runtime/symbols/symbolizer.h"
#include "runtime/symbols/thread_stacks.h"

namespace sonde {

// Returns the path of a mapped file relative to its file system. Empty if the path did not fit into the record.
std::string join_names(const sonde_new_mapping& mapping);

// One object for each session.
class Symbols final : public Symbolizer, public CallerValuesSource {
  public:
    Symbols();
    ~Symbols() override;

    // Compiles the tables that handlers use: for the programs in `plan` and `programs`, for their libraries, and for
    // files that `process` has mapped (0: no process). Tables for other files follow when handlers report them. Does
    // nothing if handlers look up neither symbols nor stacks.
    void begin(const plan::Plan& plan, const KernelObject& kernel, const std::vector<std::string>& programs,
               int64_t process);

    // Records a mapping that a handler has reported. `inner_path` is the path of the file in its file system
    // (join_names).
    void add_mapping(const sonde_mapping& mapping, const std::string& inner_path);

    uint64_t process_of_stack(const std::string& text) override;
    std::string text(uint64_t process, uint64_t address, uint64_t style) override;
    std::string source(uint64_t process, uint64_t address) override;
    std::optional<InterpretedFrame> interpreted_frame(uint64_t word) override { return interpreted_.describe(word); }
    std::vector<InlinedCall> inlined(uint64_t process, uint64_t address) override;
    Rendered& rendered() override;

    VisitedStack visited_stack(uint64_t process, uint64_t thread, uint64_t most, bool with_arguments) override;
    CallerValues caller_values(uint64_t process, const std::vector<uint64_t>& addresses) override;
    // Sets the function that evaluates the variables of copied stacks. Without it, no variables are known.
    void describe_frames_by(DescribeFrames describe) { describe_frames_ = std::move(describe); }
    // The copied stack that the script is for, whose registers and memory its handlers read; null: none. It must
    // outlive the session.
    void read_from(const plan::StackCopy* copy) { copy_ = copy; }
    const plan::StackCopy* copy() const { return copy_; }
    // All sinks have received a record. Until then, they get the same reading of a visited thread.
    void end_record() {
        visited_.reset();
        caller_values_.reset();
    }

    // Grows whenever answers may have changed, because a process has mapped a file or a JIT compiler has named
    // functions.
    uint64_t edition() const { return edition_; }

    // For walks: reads the mappings of a process again; returns the file that is mapped at an address, and its table.
    void read_mappings(uint64_t process);
    uint64_t file_at(uint64_t process, uint64_t address) const;
    // Returns the mapping that contains an address, or null.
    const sonde_mapping* find_mapping(uint64_t process, uint64_t address) const;
    std::span<const uint64_t> table_of(uint64_t inode) const;

  private:
    // An open file with its symbols, and a file with an address as linked in this file.
    struct File;
    struct Found;
    // Returns the file and the linked address for an address of a process. The file is null if the address is unknown.
    Found find(uint64_t process, uint64_t address);
    // The text for an address that is not in a file, from the names of JIT compilers.
    std::string text_of_made_code(uint64_t process, uint64_t address, uint64_t style);
    // Reads new names of a JIT compiler, and drops outdated lines from the cache.
    void read_on(uint64_t process, JitNames& names);
    // Reads the file at `open_path`; messages and output call it `path`. Returns null if the file is not readable or
    // not an ELF file.
    File* add_file(const std::string& open_path, const std::string& path);
    // Adds a program and its libraries, before any process runs them.
    void add_program(const std::string& path);
    // Adds the files that a running process has mapped.
    void add_process(uint64_t process);
    // Converts to the PID in the namespace of sonde's own /proc.
    int64_t number_here(uint64_t process) const;
    // Returns the process of a shared stack; other numbers are returned unchanged.
    uint64_t real_process(uint64_t process) const;
    // Opens the file of a mapping. Returns false if it cannot be found.
    bool find_file(const sonde_mapping& mapping, const std::string& inner_path);
    // Reads the vDSO from the memory of a process. `here` is its PID in sonde's /proc.
    bool find_vdso(const sonde_mapping& mapping, int64_t here);
    // Compiles the table of a file for handlers, as a new BPF map.
    Fd make_table(File& file);
    // Reads the kernel's symbols, and passes handlers their tables.
    void begin_kernel(const plan::Plan& plan);
    // Passes the tables to the kernel in one batch. Each update waits for running handlers, so single updates would be
    // slow.
    void give_tables();
    // Returns the kernel's address of the inode whose page is mapped at `page`; 0 on failure.
    uint64_t ask_inode(const void* page);

    const KernelObject* kernel_ = nullptr;
    bool keeps_tables_ = false;
    uint64_t edition_ = 0;
    Rendered rendered_;
    KernelSymbols kernel_symbols_;
    uint8_t tables_ = 0;
    std::unordered_map<uint64_t, std::unique_ptr<File>> files_; // by inode; null: the file cannot be read
    std::map<uint64_t, std::vector<sonde_mapping>> mappings_;   // by process, the most recent last
    std::vector<File*> without_table_;
    std::set<std::string> programs_;
    std::map<uint64_t, bool> read_;    // processes whose /proc/PID/maps was read
    std::vector<uint64_t> processes_;  // the most recently reported last
    std::map<uint64_t, JitNames> jit_; // by process
    SharedStacks shared_;
    InterpretedFrames interpreted_;
    // A reading of a visited thread.
    struct Visited {
        uint64_t process, thread, most;
        ThreadStack stack;
        VisitedStack told;
        bool has_arguments = false;
    };
    // Returns the arguments of the functions at an address of a stack, as VisitedFrame has them.
    std::vector<std::string> arguments(const ThreadStack& stack, const ThreadFrame& frame, bool after_call);
    std::unique_ptr<ThreadStacks> thread_stacks_; // only if handlers visit threads
    std::optional<Visited> visited_;              // for the current record
    DescribeFrames describe_frames_;
    const plan::StackCopy* copy_ = nullptr;
    // The last result of caller_values(), which several sinks need.
    std::optional<std::pair<std::vector<uint64_t>, CallerValues>> caller_values_;
    std::unordered_map<std::string, uint64_t> stacks_;  // results of process_of_stack()
    std::vector<uint64_t> first_processes_;             // the process of each stack
    std::unordered_map<uint64_t, uint64_t> unreadable_; // inode -> edition of the file
};

} // namespace sonde
