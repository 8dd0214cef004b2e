#include "languages/stack_facts.h"

#include "languages/java/virtual_machine.h"

namespace sonde {

Result<std::optional<StackFacts>> java_stack_facts(const ElfFile& file) {
    Result<std::optional<sonde_java>> java = read_java(file);
    if (!java)
        return std::move(java).error();
    if (!*java)
        return std::optional<StackFacts>();
    const sonde_java& layout = **java;
    // Java is executed by generated code, which is not in a file.
    return std::optional(StackFacts{
        .facts = std::string(reinterpret_cast<const char*>(&layout), sizeof layout), .loop = {}, .loop_entry = 0});
}

} // namespace sonde
