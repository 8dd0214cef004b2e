// printf as documented in the language reference; numbers are formatted by the C library.
#include "runtime/format.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "runtime/histogram.h"

namespace sonde {
namespace {

using plan::Directive;

size_t count_longs(const plan::Format& format) {
    size_t count = 0;
    for (const Directive& d : format.directives) {
        count += static_cast<size_t>(d.width_is_arg) + d.precision_is_arg;
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
    size_t wanted = width > 0 ? static_cast<size_t>(width) : 0;
    if (text.size() >= wanted)
        return text;
    return flag == '-' ? text + std::string(wanted - text.size(), ' ') : std::string(wanted - text.size(), ' ') + text;
}

std::string integer(const Directive& d, int64_t value, int64_t width, int64_t precision) {
    std::string spec = "%";
    if (d.flag)
        spec += d.flag;
    spec += width >= 0 ? "*" : "";
    spec += precision >= 0 ? ".*" : "";
    spec += "ll";
    spec += d.conversion;
    int w = static_cast<int>(std::min<int64_t>(width, 1 << 20)),
        p = static_cast<int>(std::min<int64_t>(precision, 1 << 20));
    auto print = [&](char* out, size_t size) {
        auto v = static_cast<long long>(value);
        if (width >= 0 && precision >= 0)
            return std::snprintf(out, size, spec.c_str(), w, p, v);
        if (width >= 0)
            return std::snprintf(out, size, spec.c_str(), w, v);
        if (precision >= 0)
            return std::snprintf(out, size, spec.c_str(), p, v);
        return std::snprintf(out, size, spec.c_str(), v);
    };
    std::string out(static_cast<size_t>(std::max(0, print(nullptr, 0))), '\0');
    print(out.data(), out.size() + 1);
    return out;
}

std::string character(const Directive& d, int64_t value) {
    auto c = static_cast<unsigned char>(value);
    if (d.flag != '#')
        return std::string(1, static_cast<char>(c));
    static const std::string from = "\n\t\r\a\b\v\f\"\\", to = "ntrabvf\"\\";
    if (size_t at = from.find(static_cast<char>(c)); at != std::string::npos)
        return std::string("\\") + to[at];
    return c >= 0x20 && c < 0x7f ? std::string(1, static_cast<char>(c)) : fmt::format("\\{:03o}", c);
}

} // namespace

std::string render_print(const plan::Format& format, std::span<const uint8_t> bytes) {
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
            out += padded(character(d, payload.number()), d.flag, width);
            break;
        case Directive::String: {
            std::string text = payload.string();
            if (precision >= 0 && text.size() > static_cast<size_t>(precision))
                text.resize(static_cast<size_t>(precision));
            out += padded(std::move(text), d.flag, width);
            if (d.flag == '0')
                out += '\0';
            break;
        }
        case Directive::Binary: {
            int64_t value = payload.number();
            out.append(reinterpret_cast<const char*>(&value),
                       static_cast<size_t>(std::clamp<int64_t>(width < 0 ? 8 : width, 1, 8)));
            break;
        }
        case Directive::Memory: {
            uint32_t size = 0;
            auto head = payload.block(sizeof size);
            if (head.size() == sizeof size)
                std::memcpy(&size, head.data(), sizeof size);
            for (uint8_t byte : payload.block(size))
                out += d.conversion == 'M' ? fmt::format("{:02x}", byte) : std::string(1, static_cast<char>(byte));
            break;
        }
        case Directive::Histogram: {
            std::vector<uint64_t> words(sizeof(plan::StatsBlock) / 8 + d.stats.buckets());
            auto block = payload.block(words.size() * 8);
            std::memcpy(words.data(), block.data(), block.size());
            out += render_histogram(d.stats, words.data() + sizeof(plan::StatsBlock) / 8);
            break;
        }
        case Directive::Literal:
            break;
        }
    }
    return out;
}

} // namespace sonde
