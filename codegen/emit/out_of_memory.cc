#include "codegen/emit/out_of_memory.h"

#include <unistd.h>

#include <string_view>

#include <llvm/Support/ErrorHandling.h>

namespace sonde {
namespace {

// Must not allocate memory.
[[noreturn]] void end_process() {
    constexpr std::string_view message = "sonde: out of memory\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message.data(), message.size());
    _exit(1);
}

} // namespace

EndsWithoutMemory::EndsWithoutMemory() : before_(std::set_new_handler(end_process)) {
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { end_process(); });
}

EndsWithoutMemory::~EndsWithoutMemory() {
    llvm::remove_bad_alloc_error_handler();
    std::set_new_handler(before_);
}

} // namespace sonde
