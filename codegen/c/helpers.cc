// The kernel checks a helper's arguments when the program is loaded, and says it in its own words of registers. What
// can be known before is told here, at the script's line: whether the helper is one that the prelude names (any number
// is a call to C), whether the memory that it writes to is there, and whether a format has what bpf_snprintf() takes
// (kernel/bpf/helpers.c, bpf_bprintf_prepare()).
#include "codegen/c/helpers.h"

#include <cctype>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include <llvm/IR/Constants.h>

#include "codegen/c/prelude.h"

namespace sonde {

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
    // `static long (*const bpf_x)(...) = (void *)113;`
    constexpr std::string_view begin = "(*const ";
    const std::string end = fmt::format(" = (void *){};", number);
    const std::string_view text = c_prelude;
    const size_t found = text.find(end);
    if (found == std::string_view::npos)
        return "";
    const size_t name = text.rfind(begin, found) + begin.size();
    return std::string(text.substr(name, text.find(')', name) - name));
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

std::string suit_format(std::string format) {
    for (size_t at = 0; (at = format.find('%', at)) != std::string::npos; at++) {
        if (at + 1 < format.size() && format[at + 1] == '%') {
            at++;
            continue;
        }
        size_t end = at + 1;
        while (end < format.size() && std::string_view("0123456789-+# ").find(format[end]) != std::string_view::npos)
            end++;
        if (end < format.size() && std::string_view("zjt").find(format[end]) != std::string_view::npos)
            format[end] = 'l';
        const size_t kind = format.find_first_not_of('l', end);
        // The kernel writes 0 as `0x0`.
        if (kind != std::string::npos && format[kind] == 'x' && format.compare(at, end - at, "%#") == 0) {
            format.replace(at, 2, "0x%");
            at += 2;
        }
    }
    return format;
}

std::string check_format(const std::string& format, uint64_t values) {
    uint64_t taken = 0;
    for (size_t at = 0; at < format.size(); at++) {
        if (format[at] != '%')
            continue;
        const size_t begin = at++;
        if (at < format.size() && format[at] == '%')
            continue;
        while (at < format.size() && (std::isdigit(static_cast<unsigned char>(format[at])) || format[at] == '-' ||
                                      format[at] == '+' || format[at] == ' '))
            at++;
        size_t lengths = at;
        while (at < format.size() && format[at] == 'l')
            at++;
        lengths = at - lengths;
        const char kind = at < format.size() ? format[at] : '\0';
        if (kind == '\0')
            return fmt::format("`{}` is no whole conversion", format.substr(begin));
        if (lengths > 2 || std::string_view(lengths ? "diuxX" : "diuxXscp").find(kind) == std::string_view::npos)
            return fmt::format(
                "`{}` is no conversion of C in BPF: there are `%d`, `%i`, `%u`, `%x`, `%X`, with `l` and "
                "`ll`, `%c`, `%s` and `%p`",
                format.substr(begin, at + 1 - begin));
        if (kind == 'p') {
            const std::string_view rest = std::string_view(format).substr(at + 1);
            if (!rest.empty() && std::isalnum(static_cast<unsigned char>(rest[0])) &&
                std::string_view("KxsSB").find(rest[0]) == std::string_view::npos && !rest.starts_with("I4") &&
                !rest.starts_with("i4") && !rest.starts_with("I6") && !rest.starts_with("i6"))
                return fmt::format("`%p{}` is no conversion of C in BPF: after `%p` there are `x`, `s`, `S`, `B`, `K`, "
                                   "`I4`, `i4`, `I6` and `i6`",
                                   rest[0]);
            while (at + 1 < format.size() && std::isalnum(static_cast<unsigned char>(format[at + 1])))
                at++;
        }
        taken++;
    }
    if (taken != values)
        return fmt::format("the format takes {} value{}, and {} {} given", taken, taken == 1 ? "" : "s", values,
                           values == 1 ? "is" : "are");
    return "";
}

} // namespace sonde
