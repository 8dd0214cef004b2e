// HIR to LLVM IR, once for both targets.
#pragma once

#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/target.h"
#include "runtime/symbols/stack.h"

namespace sonde {

// A local that stands for a text is that text.
const hir::Expr* see_through(const hir::Expr* expr);
// Keys that are put together on the stack (lower/array.cc): what they are made of needs no frame.
bool is_small_key(const plan::Global& global, const std::vector<hir::Expr*>& keys, uint32_t max_string);
// A string that becomes part of a small key without memory of its own.
bool needs_no_slot(const hir::Expr& expr, const plan::KeyPart& part, uint32_t max_string);

constexpr uint32_t name_cell = 32; // of a table of names: bytes of each, padded with NULs

// What belongs to the handler or function that is being lowered.
class BodyState {
  protected:
    struct Machine; // functions that call themselves, in the kernel (lower/recursion.cc)
    struct Loop {
        llvm::BasicBlock* next; // continue
        llvm::BasicBlock* end;  // break
    };
    Environment env_;
    const hir::Handler* handler_ = nullptr; // null while a function is lowered
    const hir::Function* function_ = nullptr;
    llvm::Value* result_ = nullptr; // where a function leaves its value
    std::unordered_map<const hir::Local*, llvm::Value*> locals_;
    uint64_t frame_next_ = 0, frame_max_ = 0;
    uint64_t scan_next_ = 0, scan_max_ = 0;
    llvm::BasicBlock* catch_ = nullptr; // where a pending error goes
    llvm::BasicBlock* leave_ = nullptr; // next, return
    std::vector<Loop> loops_;
    Machine* machine_ = nullptr;
};

class Lowering : private BodyState {
  public:
    Lowering(Emitter& emitter, Target& target) : e_(emitter), t_(target) {}

    // All handlers of this target's place, with the functions that they call. Errors: what the place cannot do.
    Result<void> run();

  private:
    // A function's arguments before the script's own (lower/function.cc).
    static constexpr unsigned fixed_arguments = 12;

    // ---- functions and handlers (lower/function.cc)
    Result<void> lower_handler(const hir::Handler& handler, uint32_t probe);
    void lower_entry_program(const hir::Handler& handler, const SessionLegs& legs, uint32_t probe);
    // A program of a handler, up to its body, which leaves by `leave_` or `catch_`, and what comes behind.
    void begin_program(const hir::Handler& handler, const std::string& symbol, uint32_t probe, const Needs& need);
    void end_program();
    void require(const std::vector<Requirement>& requirements); // else the handler ends
    void begin_environment(const Needs& need);
    void lower_function(const hir::Function& function);
    llvm::Function* declare_function(const hir::Function& function);
    void take_environment(llvm::Function* function);
    // The pending error, what is left of MAXACTION, what the handler decides and with -t what becomes of the hit; a
    // text's slot may follow.
    uint64_t environment_bytes() const {
        return t_.programs().tells_outcomes() ? sizeof(HandlerWords) : offsetof(HandlerWords, outcome);
    }
    void place_environment(llvm::Value* at, bool has_text);
    void begin_locals(const std::vector<hir::Local*>& locals);
    llvm::Value* call(const hir::Call& expr);
    void fail(Range range, const std::string& what);

    // ---- functions that call themselves, in the kernel (lower/recursion.cc)
    void lower_machine(const hir::Function& function);
    void lower_activation(const hir::Function& function, llvm::BasicBlock* leave);
    void store_parameter(const hir::Function& function, size_t index, llvm::Value* activation, llvm::Value* value);
    llvm::Value* call_in_machine(const hir::Call& expr);
    // Before each round of a loop. True: the loop is a part of the machine's, and needs no mark of its own.
    bool begin_machine_round(const hir::Stmt& loop);
    void move_into_activation(llvm::SwitchInst& resume);

    // ---- frames: offsets are known at compile time, temporaries are given back in stack order
    llvm::Value* new_slot();
    llvm::Value* new_bytes(uint64_t size);
    llvm::Value* new_variable(uint64_t size);
    // A number that outlives what is lowered next, and how it is had back.
    struct Held {
        llvm::Value* value;
        bool in_frame;
    };
    Held hold(llvm::Value* number, std::span<const hir::Expr* const> next);
    llvm::Value* take(const Held& held);
    Needs needs(const hir::Handler& handler) const;
    llvm::Value* scratch(const std::string& tag, uint64_t bytes); // in the frame, or where there is none on the stack
    struct Mark {
        Lowering& lowering;
        uint64_t saved;
        explicit Mark(Lowering& l) : lowering(l), saved(l.frame_next_) {}
        ~Mark() { lowering.frame_next_ = saved; }
    };

    // ---- errors
    void raise(const std::string& message, Range range, llvm::Value* argument = nullptr);
    // With a text that is known only then, as error() does.
    void raise_text(llvm::Value* text, Range range);
    void raise_if(llvm::Value* condition, const std::string& message, Range range, llvm::Value* argument = nullptr);
    void set_error(llvm::Value* site, llvm::Value* argument);
    // Goes on if the call gave no error; else with the error, which then tells of the call too.
    void check_call(const hir::Call& expr, llvm::Value* status);
    void spend(uint64_t statements, Range range);
    void branch_to(llvm::BasicBlock* block);

    // ---- statements (lower/stmt.cc)
    void lower(const hir::Stmt& stmt);
    void lower_loop(const hir::Loop& loop);
    void begin_iteration(const hir::Stmt& loop, llvm::BasicBlock* limit, llvm::Value* counter = nullptr);
    void lower_foreach(const hir::Foreach& loop);
    void lower_buckets(const hir::Foreach& loop);
    void lower_delete(const hir::Delete& stmt);
    void lower_try(const hir::Try& stmt);

    // ---- expressions (lower/expr.cc)
    llvm::Value*
    lower(const hir::Expr& expr); // i64, or a pointer to a string that stays as it is until the statement ends
    llvm::Value* lower_slot(const hir::Expr& expr); // a string in a slot
    llvm::Value* truth(const hir::Expr& expr);      // i1
    llvm::Value* binary(const hir::Binary& expr);
    llvm::Value* arithmetic(hir::BinaryOp op, llvm::Value* a, llvm::Value* b, Range range);
    llvm::Value* assign(const hir::Assign& expr);
    llvm::Value* load(const hir::Load& expr);
    llvm::Value* store(const hir::Store& expr);
    void write_memory(llvm::Value* address, llvm::Value* value, uint32_t size, Range range, const std::string& what);
    void note_write(Range range, const std::string& what);
    static constexpr const char* write_fault = "write fault [man error::fault] at %#x";
    llvm::Value* load(const hir::Load& expr, llvm::Value* address); // from there
    llvm::Value* guarded(const hir::Guarded& expr);
    llvm::Value* ternary(const hir::Ternary& expr);
    llvm::Value* nothing_as(hir::ValueType type);
    void store_string(llvm::Value* destination, llvm::Value* source);
    llvm::Value* copy_of(llvm::Value* string);
    llvm::Value* global_address(const hir::Global& global);

    // ---- arrays and statistics (lower/array.cc)
    llvm::Value* compose_key(const hir::Global& array, const std::vector<hir::Expr*>& keys, uint64_t* slice_mask);
    llvm::Value* key_number(llvm::Value* key, const plan::KeyPart& part);
    llvm::Value* text_number(const hir::Expr& text);
    void compose_text(llvm::Value* field, const plan::KeyPart& part, llvm::Value* text);
    void write_in_place(const hir::Expr& expr, llvm::Value* field, const plan::KeyPart& part);
    llvm::Value* read_element(const hir::Element& element);
    llvm::Value* stats_pointer(const hir::Expr& source);
    llvm::Value* stat_read(const hir::StatRead& expr);
    llvm::Value* hist_bucket(const hir::HistBucket& expr);
    void raise_if_empty(llvm::Value* stats, Range range);

    // ---- regular expressions (lower/regex.cc)
    void begin_matches();
    bool probes_kernel() const;
    void begin_stacks();
    sonde_stack_origin user_stack_origin() const;
    llvm::Value* unwind(bool of_kernel);
    llvm::Value* unwind_and_count(bool of_kernel);
    plan::Format stack_format(plan::Directive::Kind kind, const hir::Expr& style);
    llvm::Value* regex(const hir::Regex& expr);
    void need_match(Range range);
    llvm::Value* emit_matched_str(const hir::Intrinsic& expr);
    llvm::Value* emit_matched(const hir::Intrinsic& expr);
    llvm::Value* emit_ngroups(const hir::Intrinsic& expr);

    // ---- output (lower/print.cc)
    llvm::Value* print(const hir::Print& expr);
    llvm::Value* format_to_string(const hir::Print& expr);
    // What a record has behind its longs: a string, a block of `size` bytes, or what read_dump() gave, with its length.
    struct Piece {
        llvm::Value* pointer;
        uint64_t size = 0;
        llvm::Value* length = nullptr;
    };
    void emit(uint32_t type, uint32_t format, const std::vector<llvm::Value*>& longs, const std::vector<Piece>& rest);
    Piece read_dump(const plan::Directive& directive, llvm::Value* precision, const hir::Expr& address);
    // abort() leaves the handler as errors do, and nothing catches it: it stands where the site of an error would.
    static constexpr int64_t abort_site = -1;
    // Goes with the site of an error whose message has an address behind it.
    static constexpr int64_t with_argument = int64_t{1} << 32;
    // Goes with that of error(): the text is the message.
    static constexpr int64_t with_text = int64_t{1} << 33;
    // Goes with that of MAXACTION: try does not get rid of it. Set in abort()'s, too.
    static constexpr int64_t past_catching = int64_t{1} << 34;
    llvm::Value* is_aborted();
    llvm::Value* is_past_catching();
    llvm::Value* has_error_text();
    void emit_error();

    // ---- primitives (lower/primitives.cc)
    llvm::Value* intrinsic(const hir::Intrinsic& expr);
    llvm::Value* emit_exit(const hir::Intrinsic& expr);
    llvm::Value* emit_abort(const hir::Intrinsic& expr);
    llvm::Value* emit_error_call(const hir::Intrinsic& expr);
    llvm::Value* emit_warn(const hir::Intrinsic& expr);
    llvm::Value* emit_task(const hir::Intrinsic& expr);
    llvm::Value* emit_execname(const hir::Intrinsic& expr);
    llvm::Value* emit_session_word(const hir::Intrinsic& expr);
    llvm::Value* emit_random(const hir::Intrinsic& expr);
    llvm::Value* emit_ftrace(const hir::Intrinsic& expr);
    llvm::Value* emit_printk(const hir::Intrinsic& expr);
    llvm::Value* emit_system(const hir::Intrinsic& expr);
    llvm::Value* emit_names(const hir::Intrinsic& expr);
    llvm::Value* emit_flags(const hir::Intrinsic& expr);
    llvm::Value* number_of(llvm::Value* address, llvm::Value* slot);
    std::vector<std::string> names_of(const hir::Expr& names, const std::string& primitive);
    llvm::Value* index_of_name(const hir::Expr& index, size_t count);
    llvm::Value* name_table(const hir::Expr& names, const std::string& primitive, size_t& count);
    std::string flag_table(const hir::Expr& names, const std::string& primitive, uint64_t first, size_t& count);
    // What a text of the probe point is, if it is the same wherever this code runs.
    std::optional<std::string> known_point_text(hir::PointText text) const;
    llvm::Value* emit_point_text(const hir::Intrinsic& expr);
    llvm::Value* emit_uaddr(const hir::Intrinsic& expr);
    llvm::Value* emit_user_mode(const hir::Intrinsic& expr);
    llvm::Value* emit_register(const hir::Intrinsic& expr);
    llvm::Value* numbered_register(size_t number, bool is_unsigned);
    llvm::Value* named_register(const hir::Intrinsic& expr);
    llvm::Value* read_register(int dwarf);
    llvm::Value* emit_addr(const hir::Intrinsic& expr);
    llvm::Value* emit_registers_valid(const hir::Intrinsic& expr);
    llvm::Value* emit_argument(const hir::Intrinsic& expr);
    llvm::Value* emit_result(const hir::Intrinsic& expr);
    llvm::Value* syscall_register(uint64_t offset);
    bool at_syscall() const;
    llvm::Value* emit_switch_file(const hir::Intrinsic& expr);
    llvm::Value* emit_speculation(const hir::Intrinsic& expr);
    llvm::Value* emit_raise(const hir::Intrinsic& expr);
    llvm::Value* emit_about_task(const hir::Intrinsic& expr);
    llvm::Value* emit_loadavg(const hir::Intrinsic& expr);
    llvm::Value* emit_memory_node(const hir::Intrinsic& expr);
    llvm::Value* emit_stack_address(const hir::Intrinsic& expr);
    llvm::Value* emit_stack_text(const hir::Intrinsic& expr);
    llvm::Value* emit_kernel_stack_there(const hir::Intrinsic& expr);
    llvm::Value* emit_user_stack_left(const hir::Intrinsic& expr);
    llvm::Value* emit_inlined(const hir::Intrinsic& expr);
    void print_no_stack(const hir::Expr& style);
    llvm::Value* emit_print_stack(const hir::Intrinsic& expr);
    llvm::Value* emit_print_stack_from(const hir::Intrinsic& expr);
    llvm::Value* emit_print_addresses(const hir::Intrinsic& expr);
    llvm::Value* emit_symbol(const hir::Intrinsic& expr);
    llvm::Value* emit_module_name(const hir::Intrinsic& expr);
    llvm::Value* emit_counter(const hir::Intrinsic& expr);
    llvm::Value* emit_file_value(const hir::Intrinsic& expr);
    llvm::Value* emit_set_file_value(const hir::Intrinsic& expr);
    llvm::Value* emit_set_result(const hir::Intrinsic& expr);
    llvm::Value* emit_clock(const hir::Intrinsic& expr);
    llvm::Value* emit_ctime(const hir::Intrinsic& expr);
    llvm::Value* emit_max_string(const hir::Intrinsic& expr);
    llvm::Value* emit_strlen(const hir::Intrinsic& expr);
    llvm::Value* emit_substr(const hir::Intrinsic& expr);
    llvm::Value* emit_routine(const hir::Intrinsic& expr);
    llvm::Value* emit_stringat(const hir::Intrinsic& expr);
    llvm::Value* emit_tokenize(const hir::Intrinsic& expr);
    llvm::Value* emit_user_string(const hir::Intrinsic& expr);
    llvm::Value* emit_user_string_quoted(const hir::Intrinsic& expr);
    llvm::Value* emit_user_wide(const hir::Intrinsic& expr);
    llvm::Value* emit_user_buffer_quoted(const hir::Intrinsic& expr);
    void stop_session();
    llvm::Value* emit_user_text(const hir::Intrinsic& expr);
    llvm::Value* emit_set_user(const hir::Intrinsic& expr);
    llvm::Value* emit_set_user_string(const hir::Intrinsic& expr);
    llvm::Value* emit_user_load(const hir::Intrinsic& expr);
    bool has_registers() const;

    uint64_t max() const { return e_.state().options.max_string; }

    Emitter& e_;
    Target& t_;
    bool gathers_ = false;               // the handler's records are sent at its end, as one (Environment::batch)
    const hir::Handler* root_ = nullptr; // the handler that all becomes part of; in the kernel, one of that kind
    std::unordered_map<const hir::Function*, llvm::Function*> functions_;
    std::unordered_map<const hir::Function*, uint64_t> frame_sizes_;
    std::unordered_map<const hir::Function*, uint64_t> scan_sizes_;
    std::string problem_;
};

} // namespace sonde
