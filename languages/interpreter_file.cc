#include "languages/interpreter_file.h"

#include <elf.h>

#include <algorithm>

#include "base/debug/call_frames.h"

namespace sonde {

void InterpreterFile::find(std::initializer_list<std::pair<std::string_view, Symbol*>> wanted) const {
    file_.for_each_symbol([&](const ElfSymbol& symbol) {
        for (const auto& [name, to] : wanted)
            if (symbol.section != SHN_UNDEF && symbol.name == name)
                *to = {symbol.address, symbol.size};
        return true;
    });
}

const ElfSegment* InterpreterFile::code_at(uint64_t address) const {
    for (const ElfSegment& segment : file_.segments())
        if (segment.executable && address - segment.address < segment.file_size)
            return &segment;
    return nullptr;
}

std::string InterpreterFile::data(uint64_t address, size_t size) const {
    for (const ElfSection& section : file_.sections()) {
        if (section.type != SHT_PROGBITS || address - section.address >= section.size)
            continue;
        const std::string_view bytes = file_.section_data(section.name);
        return std::string(bytes.substr(std::min<size_t>(bytes.size(), address - section.address), size));
    }
    return "";
}

std::vector<InterpreterFile::Range> InterpreterFile::functions_with(const std::vector<uint64_t>& addresses) const {
    std::vector<Range> out;
    if (const ElfSection* frames = file_.find_section(".eh_frame"); frames && !addresses.empty())
        for_each_fde(file_.section_data(".eh_frame"), frames->address, CfiKind::EhFrame, 8, [&](const Fde& fde) {
            if (std::ranges::any_of(addresses, [&](uint64_t at) { return at >= fde.begin && at < fde.end; }))
                out.emplace_back(fde.begin, fde.end);
            return true;
        });
    return out;
}

} // namespace sonde
