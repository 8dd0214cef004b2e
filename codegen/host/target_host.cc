// Handlers in the host process: x86-64 code that calls runtime/host_api.h by name.
#include <cstddef>

#include "codegen/target.h"
#include "runtime/host_api.h"

namespace sonde {
namespace {

class HostTarget final : public Target {
  public:
    explicit HostTarget(Emitter& emitter) : Target(emitter) {}

    llvm::Function* begin_handler(const hir::Handler&, const std::string& symbol, uint32_t probe, Needs,
                                  Environment& env) override {
        llvm::Type* p = e_.ptr();
        auto* type = llvm::FunctionType::get(e_.getVoidTy(), {p, p, p}, false);
        auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, e_.module());
        e_.SetInsertPoint(llvm::BasicBlock::Create(e_.getContext(), "entry", function));
        env.context = function->getArg(0);
        env.frame = function->getArg(1);
        env.data = function->getArg(2);
        const auto& points = state_.plan.probes[probe].points;
        env.row = e_.getInt32(points.empty() ? 0 : points[0].row);
        return function;
    }
    void end_handler(Environment&) override { e_.CreateRetVoid(); }
    void need_frame(uint64_t) override {}

    void emit_record(Environment& env, uint32_t, llvm::Value* buffer, llvm::Value* size, bool) override {
        e_.routine("sonde_host_emit", e_.getVoidTy(), {env.context, buffer, size});
    }

    void symbol(Environment& env, llvm::Value* slot, llvm::Value* address, llvm::Value* style, llvm::Value*) override {
        e_.routine("sonde_host_symbol", e_.getVoidTy(),
                   {env.context, slot, e_.number(state_.options.max_string), address, style});
    }
    void kernel_symbol(Environment& env, llvm::Value* slot, llvm::Value* address, llvm::Value* style,
                       llvm::Value* work) override {
        symbol(env, slot, address, style, work);
    }

    llvm::Value* array_load_long(Environment& env, const hir::Global& array, llvm::Value* key) override {
        llvm::Value* value = e_.stack(8);
        e_.routine("sonde_host_array_load", e_.i64(), {env.context, index(array), key, value});
        return e_.CreateLoad(e_.i64(), value);
    }
    void array_load_string(Environment& env, const hir::Global& array, llvm::Value* key, llvm::Value* slot) override {
        e_.routine("sonde_host_array_load", e_.i64(), {env.context, index(array), key, slot});
    }
    llvm::Value* array_store_long(Environment& env, const hir::Global& array, llvm::Value* key,
                                  llvm::Value* value) override {
        llvm::Value* cell = e_.stack(8);
        e_.CreateStore(value, cell);
        return e_.routine("sonde_host_array_store", e_.i64(), {env.context, index(array), key, cell});
    }
    llvm::Value* array_store_string(Environment& env, const hir::Global& array, llvm::Value* key,
                                    llvm::Value* slot) override {
        return e_.routine("sonde_host_array_store", e_.i64(), {env.context, index(array), key, slot});
    }
    llvm::Value* array_update(Environment& env, const hir::Global& array, llvm::Value* key,
                              llvm::AtomicRMWInst::BinOp op, llvm::Value* value, llvm::Value** old_value) override {
        llvm::Value* old = e_.stack(8);
        if (op == llvm::AtomicRMWInst::Add || op == llvm::AtomicRMWInst::Sub) {
            llvm::Value* delta = op == llvm::AtomicRMWInst::Sub ? e_.CreateNeg(value) : value;
            llvm::Value* status =
                e_.routine("sonde_host_array_add", e_.i64(), {env.context, index(array), key, delta, old});
            if (old_value)
                *old_value = e_.CreateLoad(e_.i64(), old);
            return status;
        }
        llvm::Value* before = array_load_long(env, array, key);
        llvm::Value* after = op == llvm::AtomicRMWInst::And  ? e_.CreateAnd(before, value)
                             : op == llvm::AtomicRMWInst::Or ? e_.CreateOr(before, value)
                                                             : e_.CreateXor(before, value);
        if (old_value)
            *old_value = before;
        return array_store_long(env, array, key, after);
    }
    llvm::Value* array_stat_add(Environment& env, const hir::Global& array, llvm::Value* key,
                                llvm::Value* value) override {
        return e_.routine("sonde_host_array_stat_add", e_.i64(), {env.context, index(array), key, value});
    }
    llvm::Value* array_stats(Environment& env, const hir::Global& array, llvm::Value* key,
                             llvm::Value* scratch) override {
        e_.routine("sonde_host_array_load", e_.i64(), {env.context, index(array), key, scratch});
        return scratch;
    }
    llvm::Value* array_contains(Environment& env, const hir::Global& array, llvm::Value* key, uint64_t mask) override {
        return e_.routine("sonde_host_array_contains_slice", e_.i64(),
                          {env.context, index(array), e_.number(static_cast<int64_t>(mask)), key});
    }
    void array_delete(Environment& env, const hir::Global& array, llvm::Value* key, uint64_t mask, bool all) override {
        if (mask == ~0ull)
            e_.routine("sonde_host_array_delete", e_.getVoidTy(), {env.context, index(array), key});
        else
            e_.routine(
                "sonde_host_array_delete_slice", e_.getVoidTy(),
                {env.context, index(array), e_.number(all ? 0 : static_cast<int64_t>(mask)), key ? key : e_.null()});
    }

    llvm::Value* foreach_begin(Environment& env, const ForeachSpec& spec) override {
        llvm::Value* out = e_.stack(sizeof(HostForeach));
        auto put = [&](size_t at, llvm::Value* value) { e_.CreateStore(value, e_.offset(out, at)); };
        put(offsetof(HostForeach, global), e_.getInt32(spec.loop->array->index));
        put(offsetof(HostForeach, sort_direction), e_.getInt32(static_cast<uint32_t>(spec.loop->sort_direction)));
        put(offsetof(HostForeach, sort_column), e_.getInt32(static_cast<uint32_t>(spec.loop->sort_column)));
        put(offsetof(HostForeach, sort_stat), e_.getInt32(static_cast<uint32_t>(spec.loop->sort_stat)));
        llvm::Value* limit = spec.limit
                                 ? e_.CreateSelect(e_.CreateICmpSLT(spec.limit, e_.number(0)), e_.number(0), spec.limit)
                                 : e_.number(-1);
        put(offsetof(HostForeach, limit), limit);
        put(offsetof(HostForeach, slice_mask), e_.number(static_cast<int64_t>(spec.slice_mask)));
        put(offsetof(HostForeach, slice_key), spec.slice_key ? spec.slice_key : e_.null());
        return e_.routine("sonde_host_foreach_begin", e_.ptr(), {env.context, out});
    }
    llvm::Value* foreach_next(Environment&, const ForeachSpec&, llvm::Value* iterator, llvm::Value*& key,
                              llvm::Value*& value) override {
        llvm::Value* more = e_.routine("sonde_host_foreach_next", e_.i64(), {iterator, key, value ? value : e_.null()});
        return e_.CreateICmpNE(more, e_.number(0));
    }
    void foreach_end(Environment&, llvm::Value* iterator) override {
        e_.routine("sonde_host_foreach_end", e_.getVoidTy(), {iterator});
    }
    void loop_head(llvm::BasicBlock*) override {}

    llvm::Value* task_number(Environment& env, const std::string& what) override {
        if (what == "task_current" || what.starts_with("__"))
            return e_.routine("sonde_host_" + what.substr(what.find_first_not_of('_')), e_.i64(), {env.context});
        return e_.routine("sonde_host_" + what, e_.i64(), {});
    }
    void execname(Environment&, llvm::Value* slot) override {
        e_.routine("sonde_host_execname", e_.getVoidTy(), {slot, e_.number(std::min(16u, state_.options.max_string))});
    }
    llvm::Value* clock(Environment&, const std::string& what) override {
        return e_.routine(what == "get_cycles"     ? "sonde_host_cycles"
                          : what == "ktime_get_ns" ? "sonde_host_monotonic_ns"
                                                   : "sonde_host_realtime_ns",
                          e_.i64(), {});
    }
    llvm::Value* user_register(Environment&, int) override { return e_.number(0); }
    llvm::Value* raise_signal(llvm::Value* signal) override {
        return e_.routine("sonde_host_raise", e_.i64(), {signal});
    }
    llvm::Value* load_average(llvm::Value* index) override {
        return e_.routine("sonde_host_loadavg", e_.i64(), {index});
    }
    llvm::Value* append_histogram(Environment& env, llvm::Value* slot, llvm::Value* length, const hir::Global& global,
                                  llvm::Value* stats) override {
        return e_.routine("sonde_host_append_histogram", e_.i64(), {env.context, slot, length, index(global), stats});
    }
    llvm::Value* memory_node(llvm::Value* address) override {
        return e_.routine("sonde_host_memory_node", e_.i64(), {address});
    }
    // There is no traced task: every user address is a bad one.
    llvm::Value* read_memory(Environment& env, llvm::Value* buffer, uint32_t size, llvm::Value* address,
                             bool user) override {
        if (!address->getType()->isPointerTy())
            return user ? e_.number(1)
                        : e_.routine("sonde_host_read_kernel", e_.i64(),
                                     {env.context, buffer, e_.number(size), address});
        e_.CreateMemCpy(buffer, llvm::Align(1), address, llvm::Align(1), size);
        return e_.number(0);
    }
    llvm::Value* read_block(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address) override {
        return e_.routine("sonde_host_read_kernel_block", e_.i64(), {env.context, slot, size, address});
    }
    llvm::Value* read_string(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address,
                             bool user) override {
        e_.CreateStore(e_.getInt8(0), slot);
        return user ? e_.number(1)
                    : e_.routine("sonde_host_read_kernel_string", e_.i64(), {env.context, slot, size, address});
    }
    llvm::Value* read_wide(Environment&, llvm::Value* slot, uint32_t, llvm::Value*, bool) override {
        e_.CreateStore(e_.getInt8(0), slot);
        return e_.number(1);
    }
    llvm::Value* entry_value(Environment&, const hir::Handler&, uint32_t, llvm::Value*) override {
        return e_.number(0);
    }
    void save_entry_values(Environment&, const hir::Handler&, llvm::Value*, llvm::Value*) override {}

  private:
    llvm::Value* index(const hir::Global& array) { return e_.getInt32(array.index); }
};

} // namespace

std::unique_ptr<Target> make_host_target(Emitter& emitter) { return std::make_unique<HostTarget>(emitter); }

} // namespace sonde
