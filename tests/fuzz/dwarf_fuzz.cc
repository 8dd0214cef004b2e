// libFuzzer's entry point for debug information: for any file, each question is answered in limited time. A good corpus
// is one or two small programs with -g.
#include <cstdint>
#include <memory>

#include "frontend/dwarf/dwarf_module.h"
#include "frontend/dwarf/return_sites.h"
#include "tests/fuzz/memory_file.h"

using namespace sonde;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    constexpr size_t most = 40; // of anything: a mutated count must not make an input take seconds
    MemoryFile bytes(data, size);
    Result<std::unique_ptr<DwarfModule>> opened = DwarfModule::open(bytes.path());
    if (!opened)
        return 0;
    DwarfModule& module = **opened;
    FunctionPattern all;
    std::vector<FunctionInstance> functions = module.functions(all);
    for (size_t i = 0; i < functions.size() && i < most; i++) {
        const FunctionInstance& function = functions[i];
        for (const Variable& variable : module.variables_in(function, function.body, true))
            module.locate(variable, function.body);
        for (const Variable& parameter : module.parameters(function))
            module.calling_convention().argument_location(function, parameter);
        module.result_type(function);
        for (const Variable& result : module.results(function))
            module.calling_convention().result_location(function, result);
        module.cheap_entry(function);
        module.statement_at(function.low);
        static_cast<void>(module.returns().find(function, false));
        module.entry_stack_pointer(function.body);
        module.labels(function);
        module.calls(function);
        module.frame_rule(function.body);
        module.calling_convention().keeps_to_abi(function);
        module.signature(function);
        for (const Variable& variable : module.variables_to_list(function, function.body))
            module.location_ranges(variable, function);
        module.symbols().at(function.low);
    }
    module.statements(all);
    for (const std::string& file : module.source_files())
        module.statement_lines(file);
    std::vector<std::string> globals = module.global_names();
    for (size_t i = 0; i < globals.size() && i < most; i++)
        for (const Variable& variable : module.globals(globals[i]))
            module.global_address(variable);
    std::vector<std::string> types = module.type_names();
    for (size_t i = 0; i < types.size() && i < most; i++)
        module.find_type(types[i]);
    module.visit_functions(all, [](const FunctionInstance&) {});
    module.file().marks();
    module.file().plt();
    return 0;
}
