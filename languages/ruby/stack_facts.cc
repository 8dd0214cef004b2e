#include "languages/stack_facts.h"

#include "languages/ruby/interpreter.h"

namespace sonde {

Result<std::optional<StackFacts>> ruby_stack_facts(const ElfFile& file) {
    Result<std::optional<RubyInterpreter>> ruby = read_ruby(file);
    if (!ruby)
        return std::move(ruby).error();
    if (!*ruby)
        return std::optional<StackFacts>();
    const sonde_ruby& layout = (*ruby)->layout;
    return std::optional(StackFacts{.facts = std::string(reinterpret_cast<const char*>(&layout), sizeof layout),
                                    .loop = std::move((*ruby)->loop),
                                    .loop_entry = (*ruby)->loop_entry});
}

} // namespace sonde
