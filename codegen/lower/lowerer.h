// The common state of the lowering: the emitter, the target, and the body that is being lowered.
//
// Each topic is a file of free functions over a Lowerer, with a header for other topics: handlers, functions,
// statements, expressions, arrays, output, errors, primitives. A function is lowered at its first call, while another
// body is in progress. BodyState is the part of the state that is saved meanwhile.
//
// Memory: numbers are in registers or on the BPF stack, which has 512 bytes. Strings and large keys do not fit there.
// They are in the frame, a block of map memory, at offsets that are chosen here. A Mark releases temporary memory at
// its end, as a stack does. For example, in `a = b . c`, the concatenation takes a slot, the assignment copies it, and
// the next statement takes the same slot again. The frame's size is the largest sum that was ever in use (Room::most).
//
// What would break it: memory that outlives its Mark. So a function that returns a string takes the result's slot
// first, and creates the Mark for its own temporary memory after that.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/source.h"
#include "codegen/emit/emitter.h"
#include "codegen/emit/environment.h"
#include "codegen/emit/target.h"
#include "frontend/hir/hir.h"

namespace sonde {

struct Machine; // a group of recursive functions in the kernel (recursion.cc)

// Allocates memory at offsets that are known at compile time. Temporary memory is released in stack order.
struct Room {
    uint64_t next = 0, most = 0; // bytes

    void need(uint64_t end) { most = std::max(most, end); }
    // Returns the offset.
    uint64_t take(uint64_t bytes) {
        const uint64_t at = next;
        next += bytes;
        need(next);
        return at;
    }
};

// State of the handler or function that is being lowered.
struct BodyState {
    struct Loop {
        llvm::BasicBlock* next; // continue
        llvm::BasicBlock* end;  // break
    };
    Environment env;
    const hir::Handler* handler = nullptr; // null while a function is lowered
    const hir::Function* function = nullptr;
    llvm::Value* result = nullptr; // where a function stores its result
    std::unordered_map<const hir::Local*, llvm::Value*> locals;
    Room frame;                           // Environment::frame
    Room scan;                            // Environment::scan
    llvm::BasicBlock* on_error = nullptr; // target of a pending error
    llvm::BasicBlock* leave = nullptr;    // target of `next` and `return`
    std::vector<Loop> loops;
    Machine* machine = nullptr;
};

// A lowered function, and the memory that one call of it needs.
struct LoweredFunction {
    llvm::Function* code = nullptr;
    uint64_t frame_bytes = 0, scan_bytes = 0; // 0 until the body is lowered
};

// A number that is needed again after other code is lowered: in a register, or stored in the frame.
struct Held {
    llvm::Value* value;
    bool in_frame;
};

// The state of one module's lowering. The base class has the state of the current body.
struct Lowerer : BodyState {
    Lowerer(Emitter& emitter, Target& place) : e(emitter), target(place) {}

    Emitter& e;
    Target& target;
    bool gathers = false;        // the handler's records are sent together at its end (Environment::batch)
    llvm::Value* data = nullptr; // the session's data area, as in Environment::data of handlers
    const hir::Handler* root =
        nullptr;          // the handler that everything is inlined into; in the kernel, one of the same kind
    bool at_exit = false; // the program is at an instruction that leaves a function
    std::unordered_map<const hir::Function*, LoweredFunction> functions;
    std::string problem; // the first problem that fail() reported

    uint64_t max_string() const { return e.state().plan.max_string; }
    // Reports a feature that the target lacks, at this range of the script.
    void fail(Range range, const std::string& what);
    // Branches to the block unless the current block has ended already.
    void branch_to(llvm::BasicBlock* block);

    // Allocates memory in the frame.
    llvm::Value* new_bytes(uint64_t size);
    // Allocates memory for a string in the frame. Its contents are undefined.
    llvm::Value* new_slot();
    // Allocates memory in the frame, or on the stack if the body has no frame.
    llvm::Value* new_variable(uint64_t size);
    // Memory for a value that is written, passed by address and used immediately: in the frame if there is one,
    // otherwise Emitter::scratch().
    llvm::Value* scratch(const std::string& tag, uint64_t bytes);
    // Keeps a number while the expressions in `next` are lowered; take() returns it.
    Held hold(llvm::Value* number, std::span<const hir::Expr* const> next);
    llvm::Value* take(const Held& held);
};

// Releases at its end the frame memory that was allocated during its lifetime.
class Mark {
  public:
    explicit Mark(Lowerer& lowerer) : frame_(lowerer.frame), saved_(lowerer.frame.next) {}
    ~Mark() { frame_.next = saved_; }
    Mark(const Mark&) = delete;

  private:
    Room& frame_;
    uint64_t saved_;
};

} // namespace sonde
