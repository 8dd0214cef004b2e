// Checks calls of BPF helpers. The kernel checks the arguments only when the program is loaded, and its messages
// mention registers. Two errors are reported here, at the script's line: a call of a helper that the prelude does not
// have (C can call any number), and memory that is too small for a helper's result.
#include "codegen/c/helpers.h"

#include <cctype>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include <llvm/IR/Constants.h>

#include "codegen/c/prelude.h"

namespace sonde {

// A call of a helper is a call of a constant address: in LLVM IR, `call i64 inttoptr (i64 113 to ptr)(...)`. The
// address 0 is a null pointer there.
std::optional<uint64_t> helper_number(const llvm::CallBase& call) {
    const llvm::Value* callee = call.getCalledOperand();
    if (llvm::isa<llvm::ConstantPointerNull>(callee))
        return 0;
    const auto* address = llvm::dyn_cast<llvm::ConstantExpr>(callee);
    if (!address || address->getOpcode() != llvm::Instruction::IntToPtr)
        return std::nullopt;
    const auto* number = llvm::dyn_cast<llvm::ConstantInt>(address->getOperand(0));
    return number ? std::optional(number->getZExtValue()) : std::nullopt;
}

std::string helper_name(uint64_t number) {
    // The prelude has: `static long (*const bpf_x)(...) = (void *)113;`
    constexpr std::string_view begin = "(*const ";
    const std::string end = fmt::format(" = (void *){};", number);
    const std::string_view text = c_prelude;
    const size_t found = text.find(end);
    if (found == std::string_view::npos)
        return "";
    const size_t name = text.rfind(begin, found) + begin.size();
    return std::string(text.substr(name, text.find(')', name) - name));
}

bool is_helper(std::string_view name) {
    return std::string_view(c_prelude).find(fmt::format("(*const {})", name)) != std::string_view::npos;
}

std::vector<HelperMemory> helper_memory(uint64_t number) {
    const std::string name = helper_name(number);
    if (name.starts_with("bpf_probe_read") || name == "bpf_get_current_comm")
        return {{0, 1, true}};
    if (name == "bpf_probe_write_user")
        return {{1, 2, false}};
    if (name == "bpf_snprintf")
        return {{0, 1, true}, {3, 4, false}};
    if (name == "bpf_get_ns_current_pid_tgid")
        return {{2, 3, true}};
    if (name == "bpf_get_task_stack")
        return {{1, 2, true}};
    return {};
}

} // namespace sonde
