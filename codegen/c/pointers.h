// Finds the object that a C pointer points into, and keeps accesses within that object.
//
// The problem: C allows arbitrary pointer arithmetic, and LLVM makes more of it. In `while (*p) p++`, `p` is a pointer
// with an unknown offset. The verifier rejects it, because nothing bounds the offset.
//
// The idea: represent the pointer by a number, because numbers may have any value. There are two such numbers:
// - The distance (distance_of()) from the beginning of the object, if there is only one object that the pointer can
//   point into. Before each access, stay_inside() checks the distance and adds it to the object's address. An access
//   outside of the object ends the hit with an error message that names the line.
// - The address as a number (number_of()), if there are several objects, or if the address itself is used, say in a
//   comparison. Memory at such an address is read by bpf_probe_read_kernel().
//
// Example: for `char text[8]; ... text[i] = 0;`, LLVM computes the pointer `text + i`. This becomes:
//     if (i > 8 - 1) error("the index is outside of the object's 8 bytes");
//     *(text + i) = 0;
//
// What would break it: the verifier must see the check and the addition on the same register. If LLVM merges the
// checked number with an older copy of it, the verifier does not know the copy's bounds, and rejects the program. So
// the checked number is opaque to LLVM, or its bounds are part of its computation.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "codegen/c/body.h"

namespace sonde {

constexpr uint64_t probe_read_kernel = 113; // BPF_FUNC_probe_read_kernel (include/uapi/linux/bpf.h)

// One object for each function. It caches the numbers, and inserts code for them next to the pointers' own code.
class CPointers {
  public:
    struct Target {
        llvm::Value* local = nullptr; // the only object that it can point into; null if unknown
        uint64_t size = 0;            // of the object, in bytes
        bool has_local = false;       // it can point into a local object
        bool is_constant = false;     // the object is read-only
        bool may_be_null = false;     // it can also be null
    };

    explicit CPointers(CBody& body) : body_(body) {}

    // The object that the pointer points into.
    Target target_of(llvm::Value* pointer) const;
    // The address as a number, also to the verifier. `has_local`: as in Target.
    llvm::Value* as_number(llvm::Value* pointer, bool has_local);
    // The same for a pointer that moves by a distance that the verifier does not know: the address is computed with
    // numbers only.
    llvm::Value* number_of(llvm::Value* pointer);
    // Whether the pointer points into variables or constants only, or is null. Such a pointer is useful only for reads
    // and writes.
    bool is_of_variables(llvm::Value* pointer) const;
    // Whether as_number() has created this number.
    bool is_made(const llvm::Value& number) const { return made_.contains(&number); }
    // Makes sure that an access of `bytes` bytes is within the object. `pointer`: the operand of `at`. Returns false if
    // the access was refused.
    bool stay_inside(llvm::Instruction& at, const Target& target, llvm::Use& pointer, uint64_t bytes);
    // Calls bpf_probe_read_kernel(). The result is negative if the memory does not exist.
    llvm::Value* read_kernel(llvm::Value* to, llvm::Value* size, llvm::Value* address);
    // Reads the variable onto itself, so that its contents are unknown to the verifier.
    void read_onto_itself(llvm::AllocaInst& variable);
    // Replaces a moving pointer by its distance from the object's beginning. Does nothing if the object is unknown.
    void make_distance(llvm::PHINode& phi);
    // For a pointer that can be null or point into several objects: adds numbers in parallel to it, for reads and
    // comparisons.
    void make_numbers(llvm::PHINode& phi);
    // Replaces such a number from now on.
    void replace_number(const llvm::Value& number, llvm::Value& by);

  private:
    uint64_t size_of(const llvm::Value& object) const;
    // Whether this loads a value that read_kernel() has read.
    bool is_read_to(const llvm::LoadInst& load) const;
    // Zeroes the variable at the beginning: with an unknown index, the verifier requires that all bytes are
    // initialized.
    void clear(llvm::AllocaInst& variable);
    // On the stack, the verifier requires aligned addresses. `exact`: the distance. `checked`: the same, after the
    // check of the bounds.
    void align(llvm::Instruction& at, llvm::Use& pointer, llvm::Value& exact, llvm::Instruction& checked);
    // The distance of a pointer from the beginning of its object. It is computed from the pointer's operands, because
    // the verifier does not track a pointer with an unknown offset.
    llvm::Value* distance_of(llvm::Value* pointer, llvm::Value* base);

    CBody& body_;
    std::set<llvm::AllocaInst*> cleared_;
    std::set<const llvm::Value*> made_;              // by as_number()
    std::map<llvm::Value*, llvm::Value*> distances_; // by distance_of()
    std::map<llvm::Value*, llvm::Value*> numbers_;   // by number_of()
};

} // namespace sonde
