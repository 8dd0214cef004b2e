// printf as documented in the language reference, "Formatted output".
#include "runtime/format.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "base/terminal_text.h"
#include "runtime/histogram.h"
#include "runtime/symbols/no_stacks.h"
#include "runtime/symbols/stack.h"
#include "runtime/symbols/symbols.h"

namespace sonde {
namespace {

using plan::Directive;

size_t count_longs(const plan::Format& format) {
    size_t count = 0;
    for (const Directive& d : format.directives) {
        count += static_cast<size_t>(d.width_is_arg) + d.precision_is_arg;
        count += d.kind == Directive::Stack ? 3 : d.kind == Directive::Addresses;
        count += d.kind == Directive::Integer || d.kind == Directive::Char || d.kind == Directive::Binary;
    }
    return count;
}

class Payload {
  public:
    Payload(std::span<const uint8_t> bytes, size_t longs)
        : longs_(bytes.subspan(0, std::min(bytes.size(), longs * 8))), rest_(bytes.subspan(longs_.size())) {}

    int64_t number() {
        int64_t value = 0;
        if (longs_.size() >= sizeof value) {
            std::memcpy(&value, longs_.data(), sizeof value);
            longs_ = longs_.subspan(sizeof value);
        }
        return value;
    }
    std::string string() {
        auto end = std::find(rest_.begin(), rest_.end(), 0);
        std::string text(rest_.begin(), end);
        rest_ = rest_.subspan(std::min(rest_.size(), text.size() + 1));
        return text;
    }
    std::span<const uint8_t> block(size_t size) {
        auto out = rest_.subspan(0, std::min(size, rest_.size()));
        rest_ = rest_.subspan(out.size());
        return out;
    }

  private:
    std::span<const uint8_t> longs_, rest_;
};

std::string padded(std::string text, char flag, int64_t width) {
    size_t wanted = width > 0 ? static_cast<size_t>(std::min<int64_t>(width, 1 << 16)) : 0;
    if (text.size() >= wanted)
        return text;
    return flag == '-' ? text + std::string(wanted - text.size(), ' ') : std::string(wanted - text.size(), ' ') + text;
}

// A conversion as the kernel's vsprintf does it: at least one digit, `0x` before 0 too, and the flag 0 fills up to the
// width whatever the precision.
std::string integer(const Directive& d, int64_t value, int64_t width, int64_t precision) {
    constexpr int64_t longest = 1 << 16; // a field of a mistaken width is cut
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

std::string character(const Directive& d, int64_t value) {
    auto c = static_cast<unsigned char>(value);
    if (d.flag != '#')
        return std::string(1, static_cast<char>(c));
    static const std::string from = "\n\t\r\a\b\v\f'\\", to = "ntrabvf'\\";
    if (size_t at = from.find(static_cast<char>(c)); at != std::string::npos)
        return std::string("\\") + to[at];
    return c >= 0x20 && c < 0x7f ? std::string(1, static_cast<char>(c)) : fmt::format("\\{:03o}", c);
}

std::string at_place(const std::string& place) { return place.empty() ? "" : " at " + place; }

// A line for an address, of a function that the program has; `place`: in the source, or "".
std::string render_function(Symbols& symbols, uint64_t process, uint64_t address, plan::StackStyle style,
                            uint64_t behind, const std::string& place) {
    if (style == plan::BriefStack)
        return symbols.text(process, address, SONDE_SYMBOL_BRIEF | behind) + "\n";
    // What has no name begins with the address already.
    std::string line = symbols.text(process, address, SONDE_SYMBOL_DATA | behind);
    return (line.starts_with("0x") ? " " : fmt::format(" {:#x} : ", address)) + line + at_place(place) + "\n";
}

// A stack's lines for an address: one for each inlined function, innermost first, then that of the function whose code
// it is. After a call it is the call that stands in the source; what a function has inlined, it calls where that was.
std::string render_address(Symbols& symbols, uint64_t process, uint64_t address, plan::StackStyle style,
                           bool behind_call) {
    const bool lines = style == plan::StackWithLines;
    std::string out, place = lines ? symbols.source(process, address - behind_call) : "";
    for (const InlinedCall& call : symbols.inlined(process, address - behind_call)) {
        out += style == plan::BriefStack
                   ? fmt::format("{} (inlined)\n", call.name)
                   : fmt::format(" {:#x} : {} (inlined) [{}]{}\n", address, call.name,
                                 symbols.text(process, address, SONDE_SYMBOL_PATH), at_place(place));
        place = lines && !call.file.empty() ? fmt::format("{}:{}", call.file, call.line) : "";
    }
    return out + render_function(symbols, process, address, style, behind_call ? SONDE_BEHIND_CALL : 0, place);
}

// The same from what was made before. Of the kernel's addresses there is none: modules come and go.
void add_address(std::string& out, Symbols& symbols, uint64_t process, uint64_t address, plan::StackStyle style,
                 bool behind_call) {
    auto make = [&] { return render_address(symbols, process, address, style, behind_call); };
    if (static_cast<int64_t>(address) < 0)
        out += make();
    else
        out += symbols.rendered().line(process, address, static_cast<uint64_t>(style) * 2 + behind_call, make);
}

std::string render_stack(Symbols& symbols, uint64_t process, const sonde_stack& stack, plan::StackStyle style) {
    std::string out;
    if (stack.state >= SONDE_STACK_NONE)
        return fmt::format(" (no user stack: {})\n", why_no_stack(stack.state));
    for (uint64_t i = 0; i < stack.depth; i++)
        add_address(out, symbols, process, stack.address[i], style, i > 0);
    if (stack.state == SONDE_STACK_CUT)
        out += fmt::format(" ... and further: -DMAXBACKTRACE={} shows more\n", int{SONDE_STACK_MOST});
    else if (stack.state == SONDE_STACK_LOST && stack.depth)
        out += fmt::format(" ... and further: how to unwind {} is not known\n",
                           symbols.text(process, stack.address[stack.depth - 1], SONDE_SYMBOL_OFFSET));
    return out;
}

std::string render_addresses(Symbols& symbols, uint64_t process, const std::string& text, plan::StackStyle style) {
    std::string out;
    for (const char* at = text.c_str();;) {
        char* end = nullptr;
        uint64_t address = std::strtoull(at, &end, 16);
        if (end == at)
            return out;
        auto make = [&] {
            return render_function(symbols, process, address, style, 0,
                                   style == plan::StackWithLines ? symbols.source(process, address) : "");
        };
        constexpr uint64_t alone = 1 << 8; // without what is inlined
        if (static_cast<int64_t>(address) < 0)
            out += make();
        else
            out += symbols.rendered().line(process, address, static_cast<uint64_t>(style) | alone, make);
        at = end;
    }
}

} // namespace

std::string render_print(const plan::Format& format, std::span<const uint8_t> bytes, Symbols* symbols,
                         bool for_terminal) {
    auto shown = [&](const std::string& text) { return for_terminal ? terminal_text(text) : text; };
    Payload payload(bytes, count_longs(format));
    std::string out;
    for (const Directive& d : format.directives) {
        if (d.kind == Directive::Literal) {
            out += d.text;
            continue;
        }
        int64_t width = d.width_is_arg ? payload.number() : d.width;
        int64_t precision = d.precision_is_arg ? payload.number() : d.precision;
        switch (d.kind) {
        case Directive::Integer:
            out += integer(d, payload.number(), width, precision);
            break;
        case Directive::Char:
            out += padded(d.conversion == 'C' ? character(d, payload.number()) : shown(character(d, payload.number())),
                          d.flag, width);
            break;
        case Directive::String: {
            std::string text = payload.string();
            if (precision >= 0 && text.size() > static_cast<size_t>(precision))
                text.resize(static_cast<size_t>(precision));
            out += padded(d.conversion == 'S' ? std::move(text) : shown(text), d.flag, width);
            if (d.flag == '0')
                out += '\0';
            break;
        }
        case Directive::Binary: {
            const int64_t value = payload.number();
            const size_t size = plan::binary_size(width, precision);
            std::string text(reinterpret_cast<const char*>(&value), size);
            if (const auto field = static_cast<size_t>(std::clamp<int64_t>(width, 0, 1 << 16)); field > size)
                text.insert(d.flag == '-' ? size : 0, field - size, '\0');
            out += shown(text);
            break;
        }
        case Directive::Memory: {
            uint32_t size = 0;
            auto head = payload.block(sizeof size);
            if (head.size() == sizeof size)
                std::memcpy(&size, head.data(), sizeof size);
            std::string text;
            for (uint8_t byte : payload.block(size))
                text += d.conversion == 'M' ? fmt::format("{:02x}", byte) : std::string(1, static_cast<char>(byte));
            out += padded(shown(text), d.flag, width);
            break;
        }
        case Directive::Histogram: {
            std::vector<uint64_t> words(sizeof(plan::StatsBlock) / 8 + d.stats.buckets());
            auto block = payload.block(words.size() * 8);
            if (!block.empty()) // a record that was cut
                std::memcpy(words.data(), block.data(), block.size());
            out += render_histogram(d.stats, words.data() + sizeof(plan::StatsBlock) / 8);
            break;
        }
        case Directive::Stack: {
            sonde_stack stack{};
            auto process = static_cast<uint64_t>(payload.number());
            stack.state = static_cast<uint64_t>(payload.number());
            stack.depth = std::min<uint64_t>(static_cast<uint64_t>(payload.number()), SONDE_STACK_MOST);
            auto addresses = payload.block(static_cast<size_t>(std::clamp(d.width, 0, int{SONDE_STACK_MOST})) * 8);
            if (!addresses.empty())
                std::memcpy(stack.address, addresses.data(), addresses.size());
            if (symbols)
                out += shown(render_stack(*symbols, process, stack, static_cast<plan::StackStyle>(d.conversion)));
            break;
        }
        case Directive::Addresses: {
            auto process = static_cast<uint64_t>(payload.number());
            std::string text = payload.string();
            if (symbols)
                out += shown(render_addresses(*symbols, process, text, static_cast<plan::StackStyle>(d.conversion)));
            break;
        }
        case Directive::Literal:
            break;
        }
    }
    return out;
}

} // namespace sonde
