// Formats values as printf does in the script's language (language reference, "Formatted output").
//
// A handler in the kernel sends numbers, strings and addresses, and this file makes the text. So the kernel's side
// stays short, and formats can use everything that the runtime knows, such as names of functions. sprintf() in a
// handler needs the text at once, and codegen/rtlib/format.c makes it. Both must give the same result.
//
// Texts that a traced program controls may contain escape sequences. If the output is a terminal, these are made
// visible (`shown`). The script's own literals are printed as they are.
#include "runtime/values/format.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/terminal_text.h"
#include "runtime/plan/stack.h"
#include "runtime/plan/stack_copy.h"
#include "runtime/symbols/frame_values.h"
#include "runtime/symbols/frames.h"
#include "runtime/symbols/no_stacks.h"
#include "runtime/symbols/symbolizer.h"
#include "runtime/values/histogram.h"
#include "runtime/values/printed_values.h"
#include "runtime/values/shown_value.h"

namespace sonde {
namespace {

using plan::Directive;

// Pads a text with spaces to `width` bytes, at the right if the flag is `-`.
std::string padded(std::string text, char flag, int64_t width) {
    size_t wanted = width > 0 ? static_cast<size_t>(std::min<int64_t>(width, 1 << 16)) : 0;
    if (text.size() >= wanted)
        return text;
    return flag == '-' ? text + std::string(wanted - text.size(), ' ') : std::string(wanted - text.size(), ' ') + text;
}

// Formats an integer as the kernel's vsprintf() does. It differs from printf(3): `%#x` prints `0x` before 0 too, and
// the flag `0` applies even if a precision is given.
std::string integer(const Directive& d, int64_t value, int64_t width, int64_t precision) {
    constexpr int64_t longest = 1 << 16; // bytes of a field: limits the damage of a wrong width
    char conversion = d.conversion == 'p' ? 'x' : d.conversion;
    bool is_signed = conversion == 'd' || conversion == 'i', upper = conversion == 'X';
    auto bits = static_cast<uint64_t>(value);
    uint64_t magnitude = is_signed && value < 0 ? 0 - bits : bits;
    bool alternative = d.flag == '#' || d.conversion == 'p';
    std::string prefix, digits;
    if (conversion == 'o') {
        digits = fmt::format("{:o}", magnitude);
        prefix = alternative ? "0" : "";
    } else if (conversion == 'x' || upper) {
        digits = upper ? fmt::format("{:X}", magnitude) : fmt::format("{:x}", magnitude);
        prefix = !alternative ? "" : upper ? "0X" : "0x";
    } else {
        digits = std::to_string(magnitude);
    }
    if (is_signed)
        prefix = value < 0 ? "-" : d.flag == '+' ? "+" : d.flag == ' ' ? " " : "";
    auto zeros = [&](int64_t wanted) {
        wanted = std::min(wanted, longest) - static_cast<int64_t>(digits.size());
        if (wanted > 0)
            digits.insert(0, static_cast<size_t>(wanted), '0');
    };
    zeros(precision);
    if (d.flag == '0')
        zeros(width - static_cast<int64_t>(prefix.size()));
    return padded(prefix + digits, d.flag, std::min(width, longest));
}

// `%#c` prints a character that is not printable as an escape sequence.
std::string character(const Directive& d, int64_t value) {
    auto c = static_cast<unsigned char>(value);
    if (d.flag != '#')
        return std::string(1, static_cast<char>(c));
    static const std::string from = "\n\t\r\a\b\v\f'\\", to = "ntrabvf'\\";
    if (size_t at = from.find(static_cast<char>(c)); at != std::string::npos)
        return std::string("\\") + to[at];
    return c >= 0x20 && c < 0x7f ? std::string(1, static_cast<char>(c)) : fmt::format("\\{:03o}", c);
}

constexpr const char* no_async_function = " (no async function of Rust is on the user stack)\n";

std::string at_place(const std::string& place) { return place.empty() ? "" : " at " + place; }

// Returns the line for an address in the function that contains it. `place` is the source line, or "".
std::string render_function(Symbolizer& symbols, uint64_t process, uint64_t address, plan::StackStyle style,
                            uint64_t behind, const std::string& place) {
    if (style == plan::BriefStack)
        return symbols.text(process, address, SONDE_SYMBOL_BRIEF | behind) + "\n";
    // The text of an address without a name begins with the address.
    std::string line = symbols.text(process, address, SONDE_SYMBOL_DATA | behind);
    return (line.starts_with("0x") || sonde_is_interpreted_frame(address) ? " " : fmt::format(" {:#x} : ", address)) +
           line + at_place(place) + "\n";
}

// Each line begins with a blank, as in other stacks.
std::string render_async(const std::string& lines) {
    std::string out;
    for (size_t begin = 0, end = 0; (end = lines.find('\n', begin)) != std::string::npos; begin = end + 1)
        out += " " + lines.substr(begin, end + 1 - begin);
    return out;
}

// Returns the lines for an address: first those of inlined functions, innermost first, then that of the function that
// contains the address. For a return address, the source line is that of the call.
std::string render_address(Symbolizer& symbols, uint64_t process, uint64_t address, plan::StackStyle style,
                           bool behind_call) {
    std::string out;
    if (style == plan::AsyncStack)
        return render_async(symbols.text(process, address, SONDE_SYMBOL_ASYNC | (behind_call ? SONDE_BEHIND_CALL : 0)));
    if (sonde_is_interpreted_frame(address))
        return render_function(symbols, process, address, style, 0, "");
    for (const FramePlace& place : places_at(symbols, process, address - behind_call, plan::has_lines(style)))
        if (place.inlined.empty())
            out += render_function(symbols, process, address, style, behind_call ? SONDE_BEHIND_CALL : 0, place.source);
        else if (style == plan::BriefStack)
            out += fmt::format("{} (inlined)\n", place.inlined);
        else
            out += fmt::format(" {:#x} : {} (inlined) [{}]{}\n", address, place.inlined,
                               symbols.text(process, address, SONDE_SYMBOL_PATH), at_place(place.source));
    return out;
}

// Like render_address(), but with a cache. Kernel addresses are not cached, because modules may be unloaded and loaded.
void add_address(std::string& out, Symbolizer& symbols, uint64_t process, uint64_t address, plan::StackStyle style,
                 bool behind_call) {
    auto make = [&] { return render_address(symbols, process, address, style, behind_call); };
    if (static_cast<int64_t>(address) < 0)
        out += make();
    else
        out += symbols.rendered().line(process, address, static_cast<uint64_t>(style) * 2 + behind_call, make);
}

// Inserts the arguments behind the name of a function: "total(count=3)+0x49/0x77 [/src/orders]".
std::string with_arguments(std::string line, const std::string& arguments) {
    const size_t end = std::min(line.find("+0x"), line.find(" (inlined)"));
    if (!arguments.empty() && end != std::string::npos)
        line.insert(end, arguments);
    return line;
}

// Returns the lines for an address in the stack of a visited thread. Their arguments differ, so they are not cached.
std::string render_frame(Symbolizer& symbols, uint64_t process, const VisitedFrame& frame, bool behind_call) {
    std::string out;
    const std::vector<std::string>& arguments = frame.arguments;
    const std::string lines = render_address(symbols, process, frame.address, plan::StackWithLines, behind_call);
    size_t begin = 0;
    for (size_t i = 0; begin < lines.size(); i++) {
        const size_t end = lines.find('\n', begin) + 1;
        out += with_arguments(lines.substr(begin, end - begin), i < arguments.size() ? arguments[i] : "");
        begin = end;
    }
    return out;
}

// How an incomplete stack ends.
std::string render_end(Symbolizer& symbols, uint64_t process, uint64_t state, uint64_t last) {
    if (state == SONDE_STACK_CUT)
        return fmt::format(" ... more callers follow: use -DMAXBACKTRACE={}\n", int{SONDE_STACK_MOST});
    if (state == SONDE_STACK_EARLY)
        return " ... callers may be missing: sonde had not read, or could not read, unwinding tables\n";
    if (state == SONDE_STACK_GUESSED)
        return " ... callers may be missing: code without an unwinding table may not use frame pointers\n";
    if (state == SONDE_STACK_LOST && last)
        return fmt::format(" ... more callers follow: sonde cannot unwind {}\n",
                           symbols.text(process, last, SONDE_SYMBOL_OFFSET));
    return "";
}

std::string render_visited(Symbolizer& symbols, const PrintedValue& visited, plan::StackStyle style) {
    if (visited.words.empty()) // the record was cut
        return "";
    const VisitedStack stack =
        symbols.visited_stack(visited.process, visited.words[0], visited.most, plan::has_lines(style));
    if (!stack.none.empty())
        return fmt::format(" (no user stack: {})\n", stack.none);
    std::string out;
    if (plan::has_lines(style) && !stack.doing.empty())
        out = fmt::format(" {}\n", stack.doing);
    for (size_t i = 0; i < stack.frames.size(); i++)
        if (plan::has_lines(style))
            out += render_frame(symbols, stack.process, stack.frames[i], i > 0);
        else
            add_address(out, symbols, stack.process, stack.frames[i].address, style, i > 0);
    if (style == plan::AsyncStack && out.empty())
        out = no_async_function;
    return out +
           render_end(symbols, stack.process, stack.state, stack.frames.empty() ? 0 : stack.frames.back().address);
}

// A line for each variable of a caller: "   count = 3".
std::string render_values(const std::vector<FrameValue>& values) {
    std::string out;
    for (const FrameValue& one : values)
        out += one.is_available ? fmt::format("   {} = {}\n", one.name, one.text)
                                : fmt::format("   {} = not available here: it {}\n", one.name, one.text);
    return out;
}

// Whether a value has a part that was not copied.
bool has_unknown_part(const CallerValues& values) {
    for (const FrameValues& frame : values.frames)
        for (const std::vector<FrameValue>& function : frame.functions)
            for (const FrameValue& one : function)
                if (one.is_available && one.text.find('?') != std::string::npos)
                    return true;
    return false;
}

// Why callers have no variables, a line for each reason.
std::string render_reasons(Symbolizer& symbols, const PrintedValue& stack, const CallerValues& values) {
    std::vector<std::pair<std::string, std::vector<std::string>>> all; // reasons, with the names of functions
    for (size_t i = 1; i < std::min(values.frames.size(), stack.words.size()); i++) {
        const std::string& why = values.frames[i].none;
        if (why.empty())
            continue;
        auto known = std::ranges::find(all, why, &decltype(all)::value_type::first);
        if (known == all.end())
            known = all.insert(known, {why, {}});
        const std::string name = symbols.text(stack.process, stack.words[i], SONDE_SYMBOL_NAME | SONDE_BEHIND_CALL);
        if (std::ranges::find(known->second, name) == known->second.end())
            known->second.push_back(name);
    }
    std::string out;
    for (const auto& [why, names] : all)
        out += fmt::format(" (no variables of {}: {})\n", fmt::join(names, ", "), why);
    if (!values.none.empty())
        out += fmt::format(" (no variables of callers: {})\n", values.none);
    if (values.is_cut && has_unknown_part(values))
        out += " (some memory was not copied, because the copy was full: `?` stands for values there)\n";
    return out;
}

// The stack with the variables of each caller. Those of the probed function are not a part of it.
std::string render_with_values(Symbolizer& symbols, const PrintedValue& stack) {
    const CallerValues values = caller_values(symbols, stack.process, stack.words);
    std::string out;
    for (size_t i = 0; i < stack.words.size(); i++) {
        std::string lines;
        add_address(lines, symbols, stack.process, stack.words[i], plan::StackWithLines, i > 0);
        size_t begin = 0;
        for (size_t function = 0; begin < lines.size(); function++) {
            const size_t end = lines.find('\n', begin) + 1;
            out.append(lines, begin, end - begin);
            if (i < values.frames.size() && function < values.frames[i].functions.size())
                out += render_values(values.frames[i].functions[function]);
            begin = end;
        }
    }
    return out + render_reasons(symbols, stack, values);
}

// A stack that is incomplete ends with the reason, because it otherwise looks like a complete one.
std::string render_stack(Symbolizer& symbols, const PrintedValue& stack, plan::StackStyle style) {
    std::string out;
    if (stack.state == SONDE_STACK_VISITED)
        return render_visited(symbols, stack, style);
    if (stack.state == SONDE_STACK_NO_PYTHON)
        return fmt::format(" (no Python stack: {})\n", why_no_stack(stack.state));
    if (stack.state >= SONDE_STACK_NONE)
        return fmt::format(" (no user stack: {})\n", why_no_stack(stack.state));
    if (style == plan::StackWithValues)
        out = render_with_values(symbols, stack);
    else
        for (size_t i = 0; i < stack.words.size(); i++)
            add_address(out, symbols, stack.process, stack.words[i], style, i > 0);
    if (style == plan::AsyncStack && out.empty())
        out = no_async_function;
    return out + render_end(symbols, stack.process, stack.state, stack.words.empty() ? 0 : stack.words.back());
}

// Returns a line for each address in a string of the script. Unlike in a stack, an address is not a return address, and
// inlined functions are not shown.
std::string render_addresses(Symbolizer& symbols, uint64_t process, const std::string& text, plan::StackStyle style) {
    std::string out;
    if (process == 0)
        process = symbols.process_of_stack(text);
    for (const uint64_t address : addresses_in(text)) {
        auto make = [&] {
            return render_function(symbols, process, address, style, 0,
                                   plan::has_lines(style) ? symbols.source(process, address) : "");
        };
        constexpr uint64_t alone = 1 << 8; // a bit of the cache's key: the line has no inlined functions
        if (static_cast<int64_t>(address) < 0)
            out += make();
        else
            out += symbols.rendered().line(process, address, static_cast<uint64_t>(style) | alone, make);
    }
    return out;
}

} // namespace

std::string render_print(const plan::Format& format, std::span<const uint8_t> bytes, Symbolizer* symbols,
                         bool for_terminal) {
    auto shown = [&](const std::string& text) { return for_terminal ? terminal_text(text) : text; };
    std::string out;
    read_values(format, bytes, [&](PrintedValue& value) {
        const Directive& d = *value.directive;
        if (d.about != plan::About::Script)
            return;
        switch (d.kind) {
        case Directive::Literal:
            out += d.text;
            break;
        case Directive::Integer:
            out += integer(d, value.number, value.width, value.precision);
            break;
        case Directive::Char:
            out += padded(d.conversion == 'C' ? character(d, value.number) : shown(character(d, value.number)), d.flag,
                          value.width);
            break;
        case Directive::String:
            if (d.conversion == 'v' && d.flag == '#')
                break;
            if (d.conversion == 'v')
                value.text = unquoted_value(std::move(value.text));
            if (value.precision >= 0 && value.text.size() > static_cast<size_t>(value.precision))
                value.text.resize(static_cast<size_t>(value.precision));
            out += padded(d.conversion == 'S' ? std::move(value.text) : shown(value.text), d.flag, value.width);
            if (d.flag == '0')
                out += '\0';
            break;
        case Directive::Binary: {
            const size_t size = plan::binary_size(value.width, value.precision);
            std::string text(reinterpret_cast<const char*>(&value.number), size);
            if (const auto field = static_cast<size_t>(std::clamp<int64_t>(value.width, 0, 1 << 16)); field > size)
                text.insert(d.flag == '-' ? size : 0, field - size, '\0');
            out += shown(text);
            break;
        }
        case Directive::Memory: {
            std::string text;
            for (char byte : value.text)
                text += d.conversion == 'M' ? fmt::format("{:02x}", static_cast<uint8_t>(byte)) : std::string(1, byte);
            out += padded(shown(text), d.flag, value.width);
            break;
        }
        case Directive::Histogram:
            out += render_histogram(d.stats, value.words.data());
            break;
        case Directive::Stack:
            if (symbols)
                out += shown(render_stack(*symbols, value, static_cast<plan::StackStyle>(d.conversion)));
            break;
        case Directive::Addresses:
            if (symbols)
                out += shown(
                    render_addresses(*symbols, value.process, value.text, static_cast<plan::StackStyle>(d.conversion)));
            break;
        }
    });
    return out;
}

} // namespace sonde
