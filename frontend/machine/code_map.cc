// How instructions are found. Suppose a function has a jump table between its instructions:
//
//     10: jmp  *table(,%rax,8)
//     17: table: .quad 27, 60        16 bytes that decode to nonsense
//     27: mov  ...
//
// 1. follow() decodes from each known beginning to the first instruction after which control does not continue, and
//    then from the targets of direct jumps. It finds the jump at 10, but not 27, because no direct jump leads there.
// 2. The bytes that are left are gaps. add_gap() accepts a gap as code only if all of its bytes decode to plausible
//    instructions, and if their jumps lead to beginnings of instructions. The gap here includes the table, so it is
//    rejected, and a probe at 27 is refused. Usually the line table has a row for 27. It is then a known beginning, and
//    only the table remains as a gap.
//
// A wrong acceptance would place a breakpoint in data, and the program would compute something else. A wrong rejection
// only makes a place impossible to probe.
#include "frontend/machine/code_map.h"

#include <algorithm>

namespace sonde {

CodeMap::CodeMap(Address low, std::string_view code, const std::vector<Address>& roots, bool whole,
                 const Architecture& architecture)
    : low_(low), code_(code), architecture_(&architecture), bytes_(code.size(), Unknown) {
    follow(roots);
    for (size_t at = 0; whole && at < bytes_.size();) {
        if (bytes_[at] != Unknown) {
            at++;
            continue;
        }
        size_t end = at;
        while (end < bytes_.size() && bytes_[end] == Unknown)
            end++;
        add_gap(at, end);
        at = end;
    }
}

// Marks an instruction. Returns false if one already begins there.
bool CodeMap::mark(size_t at, size_t length) {
    if (bytes_[at] & Start)
        return false;
    bytes_[at] |= Start;
    for (size_t i = at + 1; i < at + length; i++)
        bytes_[i] |= Inside;
    return true;
}

// Decodes from each root to the first instruction after which control does not continue. Targets of direct jumps are
// further roots. The set of roots is finite, because mark() ends at known code.
void CodeMap::follow(std::vector<Address> roots) {
    while (!roots.empty()) {
        Address from = roots.back();
        roots.pop_back();
        if (from < low_)
            continue;
        for (size_t at = from - low_; at < code_.size();) {
            const std::optional<Instruction> one = architecture_->decode(code_.substr(at));
            if (!one || !mark(at, one->length))
                break;
            at += one->length;
            if (one->is_direct_jump())
                roots.push_back(one->target(low_ + at));
            if (one->ends_flow())
                break;
        }
    }
}

// Whether the bytes in a gap are instructions without a rest. Their jumps must lead to instructions, too; this excludes
// most data that decodes by chance.
bool CodeMap::reads_as_code(size_t begin, size_t end, std::vector<size_t>& starts) const {
    std::vector<size_t> targets;
    for (size_t at = begin; at < end;) {
        const std::optional<Instruction> one = architecture_->decode(code_.substr(at, end - at));
        if (!one || one->is_uncommon)
            return false;
        starts.push_back(at);
        at += one->length;
        const size_t target = one->target(at);
        if (one->is_direct_jump() && target < code_.size())
            targets.push_back(target);
    }
    return std::all_of(targets.begin(), targets.end(), [&](size_t target) {
        if (target >= begin && target < end)
            return std::binary_search(starts.begin(), starts.end(), target);
        return bytes_[target] == Start || bytes_[target] == Unknown; // another gap
    });
}

void CodeMap::add_gap(size_t begin, size_t end) {
    const std::string_view padding = architecture_->padding();
    while (code_.substr(begin, end - begin).starts_with(padding))
        begin += padding.size();
    size_t last = end;
    while (code_.substr(begin, last - begin).ends_with(padding))
        last -= padding.size();
    std::vector<size_t> starts;
    if (!reads_as_code(begin, last, starts)) {
        // The last bytes before the padding may belong to an instruction.
        starts.clear();
        last = end;
        if (!reads_as_code(begin, last, starts))
            return;
    }
    for (size_t i = 0; i < starts.size(); i++)
        mark(starts[i], (i + 1 < starts.size() ? starts[i + 1] : last) - starts[i]);
}

bool CodeMap::is_start(Address address) const {
    return address >= low_ && address - low_ < bytes_.size() && bytes_[address - low_] == Start;
}

bool CodeMap::is_code(Address address) const {
    return address >= low_ && address - low_ < bytes_.size() && bytes_[address - low_] != Unknown;
}

bool CodeMap::is_doubtful(Address address) const {
    return address >= low_ && address - low_ < bytes_.size() && bytes_[address - low_] == (Start | Inside);
}

std::optional<Address> CodeMap::start_before(Address address) const {
    if (address < low_ || bytes_.empty())
        return std::nullopt;
    for (size_t at = std::min<size_t>(address - low_, bytes_.size() - 1) + 1; at-- > 0;)
        if (bytes_[at] == Start)
            return low_ + at;
    return std::nullopt;
}

} // namespace sonde
