// What a pointer of C points into, as far as the code tells it, and how an access stays inside of that.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "codegen/c/body.h"

namespace sonde {

constexpr uint64_t probe_read_kernel = 113; // BPF_FUNC_probe_read_kernel (include/uapi/linux/bpf.h)

class CPointers {
  public:
    struct Target {
        llvm::Value* local = nullptr; // the one object that it points into
        uint64_t size = 0;            // of it
        bool has_local = false;       // it can point into one
        bool is_constant = false;     // the object cannot be written to
        bool may_be_null = false;     // or it points nowhere
    };

    explicit CPointers(CBody& body) : body_(body) {}

    Target target_of(llvm::Value* pointer) const;
    // The address as a number to the verifier too.
    llvm::Value* as_number(llvm::Value* pointer, bool has_local);
    // The same, also where it moves by a distance that the verifier does not know: that is computed with numbers only.
    llvm::Value* number_of(llvm::Value* pointer);
    // Into variables or constants, or nowhere: as a pointer it is of no use but to read and write.
    bool is_of_variables(llvm::Value* pointer) const;
    // as_number() has made it.
    bool is_made(const llvm::Value& number) const { return made_.contains(&number); }
    // Keeps an access of `bytes` inside of the object: `pointer` is its operand of `at`. False: it is refused.
    bool stay_inside(llvm::Instruction& at, const Target& target, llvm::Use& pointer, uint64_t bytes);
    // Calls bpf_probe_read_kernel(), which gives a negative number where there is no memory.
    llvm::Value* read_kernel(llvm::Value* to, llvm::Value* size, llvm::Value* address);
    // So that the verifier knows nothing of what it holds.
    void read_onto_itself(llvm::AllocaInst& variable);
    // In place of a pointer that moves, how far it is from its object's begin. Nothing where it points into no object
    // that is known.
    void make_distance(llvm::PHINode& phi);
    // For a pointer that may be NULL, or points into one of several objects: the numbers by which it is read and
    // compared stand beside it.
    void make_numbers(llvm::PHINode& phi);
    // Where such a number is taken from now on.
    void replace_number(const llvm::Value& number, llvm::Value& by);

  private:
    uint64_t size_of(const llvm::Value& object) const;
    // Loads what read_kernel() has read.
    bool is_read_to(const llvm::LoadInst& load) const;
    // Where an index is known only when it runs, the verifier wants all bytes to have values.
    void clear(llvm::AllocaInst& variable);
    // On the stack the verifier wants to know that an address is a multiple of what is read or written there. `exact`:
    // the distance, and `checked`: the same, known to be inside.
    void align(llvm::Instruction& at, llvm::Use& pointer, llvm::Value& exact, llvm::Instruction& checked);
    // How far a pointer is from the beginning of what it points into. Computed from what it is made of: a pointer that
    // moves by an unknown distance is nothing that the verifier follows.
    llvm::Value* distance_of(llvm::Value* pointer, llvm::Value* base);

    CBody& body_;
    std::set<llvm::AllocaInst*> cleared_;
    std::set<const llvm::Value*> made_;              // as_number()
    std::map<llvm::Value*, llvm::Value*> distances_; // distance_of()
    std::map<llvm::Value*, llvm::Value*> numbers_;   // number_of()
};

} // namespace sonde
