#include "languages/stack_facts.h"

#include "languages/php/interpreter.h"

namespace sonde {

Result<std::optional<StackFacts>> php_stack_facts(const ElfFile& file) {
    Result<std::optional<PhpInterpreter>> php = read_php(file);
    if (!php)
        return std::move(php).error();
    if (!*php)
        return std::optional<StackFacts>();
    const sonde_php& layout = (*php)->layout;
    return std::optional(StackFacts{.facts = std::string(reinterpret_cast<const char*>(&layout), sizeof layout),
                                    .loop = std::move((*php)->loop),
                                    .loop_entry = (*php)->loop_entry});
}

} // namespace sonde
