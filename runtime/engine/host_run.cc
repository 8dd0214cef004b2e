#include "runtime/engine/host_run.h"

#include <sys/mman.h>

#include <cstring>

#include "runtime/plan/stack.h"

namespace sonde {

char* FrameStack::push(uint64_t size) {
    // This reserves address space only. The kernel allocates a page when a frame uses it.
    constexpr size_t memory_bytes = 8 << 20;
    if (!memory_) {
        void* memory = mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return nullptr;
        memory_ = static_cast<char*>(memory);
        size_ = memory_bytes;
    }
    size = (size + 15) & ~uint64_t{15};
    if (size > size_ - top_)
        return nullptr;
    char* frame = memory_ + top_;
    std::memset(frame, 0, size);
    top_ += size;
    return frame;
}

void FrameStack::pop(char* frame) { top_ = static_cast<size_t>(frame - memory_); }

const RecordedEvent::Value* HostRun::recorded(std::string_view name) const {
    if (!event)
        return nullptr;
    const auto found = event->values.find(name);
    return found == event->values.end() ? nullptr : &found->second;
}

RecordedEvent::Stack HostRun::recorded_stack(bool of_kernel) const {
    const std::optional<RecordedEvent::Stack>* stack =
        event ? of_kernel ? &event->kernel_stack : &event->user_stack : nullptr;
    return stack && *stack ? **stack
                           : RecordedEvent::Stack{.process = 0, .state = SONDE_STACK_NO_PROCESS, .addresses = {}};
}

FrameStack::~FrameStack() {
    if (memory_)
        munmap(memory_, size_);
}

} // namespace sonde
