#include "languages/stack_facts.h"

#include "languages/javascript/interpreter.h"

namespace sonde {

Result<std::optional<StackFacts>> javascript_stack_facts(const ElfFile& file) {
    Result<std::optional<JavascriptInterpreter>> javascript = read_javascript(file);
    if (!javascript)
        return std::move(javascript).error();
    if (!*javascript)
        return std::optional<StackFacts>();
    const sonde_javascript& layout = (*javascript)->layout;
    // V8 can copy its built-in functions to memory of its own. So any function of the file shows that V8 is there.
    return std::optional(StackFacts{.facts = std::string(reinterpret_cast<const char*>(&layout), sizeof layout),
                                    .loop = {(*javascript)->code},
                                    .loop_entry = (*javascript)->code.first,
                                    .frame_pointers = (*javascript)->built_in});
}

} // namespace sonde
