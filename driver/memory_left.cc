#include "driver/memory_left.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <exception>
#include <new>
#include <string_view>

#include <fmt/format.h>

namespace sonde {

Result<void> check_memory() {
    // A private writable mapping counts toward `ulimit -v` and the kernel's limit of committed memory, even if nobody
    // touches its pages.
    constexpr size_t least = size_t(40) << 20; // a session with one uprobe allocates 43 MB
    void* const memory = mmap(nullptr, least, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return Error(fmt::format("out of memory: a session needs {} MB (see `ulimit -v`)", least >> 20));
    munmap(memory, least);
    // 2 MB is the stack of a thread if the main thread's limit is infinite, and sonde's threads work with that size.
    constexpr rlim_t least_stack = 2 << 20;
    rlimit stack{};
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < least_stack)
        return Error(fmt::format("sonde needs a stack of {} KB, and its limit is {} KB: `ulimit -s {}` sets it",
                                 least_stack >> 10, stack.rlim_cur >> 10, 8 << 10));
    return {};
}

void explain_terminate() {
    static const std::terminate_handler otherwise = std::get_terminate();
    std::set_terminate([] {
        try {
            if (std::current_exception())
                throw;
        } catch (const std::bad_alloc&) {
            constexpr std::string_view message = "sonde: out of memory\n";
            [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message.data(), message.size());
            _exit(1);
        } catch (...) {
            otherwise();
        }
        otherwise();
    });
}

} // namespace sonde
