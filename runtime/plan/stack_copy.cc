#include "runtime/plan/stack_copy.h"

#include <type_traits>

#include "base/byte_cursor.h"

namespace sonde::plan {
namespace {

constexpr uint64_t mark = 0x31796b6361747373; // identifies the format

void put(std::string& out, uint64_t number) { out.append(reinterpret_cast<const char*>(&number), sizeof number); }
void put(std::string& out, std::string_view text) {
    put(out, uint64_t{text.size()});
    out += text;
}
std::string text_of(ByteCursor& from) { return std::string(from.take_bytes(from.take<uint64_t>())); }

} // namespace

uint64_t StackCopy::read(uint64_t address, char* to, uint64_t size) const {
    uint64_t done = 0;
    auto next = std::ranges::upper_bound(memory, address, {}, &Memory::address);
    if (next != memory.begin())
        --next;
    for (; next != memory.end() && done < size; ++next) {
        const uint64_t skipped = address + done - next->address;
        if (skipped >= next->bytes.size()) // the memory is elsewhere
            break;
        const uint64_t part = std::min(size - done, next->bytes.size() - skipped);
        done += next->bytes.copy(to + done, part, skipped);
    }
    return done;
}

std::string StackCopy::encode() const {
    std::string out;
    put(out, mark);
    put(out, thread_pointer);
    put(out, uint64_t{frames.size()});
    for (const StackFrame& frame : frames) {
        put(out, frame.path);
        put(out, frame.address);
        put(out, uint64_t{frame.is_innermost});
        put(out, frame.known);
        for (const uint64_t value : frame.registers)
            put(out, value);
        put(out, frame.known_at_entry);
        for (const uint64_t value : frame.registers_at_entry)
            put(out, value);
    }
    put(out, uint64_t{memory.size()});
    for (const Memory& one : memory) {
        put(out, one.address);
        put(out, one.bytes);
    }
    return out;
}

Result<StackCopy> StackCopy::decode(std::string_view bytes) {
    ByteCursor from(bytes);
    StackCopy out;
    const bool is_copy = from.take<uint64_t>() == mark;
    out.thread_pointer = from.take<uint64_t>();
    for (auto rest = is_copy ? from.take<uint64_t>() : 0; rest && !from.failed(); rest--) {
        StackFrame& frame = out.frames.emplace_back();
        frame.path = text_of(from);
        frame.address = from.take<uint64_t>();
        frame.is_innermost = from.take<uint64_t>() != 0;
        frame.known = from.take<uint64_t>();
        for (uint64_t& value : frame.registers)
            value = from.take<uint64_t>();
        frame.known_at_entry = from.take<uint64_t>();
        for (uint64_t& value : frame.registers_at_entry)
            value = from.take<uint64_t>();
    }
    for (auto rest = is_copy ? from.take<uint64_t>() : 0; rest && !from.failed(); rest--) {
        const auto address = from.take<uint64_t>();
        out.memory.push_back({address, text_of(from)});
    }
    if (!is_copy || from.failed() || !from.empty())
        return Error("this is not a copy of a stack");
    return out;
}

} // namespace sonde::plan
