// Handlers in the host process: x86-64 code that calls runtime/host_api.h by name.
#include <cstddef>

#include "codegen/target.h"
#include "runtime/host_api.h"

namespace sonde {
namespace {

class HostTarget final : public Target {
  public:
    explicit HostTarget(PlanState& state) : Target(state, "host") {}

    bool is_bpf() const override { return false; }

    llvm::Function* begin_handler(const hir::Handler&, const std::string& symbol, uint32_t probe, Needs,
                                  Environment& env) override {
        llvm::Type* p = ptr();
        auto* type = llvm::FunctionType::get(ir_.getVoidTy(), {p, p, p}, false);
        auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, *module_);
        ir_.SetInsertPoint(llvm::BasicBlock::Create(*context_, "entry", function));
        env.context = function->getArg(0);
        env.frame = function->getArg(1);
        env.data = function->getArg(2);
        const auto& points = state_.plan.probes[probe].points;
        env.row = ir_.getInt32(points.empty() ? 0 : points[0].row);
        return function;
    }
    void end_handler(Environment&) override { ir_.CreateRetVoid(); }
    void need_frame(uint64_t) override {}

    void emit_record(Environment& env, uint32_t, llvm::Value* buffer, llvm::Value* size, bool) override {
        routine("sonde_host_emit", ir_.getVoidTy(), {env.context, buffer, size});
    }

    void symbol(Environment& env, llvm::Value* slot, llvm::Value* address, llvm::Value* style, llvm::Value*) override {
        routine("sonde_host_symbol", ir_.getVoidTy(),
                {env.context, slot, number(state_.options.max_string), address, style});
    }
    void kernel_symbol(Environment& env, llvm::Value* slot, llvm::Value* address, llvm::Value* style,
                       llvm::Value* work) override {
        symbol(env, slot, address, style, work);
    }

    llvm::Value* array_load_long(Environment& env, const hir::Global& array, llvm::Value* key) override {
        llvm::Value* value = stack(8);
        routine("sonde_host_array_load", i64(), {env.context, index(array), key, value});
        return ir_.CreateLoad(i64(), value);
    }
    void array_load_string(Environment& env, const hir::Global& array, llvm::Value* key, llvm::Value* slot) override {
        routine("sonde_host_array_load", i64(), {env.context, index(array), key, slot});
    }
    llvm::Value* array_store_long(Environment& env, const hir::Global& array, llvm::Value* key,
                                  llvm::Value* value) override {
        llvm::Value* cell = stack(8);
        ir_.CreateStore(value, cell);
        return routine("sonde_host_array_store", i64(), {env.context, index(array), key, cell});
    }
    llvm::Value* array_store_string(Environment& env, const hir::Global& array, llvm::Value* key,
                                    llvm::Value* slot) override {
        return routine("sonde_host_array_store", i64(), {env.context, index(array), key, slot});
    }
    llvm::Value* array_update(Environment& env, const hir::Global& array, llvm::Value* key,
                              llvm::AtomicRMWInst::BinOp op, llvm::Value* value, llvm::Value** old_value) override {
        llvm::Value* old = stack(8);
        if (op == llvm::AtomicRMWInst::Add || op == llvm::AtomicRMWInst::Sub) {
            llvm::Value* delta = op == llvm::AtomicRMWInst::Sub ? ir_.CreateNeg(value) : value;
            llvm::Value* status = routine("sonde_host_array_add", i64(), {env.context, index(array), key, delta, old});
            if (old_value)
                *old_value = ir_.CreateLoad(i64(), old);
            return status;
        }
        llvm::Value* before = array_load_long(env, array, key);
        llvm::Value* after = op == llvm::AtomicRMWInst::And  ? ir_.CreateAnd(before, value)
                             : op == llvm::AtomicRMWInst::Or ? ir_.CreateOr(before, value)
                                                             : ir_.CreateXor(before, value);
        if (old_value)
            *old_value = before;
        return array_store_long(env, array, key, after);
    }
    llvm::Value* array_stat_add(Environment& env, const hir::Global& array, llvm::Value* key,
                                llvm::Value* value) override {
        return routine("sonde_host_array_stat_add", i64(), {env.context, index(array), key, value});
    }
    llvm::Value* array_stats(Environment& env, const hir::Global& array, llvm::Value* key,
                             llvm::Value* scratch) override {
        routine("sonde_host_array_load", i64(), {env.context, index(array), key, scratch});
        return scratch;
    }
    llvm::Value* array_contains(Environment& env, const hir::Global& array, llvm::Value* key, uint64_t mask) override {
        return routine("sonde_host_array_contains_slice", i64(),
                       {env.context, index(array), number(static_cast<int64_t>(mask)), key});
    }
    void array_delete(Environment& env, const hir::Global& array, llvm::Value* key, uint64_t mask, bool all) override {
        if (mask == ~0ull)
            routine("sonde_host_array_delete", ir_.getVoidTy(), {env.context, index(array), key});
        else
            routine("sonde_host_array_delete_slice", ir_.getVoidTy(),
                    {env.context, index(array), number(all ? 0 : static_cast<int64_t>(mask)),
                     key ? key : llvm::ConstantPointerNull::get(ir_.getPtrTy())});
    }

    llvm::Value* foreach_begin(Environment& env, const ForeachSpec& spec) override {
        llvm::Value* out = stack(sizeof(HostForeach));
        auto put = [&](size_t at, llvm::Value* value) { ir_.CreateStore(value, offset(out, at)); };
        put(offsetof(HostForeach, global), ir_.getInt32(spec.loop->array->index));
        put(offsetof(HostForeach, sort_direction), ir_.getInt32(static_cast<uint32_t>(spec.loop->sort_direction)));
        put(offsetof(HostForeach, sort_column), ir_.getInt32(static_cast<uint32_t>(spec.loop->sort_column)));
        put(offsetof(HostForeach, sort_stat), ir_.getInt32(static_cast<uint32_t>(spec.loop->sort_stat)));
        llvm::Value* limit =
            spec.limit ? ir_.CreateSelect(ir_.CreateICmpSLT(spec.limit, number(0)), number(0), spec.limit) : number(-1);
        put(offsetof(HostForeach, limit), limit);
        put(offsetof(HostForeach, slice_mask), number(static_cast<int64_t>(spec.slice_mask)));
        put(offsetof(HostForeach, slice_key),
            spec.slice_key ? spec.slice_key : llvm::ConstantPointerNull::get(ir_.getPtrTy()));
        return routine("sonde_host_foreach_begin", ptr(), {env.context, out});
    }
    llvm::Value* foreach_next(Environment&, const ForeachSpec&, llvm::Value* iterator, llvm::Value*& key,
                              llvm::Value*& value) override {
        llvm::Value* more = routine("sonde_host_foreach_next", i64(),
                                    {iterator, key, value ? value : llvm::ConstantPointerNull::get(ir_.getPtrTy())});
        return ir_.CreateICmpNE(more, number(0));
    }
    void foreach_end(Environment&, llvm::Value* iterator) override {
        routine("sonde_host_foreach_end", ir_.getVoidTy(), {iterator});
    }
    void loop_head(llvm::BasicBlock*) override {}

    llvm::Value* task_number(Environment& env, const std::string& what) override {
        if (what == "task_current" || what.starts_with("__"))
            return routine("sonde_host_" + what.substr(what.find_first_not_of('_')), i64(), {env.context});
        return routine("sonde_host_" + what, i64(), {});
    }
    void execname(Environment&, llvm::Value* slot) override {
        routine("sonde_host_execname", ir_.getVoidTy(), {slot, number(std::min(16u, state_.options.max_string))});
    }
    llvm::Value* clock(Environment&, const std::string& what) override {
        return routine(what == "get_cycles"     ? "sonde_host_cycles"
                       : what == "ktime_get_ns" ? "sonde_host_monotonic_ns"
                                                : "sonde_host_realtime_ns",
                       i64(), {});
    }
    llvm::Value* user_register(Environment&, int) override { return number(0); }
    llvm::Value* raise_signal(llvm::Value* signal) override { return routine("sonde_host_raise", i64(), {signal}); }
    llvm::Value* load_average(llvm::Value* index) override { return routine("sonde_host_loadavg", i64(), {index}); }
    llvm::Value* append_histogram(Environment& env, llvm::Value* slot, llvm::Value* length, const hir::Global& global,
                                  llvm::Value* stats) override {
        return routine("sonde_host_append_histogram", i64(), {env.context, slot, length, index(global), stats});
    }
    llvm::Value* memory_node(llvm::Value* address) override {
        return routine("sonde_host_memory_node", i64(), {address});
    }
    // There is no traced task: every user address is a bad one.
    llvm::Value* read_memory(Environment& env, llvm::Value* buffer, uint32_t size, llvm::Value* address,
                             bool user) override {
        if (!address->getType()->isPointerTy())
            return user ? number(1)
                        : routine("sonde_host_read_kernel", i64(), {env.context, buffer, number(size), address});
        ir_.CreateMemCpy(buffer, llvm::Align(1), address, llvm::Align(1), size);
        return number(0);
    }
    llvm::Value* read_block(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address) override {
        return routine("sonde_host_read_kernel_block", i64(), {env.context, slot, size, address});
    }
    llvm::Value* read_string(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address,
                             bool user) override {
        ir_.CreateStore(ir_.getInt8(0), slot);
        return user ? number(1) : routine("sonde_host_read_kernel_string", i64(), {env.context, slot, size, address});
    }
    llvm::Value* read_wide(Environment&, llvm::Value* slot, uint32_t, llvm::Value*, bool) override {
        ir_.CreateStore(ir_.getInt8(0), slot);
        return number(1);
    }
    llvm::Value* entry_value(Environment&, const hir::Handler&, uint32_t, llvm::Value*) override { return number(0); }
    void save_entry_values(Environment&, const hir::Handler&, llvm::Value*, llvm::Value*) override {}

  private:
    llvm::Value* index(const hir::Global& array) { return ir_.getInt32(array.index); }
};

} // namespace

std::unique_ptr<Target> make_host_target(PlanState& state) { return std::make_unique<HostTarget>(state); }

} // namespace sonde
