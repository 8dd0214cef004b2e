#include "driver/callers.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "arch/registers.h"
#include "base/fd.h"
#include "driver/rpc/child.h"
#include "frontend/dwarf/call_returns.h"
#include "frontend/dwarf/dwarf_module.h"
#include "frontend/dwarf/frames.h"
#include "runtime/plan/host_frames.h"

namespace sonde {
namespace {

static_assert(first_entry_register == host_entry_registers);

// The process writes a line for each variable, or one line for a frame without variables:
//
//     0 1 A argc v 2                     frame 0, function 1: the argument argc is 2
//     0 1 V sum w was optimized out      the variable sum has no value, and why
//     3 - there is no debug information  frame 3 has no variables, and why
constexpr double most_seconds = 60;
constexpr uint64_t most_output = 64 << 20;
constexpr size_t most_variables = 500; // of a function

std::string_view take_word(std::string_view& line) {
    const size_t end = std::min(line.find(' '), line.size());
    const std::string_view out = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return out;
}
size_t number_of(std::string_view word) {
    size_t out = SIZE_MAX;
    std::from_chars(word.data(), word.data() + word.size(), out);
    return out;
}

void read_line(std::string_view line, std::vector<FrameValues>& to) {
    const size_t frame = number_of(take_word(line));
    const std::string_view function = take_word(line);
    if (frame >= to.size())
        return;
    if (function == "-") {
        to[frame].none = line;
        return;
    }
    constexpr size_t most_functions = 1000;
    const size_t number = number_of(function);
    if (number >= most_functions)
        return;
    std::vector<std::vector<FrameValue>>& functions = to[frame].functions;
    functions.resize(std::max(functions.size(), number + 1));
    FrameValue& value = functions[number].emplace_back();
    value.is_argument = take_word(line) == "A";
    value.name = take_word(line);
    value.is_available = take_word(line) == "v";
    value.text = line;
}

} // namespace

std::vector<FrameValues> describe_frames(const plan::StackCopy& copy) {
    std::vector<FrameValues> out(copy.frames.size());
    const auto fail = [&](const std::string& why) {
        for (FrameValues& one : out)
            one = {.none = why};
        return std::move(out);
    };
    if (std::ranges::all_of(copy.frames, [](const plan::StackFrame& frame) { return frame.path.empty(); }))
        return out;
    Result<rpc::Child> child = rpc::Child::start({.words = {describes_frames},
                                                  .input = copy.encode(),
                                                  .output_bytes = most_output,
                                                  .seconds = {},
                                                  .startup_seconds = most_seconds});
    if (!child)
        return fail(child.error().message);
    while (child->advance()) {
        std::vector<pollfd> waits;
        for (const int fd : child->descriptors())
            waits.push_back({fd, POLLIN, 0});
        const auto left = child->wake_up() - rpc::Clock::now();
        poll(waits.data(), waits.size(),
             std::max(0, static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(left).count())));
    }
    const rpc::Outcome outcome = child->finish();
    std::string_view rest = outcome.output;
    for (size_t end = 0; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1))
        read_line(rest.substr(0, end), out);
    if (outcome.ended_by != rpc::EndedBy::Exit)
        return fail(fmt::format("reading the debug information took longer than {} s", most_seconds));
    if (outcome.status != 0 && std::ranges::all_of(out, [](const FrameValues& one) { return one.functions.empty(); })) {
        const std::string first = outcome.errors.substr(0, outcome.errors.find('\n'));
        return fail(fmt::format("sonde failed to read them: {}", first));
    }
    return out;
}

namespace {

// The bit of a register in StackFrame::known.
uint64_t bit_of(const RegisterFile& registers, int64_t number) {
    return uint64_t{1} << registers.offset(static_cast<int>(number)) / 8;
}

// The registers that a location uses: at the frame's address, and at the function's entry.
struct UsedRegisters {
    uint64_t now = 0, at_entry = 0; // as StackFrame::known

    void add(const RegisterFile& registers, const Location& location) {
        const auto is_saved = [&](int64_t number) { return number >= 0 && number < registers.count(); };
        if (location.kind == Location::Register && is_saved(location.reg))
            now |= bit_of(registers, location.reg);
        for (const LocationOp& op : location.ops)
            if (op.code == LocationOp::Register && is_saved(op.operand))
                now |= bit_of(registers, op.operand);
            else if (op.code == LocationOp::Register && is_saved(op.operand - first_entry_register))
                at_entry |= bit_of(registers, op.operand - first_entry_register);
        for (const Location::Piece& piece : location.pieces)
            add(registers, piece.place);
        if (location.pointee)
            add(registers, *location.pointee);
    }
};

// Evaluates locations in a frame of the copy, for the values of registers at calls. The script evaluates all others.
class Evaluation {
  public:
    Evaluation(const plan::StackCopy& copy, const plan::StackFrame& frame, const RegisterFile& registers)
        : copy_(copy), frame_(frame), registers_(registers) {}

    // Returns nothing if a register or memory is unknown, or for operations that values at calls do not need.
    std::optional<uint64_t> value(const Location& location) {
        if (location.kind == Location::Register)
            return register_at(location.reg);
        if (location.kind != Location::Value)
            return {};
        words_.clear();
        for (const LocationOp& op : location.ops)
            if (!apply(op))
                return {};
        return words_.empty() ? std::nullopt : std::optional(words_.back());
    }

  private:
    std::optional<uint64_t> register_at(int64_t number) const {
        const bool of_entry = number >= first_entry_register;
        number -= of_entry ? first_entry_register : 0;
        if (number < 0 || number >= registers_.count() ||
            !((of_entry ? frame_.known_at_entry : frame_.known) & bit_of(registers_, number)))
            return {};
        const uint32_t index = registers_.offset(static_cast<int>(number)) / 8;
        return of_entry ? frame_.registers_at_entry[index] : frame_.registers[index];
    }
    bool push(std::optional<uint64_t> word) {
        if (word)
            words_.push_back(*word);
        return word.has_value();
    }
    bool apply(const LocationOp& op) {
        switch (op.code) {
        case LocationOp::Constant:
            return push(static_cast<uint64_t>(op.operand));
        case LocationOp::Register:
            return push(register_at(op.operand));
        case LocationOp::Deref:
            return !words_.empty() && read(static_cast<uint64_t>(op.operand));
        default:
            return words_.size() >= 2 && combine(op.code);
        }
    }
    bool read(uint64_t size) {
        char bytes[sizeof(uint64_t)] = {};
        if (size > sizeof bytes || copy_.read(words_.back(), bytes, size) != size)
            return false;
        std::memcpy(&words_.back(), bytes, sizeof bytes);
        return true;
    }
    bool combine(LocationOp::Code code) {
        const uint64_t right = words_.back();
        words_.pop_back();
        uint64_t& left = words_.back();
        constexpr uint64_t bits = 64;
        switch (code) {
        case LocationOp::Add:
            left += right;
            return true;
        case LocationOp::Sub:
            left -= right;
            return true;
        case LocationOp::Mul:
            left *= right;
            return true;
        case LocationOp::And:
            left &= right;
            return true;
        case LocationOp::Or:
            left |= right;
            return true;
        case LocationOp::Shl:
            left = right < bits ? left << right : 0;
            return true;
        case LocationOp::Shr:
            left = right < bits ? left >> right : 0;
            return true;
        case LocationOp::Sar:
            left = static_cast<uint64_t>(static_cast<int64_t>(left) >> std::min(right, bits - 1));
            return true;
        default:
            return false;
        }
    }

    const plan::StackCopy& copy_;
    const plan::StackFrame& frame_;
    const RegisterFile& registers_;
    std::vector<uint64_t> words_;
};

// The text inside of a string literal.
std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text)
        out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return out;
}

// Writes the script for one copy.
class ScriptWriter {
  public:
    // Adds the registers at the entries of functions to the copy.
    explicit ScriptWriter(plan::StackCopy& copy) : copy_(copy) {}

    std::string write() && {
        // The values at a call can be those at the entry of the caller, so outer functions come first.
        for (size_t i = copy_.frames.size(); i-- > 1;)
            find_entry_registers(copy_.frames[i - 1], copy_.frames[i]);
        bool is_main = false; // what has called main() is not the user's, and debuggers do not show it
        for (size_t i = 0; i < copy_.frames.size() && !is_main; i++)
            if (!copy_.frames[i].path.empty())
                is_main = add_frame(i);
        return std::move(text_) + "probe begin(1000000) { exit() }\n";
    }

  private:
    static void tell_none(size_t frame, std::string_view why) { fmt::print("{} - {}\n", frame, why); }

    Result<DwarfModule*> module_of(const plan::StackFrame& frame) {
        if (const auto known = modules_.find(frame.path); known != modules_.end())
            return known->second.get();
        Result<std::unique_ptr<DwarfModule>> opened = DwarfModule::open(frame.path);
        if (!opened)
            return std::move(opened).error();
        (*opened)->call_returns().frames().accept_entry_values();
        return (modules_[frame.path] = *std::move(opened)).get();
    }

    void find_entry_registers(plan::StackFrame& frame, const plan::StackFrame& caller) {
        if (frame.path.empty() || caller.path.empty())
            return;
        const Result<DwarfModule*> own = module_of(frame), other = module_of(caller);
        if (!own || !other || !(*own)->has_debug_info() || !(*other)->has_debug_info())
            return;
        Frames& frames = (*own)->call_returns().frames();
        const std::vector<FunctionInstance> functions = frames.functions_at(frame.address);
        if (functions.empty() || !frames.is_only_called(functions.back()))
            return;
        const RegisterFile& registers = (*own)->file().architecture().registers();
        for (const CallValue& one :
             (*other)->call_returns().frames().values_at_call(caller.address + 1, functions.back(), *own == *other)) {
            const std::optional<uint64_t> value = Evaluation(copy_, caller, registers).value(one.value);
            if (!value || one.reg < 0 || one.reg >= registers.count())
                continue;
            frame.known_at_entry |= bit_of(registers, one.reg);
            frame.registers_at_entry[registers.offset(one.reg) / 8] = *value;
        }
    }

    // Returns whether this is the frame of main().
    bool add_frame(size_t number) {
        const plan::StackFrame& frame = copy_.frames[number];
        const Result<DwarfModule*> found = module_of(frame);
        if (!found)
            return tell_none(number, found.error().message), false;
        DwarfModule* const module = *found;
        if (!module->has_debug_info())
            return tell_none(number, "there is no debug information"), false;
        const std::vector<FunctionInstance> functions = module->call_returns().frames().functions_at(frame.address);
        if (functions.empty())
            return tell_none(number, "there is no debug information about this function"), false;
        // The handler prints the variables of the probed function.
        for (size_t i = frame.is_innermost; i < functions.size(); i++)
            add_function(*module, number, i, functions[i]);
        return functions.back().name == "main";
    }

    void add_function(DwarfModule& module, size_t number, size_t index, const FunctionInstance& function) {
        const plan::StackFrame& frame = copy_.frames[number];
        const std::optional<Statement> statement = module.statement_at(frame.address);
        const int line = index == 0 && statement ? statement->line : 0;
        std::string body;
        std::set<std::string> known;
        std::vector<Variable> variables = module.variables_in(function, frame.address);
        std::ranges::stable_sort(variables, {}, [](const Variable& one) { return one.is_parameter ? 0 : one.line; });
        for (const Variable& one : variables) {
            const bool is_word = std::ranges::all_of(one.name, [](unsigned char c) { return isalnum(c) || c == '_'; });
            if (one.is_result || one.is_global || one.name.empty() || !is_word || !known.insert(one.name).second)
                continue;
            body += known.size() > most_variables
                        ? missing(head_for(number, index, one), fmt::format("comes after {} others", most_variables))
                        : statement_for(module, function, number, index, one, line);
        }
        text_ += fmt::format("probe __frame(\"{}\").address({:#x}).function({}).number({})\n{{\n{}}}\n",
                             escaped(frame.path), frame.address, index, number, body);
    }

    static std::string head_for(size_t number, size_t index, const Variable& variable) {
        return fmt::format("{} {} {} {}", number, index, variable.is_parameter ? 'A' : 'V', variable.name);
    }
    static std::string missing(const std::string& head, const std::string& why) {
        return fmt::format("    println(\"{} w {}\")\n", head, escaped(why));
    }

    // Returns the statement that prints the variable.
    std::string statement_for(DwarfModule& module, const FunctionInstance& function, size_t number, size_t index,
                              const Variable& variable, int line) {
        const std::string head = head_for(number, index, variable);
        const plan::StackFrame& frame = copy_.frames[number];
        const Location location = variable.is_parameter
                                      ? module.parameter_locations().inside(function, variable, frame.address)
                                      : module.locate(variable, frame.address);
        if (!variable.is_parameter && line > 0 && variable.line > line)
            return missing(head, "is declared later");
        if (location.kind == Location::Unavailable && !location.pointee)
            return missing(head, location.why);
        UsedRegisters used;
        const RegisterFile& registers = module.file().architecture().registers();
        used.add(registers, location);
        uint64_t known = frame.known;
        if (function.is_go && !frame.is_innermost) // Go's functions preserve no other registers
            known &= bit_of(registers, registers.stack_pointer) | bit_of(registers, registers.frame_pointer) |
                     bit_of(registers, registers.instruction_pointer);
        if (used.now & ~known)
            return missing(head, "was in a register that a called function may have changed");
        if (used.at_entry & ~frame.known_at_entry)
            return missing(head,
                           "was in a register when the function was entered, and the caller does not have the value");
        return fmt::format(
            "    try {{ printf(\"{0} v %s\\n\", @defined(${1}$) ? ${1}$ : \"?\") }} catch {{ println(\"{0} v ?\") }}\n",
            head, variable.name);
    }

    plan::StackCopy& copy_;
    std::map<std::string, std::unique_ptr<DwarfModule>> modules_; // by path
    std::string text_;
};

} // namespace

Result<FrameScript> write_frame_script() {
    Result<std::string> bytes = read_all(STDIN_FILENO, "the copy of a stack");
    if (!bytes)
        return std::move(bytes).error();
    Result<plan::StackCopy> copy = plan::StackCopy::decode(*bytes);
    if (!copy)
        return std::move(copy).error();
    FrameScript out;
    out.copy = *std::move(copy);
    std::string script = ScriptWriter(out.copy).write();
    std::fflush(stdout);
    out.words = {"sonde", "--no-cache", "-w", "-e", std::move(script)};
    return out;
}

} // namespace sonde
