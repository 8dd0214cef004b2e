// The payload of a Print record has no description of itself. The format in the plan tells which values it has:
//
//     printf("%d %s %*d\n", a, name, width, b)
//     payload: a, width, b (8 bytes each), then `name` with its NUL
//
// All integers come first, so that handlers store them at fixed offsets and strings of any length follow.
#include "runtime/values/printed_values.h"

#include <algorithm>
#include <cstring>

#include "runtime/plan/stack.h"

namespace sonde {
namespace {

using plan::Directive;

// A payload begins with all integers of the record, 8 bytes each. Strings, memory blocks, statistics and stacks follow
// in the order of their directives. Returns the number of integers.
size_t count_longs(const plan::Format& format) {
    size_t count = 0;
    for (const Directive& d : format.directives) {
        count += static_cast<size_t>(d.width_is_arg) + d.precision_is_arg;
        count += d.kind == Directive::Stack ? 3 : d.kind == Directive::Addresses;
        count += d.kind == Directive::Integer || d.kind == Directive::Char || d.kind == Directive::Binary;
    }
    return count;
}

// Reads both parts of a payload. Never reads past the end.
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

// Copies words out of a payload, which is not aligned.
std::vector<uint64_t> words_of(std::span<const uint8_t> bytes, size_t count) {
    std::vector<uint64_t> out(count);
    if (const size_t size = std::min(bytes.size(), count * 8)) // a record that was cut has fewer
        std::memcpy(out.data(), bytes.data(), size);
    return out;
}

} // namespace

void read_values(const plan::Format& format, std::span<const uint8_t> bytes,
                 const std::function<void(PrintedValue& value)>& visit) {
    Payload payload(bytes, count_longs(format));
    for (const Directive& d : format.directives) {
        PrintedValue value;
        value.directive = &d;
        value.width = d.width_is_arg ? payload.number() : d.width;
        value.precision = d.precision_is_arg ? payload.number() : d.precision;
        switch (d.kind) {
        case Directive::Literal:
            break;
        case Directive::Integer:
        case Directive::Char:
        case Directive::Binary:
            value.number = payload.number();
            break;
        case Directive::String:
            value.text = payload.string();
            break;
        case Directive::Memory: {
            uint32_t size = 0;
            if (auto head = payload.block(sizeof size); head.size() == sizeof size)
                std::memcpy(&size, head.data(), sizeof size);
            auto block = payload.block(size);
            value.text.assign(block.begin(), block.end());
            break;
        }
        case Directive::Histogram: {
            const size_t count = plan::stats_bytes(d.stats) / 8;
            value.words = words_of(payload.block(count * 8), count);
            break;
        }
        case Directive::Stack: {
            value.process = static_cast<uint64_t>(payload.number());
            value.state = static_cast<uint64_t>(payload.number());
            const auto room = static_cast<uint64_t>(std::clamp(d.width, 0, int{SONDE_STACK_MOST}));
            value.most = room;
            auto depth = static_cast<uint64_t>(payload.number());
            if (value.state == SONDE_STACK_VISITED)
                depth = 1;
            value.words = words_of(payload.block(room * 8), std::min<uint64_t>(depth, SONDE_STACK_MOST));
            break;
        }
        case Directive::Addresses:
            value.process = static_cast<uint64_t>(payload.number());
            value.text = payload.string();
            break;
        }
        visit(value);
    }
}

int64_t printed_time(const plan::Format& format, std::span<const uint8_t> payload) {
    int64_t out = 0;
    read_values(format, payload, [&](const PrintedValue& value) {
        if (value.directive->about == plan::About::Time)
            out = value.number;
    });
    return out;
}

} // namespace sonde
