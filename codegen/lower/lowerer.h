// What all topics of the lowering work with: the emitter, the place that code is for, and the state of the body that is
// being lowered.
//
// Each topic is a file of free functions over a Lowerer, with a header of what other topics call: handlers and
// functions, statements, expressions, arrays, output, errors, primitives. A function's code is emitted where it is
// first called, so that one body waits while another is lowered; BodyState is what waits.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/source.h"
#include "codegen/emitter.h"
#include "codegen/environment.h"
#include "codegen/target.h"
#include "frontend/hir/hir.h"

namespace sonde {

struct Machine; // functions that call themselves, in the kernel (recursion.cc)

// Memory whose offsets are known at compile time; what is temporary is given back in stack order.
struct Room {
    uint64_t next = 0, most = 0; // bytes

    void need(uint64_t end) { most = std::max(most, end); }
    // Gives the offset.
    uint64_t take(uint64_t bytes) {
        const uint64_t at = next;
        next += bytes;
        need(next);
        return at;
    }
};

// What belongs to the handler or function that is being lowered.
struct BodyState {
    struct Loop {
        llvm::BasicBlock* next; // continue
        llvm::BasicBlock* end;  // break
    };
    Environment env;
    const hir::Handler* handler = nullptr; // null while a function is lowered
    const hir::Function* function = nullptr;
    llvm::Value* result = nullptr; // where a function leaves its value
    std::unordered_map<const hir::Local*, llvm::Value*> locals;
    Room frame;                           // Environment::frame
    Room scan;                            // Environment::scan
    llvm::BasicBlock* on_error = nullptr; // where a pending error goes
    llvm::BasicBlock* leave = nullptr;    // next, return
    std::vector<Loop> loops;
    Machine* machine = nullptr;
};

// A function of the script as code, and what one call of it needs.
struct LoweredFunction {
    llvm::Function* code = nullptr;
    uint64_t frame_bytes = 0, scan_bytes = 0; // 0 while it is being lowered
};

// A number that is needed again after other code has been lowered: in a register, or stored in the frame.
struct Held {
    llvm::Value* value;
    bool in_frame;
};

struct Lowerer : BodyState {
    Lowerer(Emitter& emitter, Target& place) : e(emitter), target(place) {}

    Emitter& e;
    Target& target;
    bool gathers = false;               // the handler's records are sent at its end, as one (Environment::batch)
    llvm::Value* data = nullptr;        // the session's, as Environment::data of handlers has it
    const hir::Handler* root = nullptr; // the handler that all becomes part of; in the kernel, one of that kind
    bool at_exit = false;               // the program runs at an instruction that leaves a function
    std::unordered_map<const hir::Function*, LoweredFunction> functions;
    std::string problem; // the first one that fail() told of

    uint64_t max_string() const { return e.state().options.max_string; }
    // What the place cannot do, found at that range of the script.
    void fail(Range range, const std::string& what);
    // To where code goes on, unless it has left already.
    void branch_to(llvm::BasicBlock* block);

    // Memory of the frame.
    llvm::Value* new_bytes(uint64_t size);
    llvm::Value* new_slot();
    // In the frame, or where there is none on the stack.
    llvm::Value* new_variable(uint64_t size);
    llvm::Value* scratch(const std::string& tag, uint64_t bytes);
    Held hold(llvm::Value* number, std::span<const hir::Expr* const> next);
    llvm::Value* take(const Held& held);
};

// What a piece of code takes of the frame is given back at its end.
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
