#include "languages/python/places.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "languages/python/layouts.h"

namespace sonde {
namespace {

constexpr size_t most_bytes = 512; // of a handler that are followed

class Follower {
  public:
    Follower(const Architecture& architecture, const sonde_python& layout)
        : architecture_(architecture), layout_(layout) {}

    // Follows the code at an address. Returns the place, or nullopt if the frame or the result is not found.
    std::optional<PythonPlace> follow(std::string_view code, uint64_t address, bool with_result) {
        std::set<int> frames, results;
        int thread = -1;
        int compares_tools = 0; // so many of the next instructions compare `code_tools`
        for (size_t at = 0; at < code.size();) {
            const std::optional<AnalyzedInstruction> one = architecture_.analyze(code.substr(at));
            if (!one)
                return std::nullopt;
            const bool is_ready = !frames.empty() && (!with_result || !results.empty());
            if (is_ready && is_cheap(code.substr(at))) {
                PythonPlace place{.address = address + at, .frame = *frames.begin()};
                if (with_result)
                    place.result = *results.begin();
                else if (compares_tools == 0)
                    place.thread = thread;
                else if (one->instruction.flow == Flow::ConditionalJump)
                    place.settled = one->instruction.condition & ~1; // of a pair, the even one is "equal"
                return place;
            }
            if (one->instruction.ends_flow() || one->instruction.is_call())
                return std::nullopt;
            step(*one, with_result, frames, results);
            follow_thread(*one, thread);
            // The member is compared directly, or loaded just before the comparison.
            if (is_member(one->instruction.memory, layout_.code_tools))
                compares_tools = 2;
            else if (compares_tools > 0)
                compares_tools--;
            at += one->instruction.length;
        }
        return std::nullopt;
    }

  private:
    bool is_cheap(std::string_view code) const {
        return !architecture_.is_single_stepped(code) && architecture_.hazard(code) == Hazard::None;
    }

    void step(const AnalyzedInstruction& one, bool with_result, std::set<int>& frames, std::set<int>& results) const {
        const Effect& effect = one.effect;
        const MemoryOperand& memory = one.instruction.memory;
        const int stack_pointer = architecture_.registers().stack_pointer;
        const bool is_store = effect.kind == Effect::Store && effect.size == 8 && !memory.has_index;
        if (is_store && memory.base != stack_pointer && memory.displacement == layout_.frame_instr && frames.empty())
            frames.insert(memory.base);
        if (effect.kind == Effect::Copy && effect.whole && effect.added == 0) {
            copy(frames, effect);
            copy(results, effect);
            return;
        }
        forget(frames, effect);
        forget(results, effect);
        const bool is_load = one.instruction.operation == Operation::Load && memory.exists && !memory.has_index;
        if (with_result && results.empty() && is_load && memory.displacement == -8 && memory.base != stack_pointer)
            results.insert(one.instruction.to);
    }

    static bool is_member(const MemoryOperand& memory, unsigned offset) {
        return offset != 0 && memory.exists && !memory.has_index && memory.displacement == offset;
    }
    // `thread_tracing` is loaded, or compared in memory. The base of this operand is the thread.
    void follow_thread(const AnalyzedInstruction& one, int& thread) const {
        const Effect& effect = one.effect;
        if (thread >= 0 && (effect.to == thread || (effect.changes >> static_cast<unsigned>(thread) & 1)))
            thread = -1;
        const bool is_load = one.instruction.operation == Operation::Load;
        if (effect.kind != Effect::Store && is_member(one.instruction.memory, layout_.thread_tracing) &&
            !(is_load && one.instruction.memory.base == one.instruction.to))
            thread = one.instruction.memory.base;
    }

    static void copy(std::set<int>& registers, const Effect& effect) {
        if (registers.contains(effect.from))
            registers.insert(effect.to);
        else
            registers.erase(effect.to);
    }
    static void forget(std::set<int>& registers, const Effect& effect) {
        std::erase_if(registers, [&](int one) {
            return one == effect.to || ((effect.changes | effect.may_change) >> static_cast<unsigned>(one) & 1);
        });
    }

    const Architecture& architecture_;
    const sonde_python& layout_;
};

std::string code_at(const ElfFile& file, uint64_t address, size_t size) {
    std::string code(size, '\0');
    const std::optional<uint64_t> offset = file.file_offset(address);
    const ssize_t got = offset ? pread(file.fd(), code.data(), code.size(), static_cast<off_t>(*offset)) : 0;
    code.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return code;
}

Result<std::vector<PythonPlace>> places(const ElfFile& file, const Architecture& architecture,
                                        const PythonInterpreter& python,
                                        const std::vector<std::pair<unsigned, bool>>& wanted) {
    std::vector<PythonPlace> out;
    const std::string context = fmt::format("cannot probe Python functions in `{}`", file.path());
    if (python.handlers.empty())
        return Error("the table of its instructions was not found").in(context);
    for (auto [opcode, with_result] : wanted) {
        if (opcode == 0)
            continue;
        const uint64_t address = python.handlers[opcode];
        const std::string code = code_at(file, address, most_bytes);
        std::optional<PythonPlace> place = Follower(architecture, python.layout).follow(code, address, with_result);
        if (!place)
            return Error(fmt::format("the code of the bytecode instruction {} at {:#x} has an unknown form", opcode,
                                     address))
                .in(context);
        place->opcode = opcode;
        out.push_back(*place);
    }
    return out;
}

// Whether the code contains a direct call of one of the targets.
bool has_call(const Architecture& architecture, std::string_view code, uint64_t address,
              std::span<const uint64_t> targets) {
    for (size_t at = 0; at < code.size();) {
        const std::optional<AnalyzedInstruction> one = architecture.analyze(code.substr(at));
        if (!one)
            return false;
        at += one->instruction.length;
        if (one->instruction.flow == Flow::Call &&
            std::ranges::find(targets, one->instruction.target(address + at)) != targets.end())
            return true;
    }
    return false;
}

} // namespace

Result<std::vector<PythonPlace>> python_calls(const ElfFile& file, const Architecture& architecture,
                                              const PythonInterpreter& python) {
    if (python.layout.version < 11) {
        // The frame is the loop's second argument, before 3.9 the first one.
        const std::span<const int> arguments = architecture.registers().arguments;
        return std::vector<PythonPlace>{
            {.address = python.loop_entry, .frame = arguments[python.layout.version == 8 ? 0 : 1]}};
    }
    const PythonOpcodes codes = python_opcodes(python.layout.version);
    Result<std::vector<PythonPlace>> out = places(
        file, architecture, python, {{codes.resume, false}, {codes.resume_quick, false}, {codes.resume_traced, false}});
    if (out && python.layout.version == 11)
        (*out)[0].also = codes.resume_quick;
    return out;
}

Result<std::vector<PythonPlace>> python_returns(const ElfFile& file, const Architecture& architecture,
                                                const PythonInterpreter& python) {
    if (python.layout.version < 11)
        return std::vector<PythonPlace>();
    const PythonOpcodes codes = python_opcodes(python.layout.version);
    return places(file, architecture, python,
                  {{codes.return_value, true},
                   {codes.return_constant, false},
                   {codes.return_value_traced, true},
                   {codes.return_constant_traced, false}});
}

Result<std::vector<PythonPlace>> python_exceptions(const ElfFile& file, const Architecture& architecture,
                                                   const PythonInterpreter& python, std::span<const uint64_t> stubs) {
    const std::string context = fmt::format("cannot probe exceptions of Python in `{}`", file.path());
    if (!python.note_exception)
        return Error("it does not export PyTraceBack_Here()").in(context);
    std::vector<uint64_t> targets(stubs.begin(), stubs.end());
    targets.push_back(python.note_exception);
    if (std::ranges::none_of(python.loop, [&](const auto& part) {
            const std::string code = code_at(file, part.first, part.second - part.first);
            return has_call(architecture, code, part.first, targets);
        }))
        return Error("the interpreter's loop does not call PyTraceBack_Here()").in(context);
    // The argument is a frame object (python_exception_layout()).
    return std::vector<PythonPlace>{{.address = python.note_exception, .frame = architecture.registers().arguments[0]}};
}

} // namespace sonde
