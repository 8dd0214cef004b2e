// The body of an async function is a function `{async_fn#0}` in the scope of the async function. Only debug information
// has this name: the symbol is that of a closure.
#include "runtime/symbols/async_functions.h"

#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "base/async_name.h"
#include "base/debug/die.h"
#include "runtime/symbols/function_scopes.h"

namespace sonde {
namespace {

// The name with the scopes around the function. "" for functions that are not async.
std::string name_of(Dwarf_Die& function) {
    Dwarf_Die die = function;
    Dwarf_Attribute attribute;
    for (int depth = 0; depth < deepest_scope; depth++)
        for (const unsigned reference : {DW_AT_abstract_origin, DW_AT_specification})
            if (dwarf_attr(&die, reference, &attribute) && dwarf_formref_die(&attribute, &die))
                break;
    const char* plain = dwarf_diename(&die);
    std::string out = plain ? plain : "";
    if (!out.starts_with("{async_"))
        return "";
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes_die(&die, &scopes);
    for (int i = 1; i < count; i++)
        if (const char* scope = dwarf_diename(&scopes[i]); scope && holds_functions(dwarf_tag(&scopes[i])))
            out = fmt::format("{}::{}", scope, out);
    free(scopes);
    return async_name(out);
}

// The place of an inlined call: "/src/shop.rs:12" or "".
std::string place_of_call(Dwarf_Die& unit, Dwarf_Die& inlined) {
    Dwarf_Files* files = nullptr;
    size_t count = 0;
    const uint64_t file = number_attribute(inlined, DW_AT_call_file).value_or(0);
    const bool is_known = dwarf_getsrcfiles(&unit, &files, &count) == 0 && file < count;
    const char* path = is_known ? dwarf_filesrc(files, file, nullptr, nullptr) : nullptr;
    return path ? fmt::format("{}:{}", path, number_attribute(inlined, DW_AT_call_line).value_or(0)) : "";
}

} // namespace

struct AsyncFunctionFinder::Debug : FunctionScopes {};

AsyncFunctionFinder::AsyncFunctionFinder(const ElfFile& file, std::vector<std::string>& problems)
    : debug_(std::make_unique<Debug>()) {
    if (!debug_->open(file, problems))
        debug_.reset();
}
AsyncFunctionFinder::~AsyncFunctionFinder() = default;
AsyncFunctionFinder::AsyncFunctionFinder(AsyncFunctionFinder&&) noexcept = default;

std::string AsyncFunctionFinder::lines(uint64_t address, const std::string& place) {
    std::optional<Dwarf_Die> unit = debug_ ? debug_->unit_at(address) : std::nullopt;
    std::string out, here = place;
    if (!unit || dwarf_srclang(&*unit) != DW_LANG_Rust)
        return out;
    std::vector<Dwarf_Die> functions = debug_->functions_at(*unit, address);
    for (size_t i = functions.size(); i-- > 0;) { // the innermost is last
        const std::string name = name_of(functions[i]);
        if (!name.empty())
            out += here.empty() ? name + "\n" : fmt::format("{} at {}\n", name, here);
        here = place_of_call(*unit, functions[i]);
    }
    return out;
}

} // namespace sonde
