// libFuzzer's entry point for what sonde reads of Python: sources, the description of the interpreter's memory, and the
// interpreter's file with its machine code.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "arch/architecture.h"
#include "languages/python/layouts.h"
#include "languages/python/places.h"
#include "languages/python/source.h"
#include "tests/fuzz/memory_file.h"

using namespace sonde;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    for (const PythonFunction& one : python_functions(bytes))
        if (one.name.empty() || one.line < 1)
            abort();
    sonde_python layout = python_layout(last_python);
    read_debug_offsets(bytes, layout);
    const MemoryFile memory(data, size);
    Result<ElfFile> file = ElfFile::open_any_machine(memory.path());
    if (!file)
        return 0;
    const Architecture* architecture = architecture_of(file->machine(), file->is_32_bit());
    const Result<std::optional<PythonInterpreter>> python = read_python(*file);
    if (!python || !*python || !architecture)
        return 0;
    const Result<std::vector<PythonPlace>> calls = python_calls(*file, *architecture, **python);
    const Result<std::vector<PythonPlace>> returns = python_returns(*file, *architecture, **python);
    return 0;
}
