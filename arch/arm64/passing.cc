// Decides how values are passed. The size decides, except for values that consist of one to four equal floating-point
// numbers or vectors. For example:
//
//     struct { float x, y, z; }      three vector registers
//     struct { double d; int i; }    two general registers, because the members differ
//     struct { long v[3]; }          more than 16 bytes: the address of a copy
#include "arch/arm64/passing.h"

#include <algorithm>

namespace sonde::arm64 {
namespace {

constexpr uint64_t word = 8, two_words = 16; // in bytes

constexpr const char* odd_vector =
    "is or follows a vector that has neither 8 nor 16 bytes, which compilers pass in different ways";
constexpr const char* aligned =
    "is or follows a value that is aligned by an attribute, which compilers pass in different ways";

bool is_vector(const ScalarPart& part) { return part.kind == ScalarPart::Vector; }
bool is_float(const ScalarPart& part) { return part.kind == ScalarPart::Float || part.kind == ScalarPart::LongFloat; }

// Returns the number of elements of a value of equal floating-point numbers or of equal vectors, without padding. 0:
// it is another value.
uint64_t equal_elements(const ValueShape& shape) {
    constexpr uint64_t most = 4;
    if (shape.parts.empty())
        return 0;
    const ScalarPart& first = shape.parts[0];
    if ((!is_float(first) && !is_vector(first)) || shape.size % first.size != 0 || shape.size / first.size > most)
        return 0;
    bool found[most] = {};
    for (const ScalarPart& part : shape.parts) {
        if (part.size != first.size || is_float(part) != is_float(first) || is_vector(part) != is_vector(first) ||
            part.offset % part.size != 0 || part.offset >= shape.size)
            return 0;
        found[part.offset / part.size] = true;
    }
    const uint64_t count = shape.size / first.size;
    return std::all_of(found, found + count, [](bool one) { return one; }) ? count : 0;
}

} // namespace

PassedValue passed(const ValueShape& shape) {
    PassedValue out;
    out.doubt = shape.doubt;
    out.alignment = std::clamp(shape.alignment, word, two_words);
    if (std::ranges::any_of(shape.parts, [](const ScalarPart& part) {
            return is_vector(part) && part.size != word && part.size != two_words;
        }))
        out.doubt = odd_vector;
    if (const uint64_t count = equal_elements(shape)) {
        out.parts.assign(count, {PassedPart::Vector, static_cast<uint32_t>(shape.parts[0].size)});
    } else if (shape.size > two_words) {
        out.by_address = true;
        out.alignment = word;
        return out;
    } else {
        out.begins_even = shape.alignment >= two_words;
        if (shape.size == 0) // C has such objects
            out.parts.push_back({PassedPart::Nowhere, 0});
        for (uint64_t at = 0; at < shape.size; at += word)
            out.parts.push_back({PassedPart::General, static_cast<uint32_t>(std::min(shape.size - at, word))});
    }
    if (!out.doubt && shape.full_alignment > shape.alignment && shape.full_alignment >= two_words)
        out.doubt = aligned;
    return out;
}

} // namespace sonde::arm64
