// What a handler has to itself while it runs: memory for its frame and its loops, and the probe's lock. Handlers are
// preempted and can sleep, so nothing that belongs to a processor is safe; each is taken by an atomic exchange of a
// word.
#pragma once

#include <vector>

#include "codegen/bpf/accounting.h"
#include "codegen/bpf/context.h"

namespace sonde {

class Claims {
  public:
    Claims(BpfContext& bpf, BpfAccounting& accounting) : bpf_(bpf), e_(bpf.e), accounting_(accounting) {}
    // A program begins: nothing is claimed.
    void clear() { words_.clear(); }
    // A slot of a map. Gives the address after its busy word.
    llvm::Value* claim(const char* map, uint32_t slots);
    void take_lock(llvm::Value* word);
    // Gives back what is claimed, the last first: everything written there is done.
    void release();

  private:
    // The handler cannot run this time.
    void skip(size_t field);

    BpfContext& bpf_;
    Emitter& e_;
    BpfAccounting& accounting_;
    std::vector<llvm::Value*> words_; // the lock's too
};

} // namespace sonde
