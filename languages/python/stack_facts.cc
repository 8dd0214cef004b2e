#include "languages/stack_facts.h"

#include "languages/python/interpreter.h"

namespace sonde {

Result<std::optional<StackFacts>> python_stack_facts(const ElfFile& file) {
    Result<std::optional<PythonInterpreter>> python = read_python(file);
    if (!python)
        return std::move(python).error();
    if (!*python)
        return std::optional<StackFacts>();
    sonde_python layout = (*python)->layout;
    layout.loop = file.file_offset((*python)->loop_entry).value_or(0);
    return std::optional(StackFacts{.facts = std::string(reinterpret_cast<const char*>(&layout), sizeof layout),
                                    .loop = std::move((*python)->loop),
                                    .loop_entry = (*python)->loop_entry});
}

} // namespace sonde
