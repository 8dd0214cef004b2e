// Handlers and functions.
//
// A function is `i64 f(context, frame, data, error, row, result, scan, tokens, matches, user stack, task, can wait,
// arguments...)`: 0, or 1 with an error pending. In BPF it is always inlined (so that the
// number of arguments does not matter and the verifier sees one program); on the host it is called. Its frame lies
// behind what the caller uses of its own at the call; recursive functions take theirs from a stack.
#include <cstddef>
#include <set>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "codegen/lower/lower.h"
#include "codegen/lower/record_count.h"
#include "frontend/hir/walk.h"

namespace sonde {

using hir::ValueType;

void Lowering::branch_to(llvm::BasicBlock* target) {
    if (!e_.GetInsertBlock()->getTerminator())
        e_.CreateBr(target);
}

void Lowering::fail(Range range, const std::string& what) {
    if (problem_.empty())
        problem_ = fmt::format("{} at {}", what, e_.state().sources.place(range));
}

llvm::Value* Lowering::new_bytes(uint64_t size) {
    uint64_t at = frame_next_;
    frame_next_ += (size + 7) & ~7ull;
    frame_max_ = std::max(frame_max_, frame_next_);
    return e_.offset(env_.frame, at);
}

llvm::Value* Lowering::scratch(const std::string& tag, uint64_t bytes) {
    return env_.has_frame ? new_bytes(bytes) : e_.scratch(tag, bytes);
}

// The verifier remembers what a handler leaves on the stack, not what it leaves in its frame: what differs there does
// not keep it from seeing that two ways through the handler have met.
llvm::Value* Lowering::new_variable(uint64_t bytes) {
    return e_.in_kernel() && env_.has_frame ? new_bytes(bytes) : e_.stack(bytes);
}

namespace {
// What is computed in registers alone.
bool is_plain(const hir::Expr& expr) {
    using hir::ExprKind;
    switch (expr.kind) {
    case ExprKind::ConstLong:
    case ExprKind::ConstString:
        return true;
    case ExprKind::LocalRef:
    case ExprKind::GlobalRef:
        return expr.type == ValueType::Long;
    case ExprKind::Unary:
        return is_plain(*hir::as<hir::Unary>(expr).operand);
    case ExprKind::Binary: {
        const auto& e = hir::as<hir::Binary>(expr);
        return e.left->type == ValueType::Long && is_plain(*e.left) && is_plain(*e.right);
    }
    default:
        return false;
    }
}
} // namespace

// What outlives a call the compiler would keep on the stack, and its leavings there keep two ways through a loop from
// being the same to the verifier.
Lowering::Held Lowering::hold(llvm::Value* number, std::span<const hir::Expr* const> next) {
    if (!e_.in_kernel() || !env_.has_frame || llvm::isa<llvm::Constant>(number) ||
        std::all_of(next.begin(), next.end(), [](const hir::Expr* one) { return is_plain(*one); }))
        return {number, false};
    llvm::Value* place = new_bytes(8);
    e_.CreateStore(number, place);
    return {place, true};
}

llvm::Value* Lowering::take(const Held& held) {
    if (!held.in_frame)
        return held.value;
    auto* number = e_.CreateLoad(e_.i64(), held.value);
    number->setVolatile(true);
    return number;
}

llvm::Value* Lowering::new_slot() { return new_bytes(e_.slot_size()); }

namespace {
const hir::Primitive& facts_of(const hir::Expr& expr) {
    static constexpr hir::Primitive nothing;
    return expr.kind == hir::ExprKind::Intrinsic ? hir::as<hir::Intrinsic>(expr).facts : nothing;
}
bool uses_matches(const hir::Expr& expr) {
    if (expr.kind == hir::ExprKind::Regex)
        return hir::as<hir::Regex>(expr).program->captures;
    return facts_of(expr).needs_groups;
}

// Strings, most keys with strings and statistics need memory that outlives the 512 bytes of a BPF stack; a foreach
// needs room for what it walks.
class NeedsWalk {
  public:
    NeedsWalk(const plan::Plan& plan, bool in_kernel) : plan_(plan), in_kernel_(in_kernel) {}
    void visit(const hir::Expr& root) {
        for_each_expr(root, [&](const hir::Expr& expr) { visit_one(expr); });
    }
    void visit(const hir::Stmt& body) {
        // Statements first: they may hold keys.
        for_each_stmt(body, [&](const hir::Stmt& stmt) { visit_one(stmt); });
        for_each_expr(body, [&](const hir::Expr& expr) { visit_one(expr); });
    }
    Needs finish() {
        while (!todo_.empty()) {
            const hir::Function* function = todo_.back();
            todo_.pop_back();
            visit(*function->body);
            out_.frame = out_.frame || function->recursive;
        }
        return out_;
    }

  private:
    void visit_one(const hir::Expr& expr) {
        if (expr.kind == hir::ExprKind::Element)
            visit_key(*hir::as<hir::Element>(expr).array, hir::as<hir::Element>(expr).keys);
        if (expr.kind == hir::ExprKind::Contains)
            visit_key(*hir::as<hir::Contains>(expr).array, hir::as<hir::Contains>(expr).keys);
        if (expr.kind == hir::ExprKind::TextNumber)
            in_keys_.insert(hir::as<hir::TextNumber>(expr).text);
        if (expr.kind == hir::ExprKind::Print) {
            for (const hir::Expr* arg : hir::as<hir::Print>(expr).args)
                out_.frame = out_.frame || arg->type != ValueType::Long;
            for (const plan::Directive& d : hir::as<hir::Print>(expr).format.directives)
                out_.frame = out_.frame || d.kind == plan::Directive::Memory;
        }
        out_.tokens = out_.tokens || facts_of(expr).needs_tokens;
        out_.counter = out_.counter || facts_of(expr).needs_counter;
        out_.stacks = out_.stacks || (in_kernel_ && facts_of(expr).needs_stacks);
        out_.matches = out_.matches || uses_matches(expr);
        out_.frame = out_.frame || (expr.type == ValueType::String && !in_keys_.count(&expr)) ||
                     expr.kind == hir::ExprKind::Regex || out_.matches || out_.stacks;
        if (expr.kind == hir::ExprKind::Call && seen_.insert(hir::as<hir::Call>(expr).callee).second)
            todo_.push_back(hir::as<hir::Call>(expr).callee);
    }
    void visit_one(const hir::Stmt& stmt) {
        if (stmt.kind == hir::StmtKind::Foreach) {
            out_.frame = true;
            out_.scan = out_.scan || hir::as<hir::Foreach>(stmt).array;
        }
        if (stmt.kind == hir::StmtKind::Delete && !hir::as<hir::Delete>(stmt).keys.empty())
            visit_key(*hir::as<hir::Delete>(stmt).global, hir::as<hir::Delete>(stmt).keys);
        out_.frame = out_.frame || (stmt.kind == hir::StmtKind::Try && hir::as<hir::Try>(stmt).message);
    }
    void visit_key(const hir::Global& array, const std::vector<hir::Expr*>& keys) {
        const plan::Global& global = plan_.globals[array.index];
        if (!is_small_key(global, keys, plan_.max_string)) {
            out_.frame = true;
            return;
        }
        for (size_t i = 0; i < keys.size(); i++)
            if (keys[i] && needs_no_slot(*keys[i], global.keys[i], plan_.max_string))
                in_keys_.insert(keys[i]);
    }

    const plan::Plan& plan_;
    const bool in_kernel_;
    Needs out_;
    std::vector<const hir::Function*> todo_;
    std::unordered_set<const hir::Function*> seen_;
    std::unordered_set<const hir::Expr*> in_keys_; // need no memory of their own
};

} // namespace

Needs Lowering::needs(const hir::Handler& handler) const {
    NeedsWalk walk(e_.state().plan, e_.in_kernel());
    walk.visit(*handler.body);
    if (handler.condition)
        walk.visit(*handler.condition);
    for (const hir::Expr* value : handler.entry_values)
        walk.visit(*value);
    return walk.finish();
}

void Lowering::begin_locals(const std::vector<hir::Local*>& locals) {
    for (const hir::Local* local : locals) {
        if (local->type == ValueType::String) {
            llvm::Value* slot = new_slot();
            e_.CreateStore(e_.getInt8(0), slot);
            locals_[local] = slot;
        } else {
            llvm::Value* variable = new_variable(8);
            e_.CreateStore(e_.number(0), variable);
            locals_[local] = variable;
        }
    }
}

Result<void> Lowering::run() {
    const hir::Program& program = e_.state().program;
    for (size_t i = 0; i < program.handlers.size(); i++) {
        if (program.handlers[i]->in_kernel != e_.in_kernel())
            continue;
        Result<void> done = lower_handler(*program.handlers[i], static_cast<uint32_t>(i));
        if (!done)
            return done;
    }
    return {};
}

// What errors and MAXACTION are kept in.
void Lowering::begin_environment(const Needs& need) {
    const uint64_t bytes = environment_bytes() + e_.slot_size() + (gathers_ ? t_.output().batch_bytes() : 0);
    place_environment(need.frame ? new_bytes(bytes) : e_.stack(environment_bytes()), need.frame);
    if (env_.batch)
        t_.output().begin_batch(env_);
    // The verifier sees ways to a handler's end that no error goes.
    set_error(e_.number(0), nullptr);
    if (env_.outcome)
        e_.CreateStore(e_.number(plan::Handled), env_.outcome);
    // Packets are accepted, and what a security hook is asked is granted, by handlers that say nothing.
    if (handler_ && plan::decides(handler_->kind))
        e_.CreateStore(e_.number(plan::traits(handler_->kind).decision == plan::Decision::Verdict),
                       decision_place(e_, env_));
    // Loaded, not constant: what the verifier does not know it does not unroll.
    e_.CreateStore(e_.CreateLoad(e_.i64(), e_.offset(env_.data, offsetof(plan::SessionWords, max_action))),
                   env_.budget);
    if (need.frame)
        e_.CreateStore(e_.getInt8(0), env_.error_text);
}

// One address for all of it: in the kernel a function that a loop is made of is handed each address by itself.
void Lowering::place_environment(llvm::Value* at, bool has_text) {
    env_.error = at;
    env_.budget = e_.offset(at, offsetof(HandlerWords, budget));
    env_.outcome = t_.programs().tells_outcomes() ? e_.offset(at, offsetof(HandlerWords, outcome)) : nullptr;
    env_.error_text = has_text ? e_.offset(at, environment_bytes()) : nullptr;
    env_.batch = gathers_ ? e_.offset(at, environment_bytes() + e_.slot_size()) : nullptr;
}

Result<void> Lowering::lower_handler(const hir::Handler& handler, uint32_t probe) {
    // What a function may do depends on what it becomes part of.
    const bool gathers = e_.in_kernel() && sends_several_records(handler);
    if (e_.in_kernel() && handler_ && (handler_->kind != handler.kind || gathers != gathers_)) {
        functions_.clear();
        frame_sizes_.clear();
        scan_sizes_.clear();
    }
    handler_ = root_ = &handler;
    gathers_ = gathers;
    function_ = nullptr;
    env_ = {};
    locals_.clear();
    Needs need = needs(handler);
    need.frame = need.frame || gathers;
    plan::Probe& out = e_.state().plan.probes[probe];
    SessionLegs legs = split_legs(handler, out, e_.state().options, need.counter);
    out.is_session = legs.wanted;
    if (!handler.entry_values.empty() && !legs.wanted)
        out.entry_program = handler.name + "_entry";
    if (legs.wanted ? legs.in_map : !handler.entry_values.empty())
        out.entry_map = handler.name + "_saved";
    t_.programs().use_session(legs);
    frame_next_ = frame_max_ = scan_next_ = scan_max_ = 0;
    begin_program(handler, handler.name, probe, need);
    begin_locals(handler.locals);
    require(legs.at_return);
    out.has_condition = handler.condition != nullptr;
    if (out.has_condition && !legs.wanted)
        t_.programs().condition_held(env_);
    for (const hir::Stmt* stmt : legs.body)
        lower(*stmt);
    end_program();
    out.frame_size = static_cast<uint32_t>(frame_max_);
    if (!handler.entry_values.empty() || legs.wanted)
        lower_entry_program(handler, legs, probe);
    if (legs.wanted)
        t_.programs().join_legs(handler);
    if (!problem_.empty())
        return Error(problem_);
    return {};
}

void Lowering::require(const std::vector<Requirement>& requirements) {
    if (requirements.empty())
        return;
    // A condition that fails does not hold, and nobody hears of it.
    llvm::BasicBlock *outer = catch_, *unknown = e_.block("unknown");
    catch_ = unknown;
    for (const auto& [condition, negated] : requirements) {
        llvm::BasicBlock* run = e_.block("run");
        llvm::Value* holds = truth(*condition);
        e_.CreateCondBr(holds, negated ? leave_ : run, negated ? run : leave_);
        e_.SetInsertPoint(run);
    }
    catch_ = outer;
    llvm::BasicBlock* run = e_.GetInsertBlock();
    e_.SetInsertPoint(unknown);
    e_.CreateStore(e_.number(0), env_.error);
    e_.CreateBr(leave_);
    e_.SetInsertPoint(run);
}

void Lowering::begin_program(const hir::Handler& handler, const std::string& symbol, uint32_t probe,
                             const Needs& need) {
    t_.programs().begin(handler, symbol, probe, need, env_);
    env_.has_frame = need.frame;
    e_.lines().describe(e_.GetInsertBlock()->getParent(), handler.range);
    e_.lines().locate(handler.range);
    catch_ = e_.block("failed");
    leave_ = e_.block("end");
    begin_environment(need);
    if (need.tokens) {
        env_.tokens = new_bytes(8 + e_.slot_size());
        e_.CreateStore(e_.number(0), env_.tokens);
        e_.CreateStore(e_.getInt8(0), e_.offset(env_.tokens, 8));
    }
    if (need.matches)
        begin_matches();
    if (need.stacks)
        begin_stacks();
}

void Lowering::end_program() {
    branch_to(leave_);
    e_.SetInsertPoint(catch_);
    if (env_.batch)
        t_.output().send_batch(env_); // it comes before the message
    emit_error();
    branch_to(leave_);
    e_.SetInsertPoint(leave_);
    if (env_.batch)
        t_.output().send_batch(env_);
    t_.programs().end(env_);
    t_.programs().need_frame(frame_max_);
    t_.programs().need_scan(scan_max_);
}

llvm::Function* Lowering::declare_function(const hir::Function& function) {
    auto [entry, fresh] = functions_.try_emplace(&function, nullptr);
    if (!fresh)
        return entry->second;
    llvm::Type *p = e_.ptr(), *i = e_.i64();
    std::vector<llvm::Type*> types = {p, p, p, p, e_.getInt32Ty(), p, p, p, p, p, i, i};
    for (const hir::Local* param : function.params)
        types.push_back(param->type == ValueType::String ? p : i);
    llvm::Function* out = llvm::Function::Create(llvm::FunctionType::get(i, types, false),
                                                 llvm::Function::InternalLinkage, "fn_" + function.name, e_.module());
    if (e_.in_kernel())
        out->addFnAttr(llvm::Attribute::AlwaysInline);
    functions_[&function] = out;
    // What is being lowered waits.
    BodyState& state = *this;
    BodyState waiting = std::exchange(state, {});
    auto saved_point = e_.saveIP();
    llvm::DebugLoc saved_location = e_.getCurrentDebugLocation();
    if (function.recursive && e_.in_kernel())
        lower_machine(function);
    else
        lower_function(function);
    state = std::move(waiting);
    e_.restoreIP(saved_point);
    e_.SetCurrentDebugLocation(saved_location);
    return out;
}

void Lowering::take_environment(llvm::Function* function) {
    env_.context = function->getArg(0);
    env_.frame = function->getArg(1);
    env_.data = function->getArg(2);
    place_environment(function->getArg(3), env_.has_frame);
    env_.row = function->getArg(4);
    result_ = function->getArg(5);
    env_.scan = function->getArg(6);
    env_.tokens = function->getArg(7);
    env_.matches = function->getArg(8);
    env_.stacks = function->getArg(9);
    env_.task = function->getArg(10);
    env_.can_wait = function->getArg(11);
}

void Lowering::lower_function(const hir::Function& function) {
    llvm::Function* out = functions_[&function];
    function_ = &function;
    e_.SetInsertPoint(llvm::BasicBlock::Create(e_.getContext(), "entry", out));
    e_.lines().describe(out, function.range);
    NeedsWalk walk(e_.state().plan, e_.in_kernel());
    walk.visit(*function.body);
    env_.has_frame = walk.finish().frame;
    take_environment(out);
    llvm::BasicBlock* failed = e_.block("failed");
    llvm::BasicBlock* end = e_.block("end");
    catch_ = failed;
    leave_ = end;
    for (size_t i = 0; i < function.params.size(); i++) {
        llvm::Value* argument = out->getArg(fixed_arguments + static_cast<unsigned>(i));
        if (function.params[i]->type == ValueType::String) {
            llvm::Value* slot = new_slot();
            store_string(slot, argument);
            locals_[function.params[i]] = slot;
        } else {
            llvm::Value* variable = new_variable(8);
            e_.CreateStore(argument, variable);
            locals_[function.params[i]] = variable;
        }
    }
    begin_locals(function.locals);
    spend(1, function.range);
    lower(*function.body);
    branch_to(end);
    e_.SetInsertPoint(failed);
    e_.CreateRet(e_.number(1));
    e_.SetInsertPoint(end);
    e_.CreateRet(e_.number(0));
    frame_sizes_[&function] = frame_max_;
    scan_sizes_[&function] = scan_max_;
    if (llvm::GlobalVariable* size = e_.module().getNamedGlobal("frame_size." + function.name))
        size->setInitializer(llvm::ConstantInt::get(e_.i64(), frame_max_));
}

llvm::Value* Lowering::call(const hir::Call& expr) {
    const hir::Function& callee = *expr.callee;
    if (machine_ && callee.recursive)
        return call_in_machine(expr);
    llvm::Function* target = declare_function(callee);
    llvm::Value* result = callee.result == ValueType::String ? new_slot() : e_.stack(8);
    if (callee.result == ValueType::String)
        e_.CreateStore(e_.getInt8(0), result);
    else
        e_.CreateStore(e_.number(0), result);
    Mark mark(*this);
    std::vector<llvm::Value*> arguments;
    for (size_t i = 0; i < expr.args.size(); i++)
        arguments.push_back(lower(*expr.args[i]));
    llvm::Value* null = e_.null();
    llvm::Value* frame = env_.frame ? env_.frame : null;
    bool pushed = callee.recursive && !e_.in_kernel();
    if (pushed) {
        std::string name = "frame_size." + callee.name;
        llvm::GlobalVariable* size = e_.module().getNamedGlobal(name);
        if (!size)
            size = new llvm::GlobalVariable(e_.module(), e_.i64(), false, llvm::GlobalValue::InternalLinkage,
                                            llvm::ConstantInt::get(e_.i64(), 0), name);
        // Inside its own body the size is not known yet: it is stored when the body is done (lower_function).
        frame = e_.routine("sonde_host_push_frame", e_.ptr(), {env_.context, e_.CreateLoad(e_.i64(), size)});
        raise_if(e_.CreateICmpEQ(frame, null), "MAXNESTING exceeded", expr.range);
    } else if (env_.frame) {
        frame = e_.offset(env_.frame, frame_next_);
        frame_max_ = std::max(frame_max_, frame_next_ + frame_sizes_[&callee]);
    }
    llvm::Value* scan = env_.scan ? e_.offset(env_.scan, scan_next_) : null;
    scan_max_ = std::max(scan_max_, scan_next_ + scan_sizes_[&callee]);
    std::vector<llvm::Value*> all = {env_.context,
                                     frame,
                                     env_.data,
                                     env_.error,
                                     env_.row,
                                     result,
                                     scan,
                                     env_.tokens ? env_.tokens : null,
                                     env_.matches ? env_.matches : null,
                                     env_.stacks ? env_.stacks : null,
                                     env_.task ? env_.task : e_.number(0),
                                     env_.can_wait ? env_.can_wait : e_.number(0)};
    all.insert(all.end(), arguments.begin(), arguments.end());
    e_.lines().locate(expr.range);
    llvm::Value* status = e_.CreateCall(target, all);
    if (pushed)
        e_.routine("sonde_host_pop_frame", e_.getVoidTy(), {env_.context, frame});
    check_call(expr, status);
    return callee.result == ValueType::String ? result : e_.CreateLoad(e_.i64(), result);
}

// Saves what the .return handler wants to know.
void Lowering::lower_entry_program(const hir::Handler& handler, const SessionLegs& legs, uint32_t probe) {
    env_ = {};
    locals_.clear();
    frame_next_ = frame_max_ = 0;
    Needs need;
    std::vector<const hir::Expr*> all(handler.entry_values.begin(), handler.entry_values.end());
    for (const Requirement& requirement : legs.at_entry)
        all.push_back(requirement.condition);
    for (const hir::Expr* value : all)
        for_each_expr(*value, [&](const hir::Expr& expr) {
            need.matches = need.matches || uses_matches(expr);
            need.counter = need.counter || facts_of(expr).needs_counter;
            need.stacks = need.stacks || facts_of(expr).needs_stacks;
            need.frame = need.frame || need.matches || need.stacks || expr.type == ValueType::String ||
                         expr.kind == hir::ExprKind::Regex;
        });
    need.frame = need.frame || gathers_;
    begin_program(handler, handler.name + "_entry", probe, need);
    llvm::Value* buffer = nullptr;
    if (need.frame)
        buffer = new_bytes(e_.state().entry_offset(handler, handler.entry_values.size()) + max());
    else
        buffer = e_.stack(e_.state().entry_offset(handler, handler.entry_values.size()));
    for (size_t i = 0; i < handler.entry_values.size(); i++) {
        const hir::Expr& value = *handler.entry_values[i];
        llvm::Value* at = e_.offset(buffer, e_.state().entry_offset(handler, i));
        Mark mark(*this);
        if (value.type == ValueType::String)
            store_string(at, lower(value));
        else
            e_.CreateStore(lower(value), at);
    }
    t_.entry_values().are_at(buffer);
    require(legs.at_entry);
    bool in_map = !e_.state().plan.probes[probe].entry_map.empty();
    llvm::Value* place = in_map && handler.return_address ? lower(*handler.return_address) : nullptr;
    t_.entry_values().save(env_, handler, buffer, place);
    end_program();
}

} // namespace sonde
