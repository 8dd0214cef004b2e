// libFuzzer's entry point for ELF files and their static marks: for any file, reading does not crash or leave the file.
#include <cstddef>

#include "base/elf_file.h"
#include "frontend/machine/usdt.h"
#include "tests/fuzz/memory_file.h"

using namespace sonde;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    MemoryFile bytes(data, size);
    Result<ElfFile> file = ElfFile::open(bytes.path());
    if (!file)
        return 0;
    file->build_id();
    file->debuglink();
    uint64_t sum = 0;
    for (const ElfSection& section : file->sections())
        for (char byte : file->section_data(section.name))
            sum += static_cast<uint8_t>(byte);
    file->for_each_symbol([&](const ElfSymbol& symbol) {
        sum += symbol.name.size() + file->file_offset(symbol.address).value_or(0);
        return true;
    });
    for (const ElfSegment& segment : file->segments())
        sum += file->address_of_offset(segment.offset).value_or(0);
    sum += read_usdt_marks(*file).size();
    return sum == 1; // uses the results
}
