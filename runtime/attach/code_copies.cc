#include "runtime/attach/code_copies.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/fd.h"

namespace sonde {
namespace {

constexpr char call = '\xe8'; // since Linux 6.18, a uprobe replaces a 5-byte nop by a call
constexpr size_t call_length = 5;

} // namespace

CodeCopies::CodeCopies(const plan::Plan& plan, const ProbedFiles& files)
    : breakpoint_(host_architecture().uprobe_breakpoint()) {
    for (const plan::ProbedFile& file : plan.files) {
        std::set<uint64_t> probed;
        for (const plan::ProbedCode& code : file.code)
            if (code.length > 0)
                probed.insert(code.offset);
        for (const plan::ProbedCode& code : file.code) {
            if (code.length == 0)
                continue;
            const uint64_t first = code.offset - std::min<uint64_t>(code.offset, around);
            Place place;
            place.begin = code.offset - first;
            place.length = code.length;
            place.bytes.resize(place.begin + around);
            const ssize_t got =
                pread(files.fd(file.path), place.bytes.data(), place.bytes.size(), static_cast<off_t>(first));
            if (got < static_cast<ssize_t>(place.begin + place.length))
                continue;
            place.bytes.resize(static_cast<size_t>(got));
            place.probed = place.bytes;
            for (size_t i = 0; i < place.bytes.size(); i++)
                if (probed.contains(first + i))
                    place.probed.replace(i, breakpoint_.size(), breakpoint_.substr(0, place.bytes.size() - i));
            const size_t index = places_.size(), next = place.begin + breakpoint_.size();
            if (next >= place.bytes.size())
                continue;
            if (!probed.contains(first + next))
                by_next_byte_[static_cast<uint8_t>(place.bytes[next])].push_back(index);
            else
                any_next_byte_.push_back(index);
            // The kernel does so only for nops. Other instructions of this length need not be told apart: their bytes
            // behind the call must be equal, too.
            if (place.length == call_length)
                calls_.push_back(index);
            places_.push_back(std::move(place));
        }
    }
}

bool CodeCopies::is_copy(const Place& place, std::string_view memory, size_t at, size_t changed) {
    const auto equal = [&](size_t i) { // of place.bytes
        if (at + i < place.begin || at + i - place.begin >= memory.size())
            return false;
        const char found = memory[at + i - place.begin];
        return found == place.bytes[i] || found == place.probed[i];
    };
    size_t before = 0, after = changed;
    while (before < place.begin && equal(place.begin - before - 1))
        before++;
    while (place.begin + after < place.bytes.size() && equal(place.begin + after))
        after++;
    return after >= place.length && before + after - changed + 1 >= enough_bytes;
}

std::vector<CodePatch> CodeCopies::find(std::string_view memory, uint64_t address) const {
    std::vector<CodePatch> out;
    const auto try_all = [&](const std::vector<size_t>& indices, size_t at, size_t changed) {
        for (size_t index : indices)
            if (const Place& place = places_[index]; is_copy(place, memory, at, changed)) {
                out.push_back({address + at, place.bytes.substr(place.begin, changed)});
                return true;
            }
        return false;
    };
    const size_t size = breakpoint_.size();
    for (size_t at = 0; (at = memory.find(breakpoint_, at)) != std::string_view::npos; at++) {
        if (at + size >= memory.size())
            break;
        const auto found = by_next_byte_.find(static_cast<uint8_t>(memory[at + size]));
        if (found == by_next_byte_.end() || !try_all(found->second, at, size))
            try_all(any_next_byte_, at, size);
    }
    if (!calls_.empty())
        for (size_t at = 0; (at = memory.find(call, at)) != std::string_view::npos; at++)
            try_all(calls_, at, call_length);
    return out;
}

// Reads a page's entry in /proc/PID/pagemap first. Reading memory that does not exist yet would create it, and
// compilers reserve much more than they use.
std::vector<CodePatch> CodeCopies::find_in(int64_t process, uint64_t from, uint64_t size, bool is_anonymous) const {
    constexpr uint64_t present = 1ull << 63, swapped = 1ull << 62;
    constexpr size_t pages_at_once = 512;
    const auto page_size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    std::vector<CodePatch> out;
    if (places_.empty())
        return out;
    const Fd pages(open(fmt::format("/proc/{}/pagemap", process).c_str(), O_RDONLY | O_CLOEXEC));
    const Fd all(open(fmt::format("/proc/{}/mem", process).c_str(), O_RDONLY | O_CLOEXEC));
    if (!all)
        return out;
    std::set<uint64_t> seen; // pieces overlap
    std::vector<uint64_t> entries;
    std::string memory; // the pages that exist in a row, up to `end`
    uint64_t begin = 0;
    const auto finish = [&](uint64_t end) {
        if (memory.empty())
            return;
        for (CodePatch& patch : find(memory, begin))
            if (seen.insert(patch.address).second)
                out.push_back(std::move(patch));
        // A place may cross two pieces.
        const size_t kept = std::min(memory.size(), 2 * around);
        memory.erase(0, memory.size() - kept);
        begin = end - kept;
    };
    for (uint64_t at = from & ~(page_size - 1); at < from + size;) {
        const uint64_t count = std::min<uint64_t>(pages_at_once, (from + size - at + page_size - 1) / page_size);
        entries.assign(count, present); // unknown: read the memory
        if (is_anonymous && pages &&
            pread(pages.get(), entries.data(), count * sizeof(uint64_t),
                  static_cast<off_t>(at / page_size * sizeof(uint64_t))) <= 0)
            entries.assign(count, present);
        for (uint64_t i = 0; i < count;) {
            uint64_t end = i;
            while (end < count && (entries[end] & (present | swapped)))
                end++;
            if (end == i) {
                memory.clear();
                i++;
                continue;
            }
            if (memory.empty())
                begin = at + i * page_size;
            const size_t had = memory.size(), wanted = (end - i) * page_size;
            memory.resize(had + wanted);
            if (pread(all.get(), memory.data() + had, wanted, static_cast<off_t>(at + i * page_size)) ==
                static_cast<ssize_t>(wanted))
                finish(at + end * page_size);
            else
                memory.clear();
            i = end;
        }
        at += count * page_size;
    }
    return out;
}

} // namespace sonde
