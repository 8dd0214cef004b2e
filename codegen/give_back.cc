// Frees memory after translation.
//
// LLVM consists of many megabytes of code and tables, and a translation fills the heap. The session needs nothing of
// this. malloc_trim() returns free heap memory. The code's pages belong to a file, so madvise(MADV_DONTNEED) may drop
// them, and the kernel reads them again on the next use.
//
// What would break this: dropping a page that was changed in memory, such as a page with a breakpoint of a debugger or
// of another tracer. The kernel would read the unchanged page from the file, and the breakpoint would be gone. So a
// segment is dropped only if all of its pages are unchanged (is_as_in_file()).
#include "codegen/give_back.h"

#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <llvm/Support/TargetSelect.h>

#include "base/fd.h"

namespace sonde {
namespace {

// Whether all present pages are unchanged copies of the file. Dropping a changed page would lose the change, for
// example another tracer's breakpoint. The bits are described in Documentation/admin-guide/mm/pagemap.rst.
bool is_as_in_file(uint64_t begin, uint64_t end, uint64_t page) {
    constexpr uint64_t present = 1ull << 63, swapped = 1ull << 62, of_file = 1ull << 61;
    Result<Fd> map = open_file("/proc/self/pagemap", O_RDONLY);
    if (!map)
        return false;
    std::vector<uint64_t> words((end - begin) / page);
    const size_t bytes = words.size() * sizeof(uint64_t);
    const ssize_t got = pread(map->get(), words.data(), bytes, static_cast<off_t>(begin / page * sizeof(uint64_t)));
    return got == static_cast<ssize_t>(bytes) && std::ranges::none_of(words, [](uint64_t word) {
               return (word & swapped) || ((word & present) && !(word & of_file));
           });
}

int drop_pages_of_llvm(dl_phdr_info* file, size_t, void*) {
    const auto llvm = reinterpret_cast<uint64_t>(&LLVMInitializeBPFTarget);
    const auto segments = std::span(file->dlpi_phdr, file->dlpi_phnum);
    const auto has_llvm = [&](const ElfW(Phdr) & segment) {
        const uint64_t begin = file->dlpi_addr + segment.p_vaddr;
        return segment.p_type == PT_LOAD && llvm >= begin && llvm < begin + segment.p_memsz;
    };
    if (std::ranges::none_of(segments, has_llvm))
        return 0;
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    for (const ElfW(Phdr) & segment : segments) {
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W))
            continue;
        const uint64_t begin = (file->dlpi_addr + segment.p_vaddr + page - 1) & ~(page - 1);
        const uint64_t end = (file->dlpi_addr + segment.p_vaddr + segment.p_memsz) & ~(page - 1);
        if (begin < end && is_as_in_file(begin, end, page))
            madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
    }
    return 1;
}

} // namespace

void give_memory_back() {
    malloc_trim(0);
    dl_iterate_phdr(drop_pages_of_llvm, nullptr);
}

} // namespace sonde
