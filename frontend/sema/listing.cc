// Programs read this output, so its form must not change: the comments, the order, the two blanks before a local, and
// the bounds of an array are those of SystemTap.
#include "frontend/sema/listing.h"

#include <fmt/format.h>

namespace sonde::hir {
namespace {

const char* word(ValueType type) {
    switch (type) {
    case ValueType::Long:
        return "long";
    case ValueType::String:
        return "string";
    case ValueType::Stats:
        return "stats";
    default:
        return "unknown";
    }
}

// `name%[capacity]:type [key types]`; `%` means that the array wraps.
std::string line(const Global& global) {
    std::string keys;
    for (ValueType key : global.keys)
        keys += fmt::format("{}{}", keys.empty() ? " [" : ", ", word(key));
    const std::string capacity = global.has_own_capacity ? fmt::format("[{}]", global.capacity) : "";
    return fmt::format("{}{}{}:{}{}{}\n", global.name, global.wrap ? "%" : "", capacity, word(global.type), keys,
                       keys.empty() ? "" : "]");
}

std::string locals(const std::vector<Local*>& all) {
    std::string out;
    for (const Local* local : all)
        out += fmt::format("{}  {}:{}\n", out.empty() ? "  # locals\n" : "", local->name, word(local->type));
    return out;
}

// `name:type (parameters)`, then the locals.
std::string line(const Function& function) {
    std::string params;
    for (const Local* param : function.params)
        params += fmt::format("{}{}:{}", params.empty() ? "" : ", ", param->name, word(param->type));
    return fmt::format("{}:{} ({})\n{}", function.name, word(function.result), params, locals(function.locals));
}

// The point that was found, and the point as the script has it.
std::string line(const plan::Point& point) {
    const std::string pc = point.offset ? fmt::format(" /* pc={:#x} */", point.offset) : "";
    return fmt::format("{}{} /* <- {} */\n", point.pp, pc, point.pn);
}

} // namespace

std::string listing(const Program& program) {
    std::string out;
    for (const Global* global : program.globals)
        out += (out.empty() ? "# globals\n" : "") + line(*global);
    std::string functions;
    for (const Function* function : program.functions)
        functions += (functions.empty() ? "# functions\n" : "") + line(*function);
    out += functions;
    std::string probes;
    for (const Handler* handler : program.handlers)
        for (const plan::Point& point : handler->points)
            probes += (probes.empty() ? "# probes\n" : "") + line(point) + locals(handler->locals);
    return out + probes;
}

} // namespace sonde::hir
