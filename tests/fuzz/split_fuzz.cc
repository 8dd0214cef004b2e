// libFuzzer's entry point for split debug information: for any file, reading it as a .dwo file and as a package does
// not crash or leave the file, and the size of the result is limited. A good corpus is a .dwo file and a .dwp file.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/debug/open_dwarf.h"
#include "base/elf_file.h"
#include "frontend/dwarf/split_linker.h"
#include "frontend/dwarf/split_package.h"
#include "frontend/dwarf/split_sections.h"
#include "tests/fuzz/memory_file.h"

using namespace sonde;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    constexpr size_t most = 40; // units
    MemoryFile bytes(data, size);
    Result<ElfFile> file = ElfFile::open_debug_information(bytes.path());
    if (!file || !why_not_unpack(*file).empty())
        return 0;
    split_layout(*file);
    SplitLinker units;
    if (units.add(views_of(read_split_sections(*file))))
        CHECK(!write_split_file(units.sections(), file->machine()).empty());
    const Result<std::unique_ptr<SplitPackage>> package = SplitPackage::open(bytes.path());
    if (!package)
        return 0;
    size_t count = 0;
    for (uint64_t unit : (*package)->units()) {
        SplitLinker one;
        if (count++ < most && (*package)->add_to(one, unit))
            CHECK(!write_split_file(one.sections(), file->machine()).empty());
    }
    return 0;
}
