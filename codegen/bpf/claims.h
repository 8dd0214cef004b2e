// Resources that a handler owns while it runs: memory for its frame, memory for its loops, and the probe's lock.
//
// A handler may be preempted, and may sleep, so memory per processor would not be safe: a second handler could run on
// the same processor in between. Each resource has a word that says whether it is in use, and a handler takes it by an
// atomic exchange.
#pragma once

#include <vector>

#include "codegen/bpf/accounting.h"
#include "codegen/bpf/context.h"

namespace sonde {

// The resources of the program that is being lowered, in the order in which it claims these.
class Claims {
  public:
    Claims(BpfContext& bpf, BpfAccounting& accounting) : bpf_(bpf), e_(bpf.e), accounting_(accounting) {}
    // Call it when a program begins; nothing is claimed then.
    void clear() { words_.clear(); }
    // Claims a free slot of an array map with `slots` slots, or skips the hit. Returns the address after the slot's
    // busy word.
    llvm::Value* claim(const char* map, uint32_t slots);
    // Takes the probe's lock, whose word is at this address in the data area. Skips the hit if another handler keeps it
    // too long.
    void take_lock(llvm::Value* word);
    // Releases everything that is claimed, in reverse order, after all writes to it.
    void release();

  private:
    // Ends the handler and counts the skipped hit in this field of ProbeCounts.
    void skip(size_t field);

    BpfContext& bpf_;
    Emitter& e_;
    BpfAccounting& accounting_;
    std::vector<llvm::Value*> words_; // addresses of the busy words, and of the lock's word
};

} // namespace sonde
