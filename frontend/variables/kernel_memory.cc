#include "frontend/variables/kernel_memory.h"

#include <fmt/format.h>

namespace sonde {

// The current CPU's copy is at the variable's address in the kernel's image plus `__per_cpu_offset[cpu]`
// (include/asm-generic/percpu.h). The kernel is loaded at another address after each boot, so the first term is the
// address of the symbol __per_cpu_start plus the variable's offset from there.
hir::Expr* per_cpu_address(Binding& b, uint64_t offset) {
    if (!b.binder.symbol_address || !b.binder.call)
        return nullptr;
    hir::Expr* cpu = b.binder.call("cpu", {});
    if (!cpu)
        return nullptr;
    hir::Expr* slot = b.binary(hir::BinaryOp::Add, b.binder.symbol_address("__per_cpu_offset"),
                               b.binary(hir::BinaryOp::Shl, cpu, b.number(3)));
    auto* distance = b.make<hir::Load>(b.expr.range, slot, 8u, false);
    distance->user = false;
    hir::Expr* image = b.plus(b.binder.symbol_address("__per_cpu_start"), static_cast<int64_t>(offset));
    return b.binary(hir::BinaryOp::Add, image, distance);
}

// The kernel is loaded at another address after each boot. So addresses are computed relative to a symbol. Addresses in
// a module are relative to a symbol of the same section, because each section of a module is loaded separately.
hir::Expr* kernel_address(Binding& b, DwarfModule& module, Address linked) {
    b.needs_same_types = true;
    if (const std::string& owner = b.point.point.module; &module == b.point.module && !owner.empty()) {
        std::optional<std::pair<std::string, Address>> symbol = module.symbols().unique_variable_before(linked);
        if (!symbol || !b.binder.symbol_address)
            return b.fail(DiagId::VariableUnavailable, b.base_range(),
                          fmt::format("the address of `{}` is not known: `{}` has no symbol for the variable",
                                      b.as_written(0), module.path()));
        return b.plus(b.binder.symbol_address(fmt::format("{}\t[{}]", symbol->first, owner)),
                      static_cast<int64_t>(linked - symbol->second));
    }
    constexpr const char* mark = "_stext";
    std::optional<Address> from = module.symbols().address_of(mark);
    if (!from || !b.binder.symbol_address)
        return b.fail(DiagId::VariableUnavailable, b.base_range(),
                      fmt::format("the address of `{}` is not known: `{}` has no symbol `{}`", b.as_written(0),
                                  module.path(), mark));
    // Up to 6.14, per-CPU variables are linked at small addresses, which are offsets.
    std::optional<Address> copies = module.symbols().address_of("__per_cpu_start"),
                           end = module.symbols().address_of("__per_cpu_end");
    if (copies && end && linked >= *copies && linked < *end)
        return per_cpu_address(b, linked - *copies);
    return b.plus(b.binder.symbol_address(mark), static_cast<int64_t>(linked - *from));
}

} // namespace sonde
