// Names of functions that a just-in-time compiler generated; jit_names.h describes the file.
//
// The file is read in pieces while it grows. Each time, reading continues where it stopped, at the beginning of a line.
// The last line may be incomplete, and is then read again the next time.
//
// A JIT compiler frees the memory of a function and uses it for another one. The file is only appended, so a later line
// describes newer code. It replaces all earlier functions that it overlaps (add()).
//
// What would break this: another file at the same path. Process numbers are reused, so an old file of another process
// may have the name. It is rejected if it was last written before the process began. If the file is replaced while the
// session runs, its first bytes differ, and reading starts again.
#include "runtime/symbols/jit_names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/program_identity.h"

namespace sonde {
namespace {

constexpr int64_t second = 1'000'000'000;
constexpr int64_t between_looks = second / 10;
constexpr size_t piece = 1 << 20, most_bytes = 256 << 20, head_bytes = 256;

// Returns the start time of a process in nanoseconds since 1970, or 0 if the process does not exist. Field 22 of
// /proc/PID/stat is in clock ticks since boot (proc_pid_stat(5)).
int64_t beginning_of(int64_t process) {
    Result<std::string> text = read_file(fmt::format("/proc/{}/stat", process));
    // A process name may contain spaces and parentheses.
    const size_t name_end = text ? text->rfind(')') : std::string::npos;
    unsigned long long ticks = 0;
    if (name_end == std::string::npos ||
        std::sscanf(text->c_str() + name_end + 1,
                    " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &ticks) != 1)
        return 0;
    timespec running{};
    clock_gettime(CLOCK_BOOTTIME, &running);
    const int64_t machine_began = real_time_ns() - (int64_t{running.tv_sec} * second + running.tv_nsec);
    return machine_began + static_cast<int64_t>(ticks) * (second / sysconf(_SC_CLK_TCK));
}

// Returns the PID of a process in its own PID namespace: the last number of NSpid in /proc/PID/status
// (proc_pid_status(5)). The process uses this number in the file's name.
int64_t own_number(int64_t process) {
    Result<std::string> status = read_file(fmt::format("/proc/{}/status", process));
    const size_t at = status ? status->find("\nNSpid:") : std::string::npos;
    if (at == std::string::npos)
        return process;
    const std::string_view line = std::string_view(*status).substr(at + 1, status->find('\n', at + 1) - at - 1);
    const std::string_view last = line.substr(line.find_last_of("\t :") + 1);
    int64_t number = process;
    std::from_chars(last.data(), last.data() + last.size(), number);
    return number;
}

// Removes a hexadecimal number and one space from the front of `text`. Returns false if the text has a different form.
bool take_number(std::string_view& text, uint64_t& number) {
    if (text.starts_with("0x"))
        text.remove_prefix(2);
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    if (error != std::errc() || end == text.data() + text.size() || *end != ' ')
        return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
    return true;
}

} // namespace

JitNames::JitNames(int64_t process) {
    struct stat own{};
    began_ = beginning_of(process);
    if (began_ == 0 || stat(fmt::format("/proc/{}", process).c_str(), &own) != 0)
        return;
    owner_ = own.st_uid;
    path_ = path_in_process(process, fmt::format("/tmp/perf-{}.map", own_number(process)));
}

const FunctionSymbol* JitNames::find(uint64_t address) const {
    auto after = functions_.upper_bound(address);
    if (after == functions_.begin())
        return nullptr;
    const FunctionSymbol& function = std::prev(after)->second;
    return address - function.address < function.size ? &function : nullptr;
}

// Reads the file from the position of the last read. If the first bytes have changed or the file is shorter, it was
// replaced: start again.
bool JitNames::read_on() {
    if (path_.empty() || now_ns() - looked_ < between_looks)
        return false;
    looked_ = now_ns();
    // Another user may have created the path: refuse symbolic links, and do not block on a FIFO.
    Fd file(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status{};
    if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        (status.st_uid != owner_ && status.st_uid != 0) || int64_t{status.st_mtim.tv_sec} * second < began_ - second)
        return false;
    const auto size = std::min<uint64_t>(static_cast<uint64_t>(status.st_size), most_bytes);
    const Result<std::string> head = read_at(file.get(), 0, std::min<uint64_t>(head_bytes, size));
    if (!head)
        return false;
    if (size < read_ || !head->starts_with(head_)) { // the file was replaced
        read_ = 0;
        functions_.clear();
    }
    head_ = *head;
    const uint64_t before = read_;
    while (read_ < size) {
        Result<std::string> text = read_at(file.get(), read_, std::min<uint64_t>(piece, size - read_));
        const size_t taken = text ? add(*text) : 0;
        if (taken == 0)
            break; // the last line is still being written
        read_ += taken;
    }
    return read_ != before;
}

// Lines that do not have the expected form are skipped.
size_t JitNames::add(const std::string& text) {
    size_t at = 0;
    for (size_t end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
        std::string_view line = std::string_view(text).substr(at, end - at);
        FunctionSymbol function;
        if (!take_number(line, function.address) || !take_number(line, function.size) || line.empty() ||
            function.size == 0 || function.address + function.size < function.address)
            continue;
        function.name = line;
        auto first = functions_.upper_bound(function.address);
        if (first != functions_.begin() &&
            function.address - std::prev(first)->second.address < std::prev(first)->second.size)
            --first;
        functions_.erase(first, functions_.lower_bound(function.address + function.size));
        functions_.emplace(function.address, std::move(function));
    }
    return at;
}

} // namespace sonde
