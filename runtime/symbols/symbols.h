// What lies at an address of a traced process.
//
// Handlers tell of every mapping that they meet, once, and in front of everything that they print about it: so the
// runtime knows a process's addresses after its exit too. The files behind the mappings are known to the kernel and to
// the runtime by the address of their inode, which the runtime asks the kernel for (codegen/rtlib/ask.bpf.c): that is
// the same on every file system and in every container. A file that was seen stays mapped here, so that no other gets
// its inode.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "runtime/load/load.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/stack.h"
#include "runtime/symbols/inlined.h"
#include "runtime/symbols/jit_names.h"
#include "runtime/symbols/kernel_symbols.h"
#include "runtime/symbols/rendered.h"
#include "runtime/symbols/shared_stacks.h"

namespace sonde {

// The path within its file system; empty if it is too long for the record.
std::string join_names(const sonde_new_mapping& mapping);

class Symbols {
  public:
    Symbols();
    ~Symbols();

    // Handlers get the tables of the programs that `plan` names and of `programs`, with their libraries, and of what
    // `process` has mapped now (0: none). Files that are met later follow then. Nothing if handlers look nothing up.
    void begin(const plan::Plan& plan, const KernelObject& kernel, const std::vector<std::string>& programs,
               int64_t process);

    // `inner_path` is the file's path within its file system.
    void add_mapping(const sonde_mapping& mapping, const std::string& inner_path);

    // For a stack that processes share as a key: a number that stands for the process where it was met first, as
    // it was then; 0: there is none. What follows takes it for a process.
    uint64_t process_of_stack(const std::string& text);

    // What lies at an address, as a sonde_symbol_style. `process` 0: in whichever process has something there, the one
    // that was met last. One in the kernel's half is the kernel's.
    std::string text(uint64_t process, uint64_t address, uint64_t style);
    // "file.c:12", or "".
    std::string source(uint64_t process, uint64_t address);
    // The inlined functions that a user address lies in, the innermost first.
    std::vector<InlinedCall> inlined(uint64_t process, uint64_t address);
    // Lines that were made of these answers, as long as these are the same.
    Rendered& rendered();

  private:
    struct File;
    struct Found;
    Found find(uint64_t process, uint64_t address);
    // The same in a style, of an address that lies in no file.
    std::string text_of_made_code(uint64_t process, uint64_t address, uint64_t style);
    void read_on(uint64_t process, JitNames& names);
    const sonde_mapping* find_mapping(uint64_t process, uint64_t address) const;
    // Reads the file at `open_path`, which users know as `path`. Null if it is not readable or no program.
    File* add_file(const std::string& open_path, const std::string& path);
    void add_program(const std::string& path);
    void add_process(uint64_t process);
    // Everything here has a process by its number in the initial PID namespace; /proc has those of the session's.
    int64_t number_here(uint64_t process) const;
    // The process itself.
    uint64_t real_process(uint64_t process) const;
    bool find_file(const sonde_mapping& mapping, const std::string& inner_path);
    // The kernel's own code in a process, which is read from its memory. `here`: its number in /proc.
    bool find_vdso(const sonde_mapping& mapping, int64_t here);
    Fd make_table(File& file) const;
    void begin_kernel(const plan::Plan& plan);
    // To the kernel, all at once: it waits each time until no handler uses what was there before.
    void give_tables();
    uint64_t ask_inode(const void* page);

    const KernelObject* kernel_ = nullptr;
    Rendered rendered_;
    KernelSymbols kernel_symbols_;
    uint8_t tables_ = 0;
    std::unordered_map<uint64_t, std::unique_ptr<File>> files_; // by inode; null: it cannot be read
    std::map<uint64_t, std::vector<sonde_mapping>> mappings_;   // by process, the newest last
    std::vector<File*> without_table_;
    std::set<std::string> programs_;
    std::map<uint64_t, bool> read_;    // processes whose list of mappings was read
    std::vector<uint64_t> processes_;  // the one that was met last is the last
    std::map<uint64_t, JitNames> jit_; // of each of them
    SharedStacks shared_;
    std::unordered_map<std::string, uint64_t> stacks_;  // process_of_stack()
    std::vector<uint64_t> first_processes_;             // of each, numbered as the kernel does
    std::unordered_map<uint64_t, uint64_t> unreadable_; // files: inode -> edition
};

} // namespace sonde
