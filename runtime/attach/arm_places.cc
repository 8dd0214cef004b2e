// Attaches one program to many instructions, and skips those that the kernel refuses; arm_places.h explains the idea.
//
// An example: 10,000 instructions with 90 encodings, of which the kernel refuses two, at 300 instructions.
//
//     attach all                       fails
//     attach one of each encoding      88 succeed, 2 fail; the 2 are refused from now on
//     attach the other 9,700           succeeds
//
// That takes 92 system calls. If the last step fails nevertheless, the rest is divided into halves, and each half is
// tried again. An instruction that is left alone and still fails is refused.
//
// A refusal is recognized by errno. All other errors concern the session as a whole, for example missing permissions,
// and end the attempt.
#include "runtime/attach/arm_places.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/quiet_thread.h"

namespace sonde {
namespace {

// Error codes with which the kernel refuses a single instruction. 524 is the kernel's internal ENOTSUPP
// (include/linux/errno.h): it can neither emulate nor single-step the instruction. ENOEXEC: its decoder does not know
// the instruction.
constexpr int cannot_probe = 524;
bool is_refusal(int why) { return why == cannot_probe || why == ENOEXEC; }

// Returns the targets for whose index `wanted` returns true.
template <typename Wanted> UprobeTargets part_of(const UprobeTargets& whole, Wanted wanted) {
    UprobeTargets part = whole;
    auto cut = [&](auto& list) {
        size_t kept = 0;
        for (size_t i = 0; i < list.size(); i++)
            if (wanted(i)) {
                if (kept != i)
                    list[kept] = std::move(list[i]);
                kept++;
            }
        list.resize(kept);
    };
    cut(part.offsets);
    cut(part.ref_ctr_offsets);
    cut(part.cookies);
    cut(part.names);
    return part;
}

} // namespace

Error PlaceArmer::ended() { return Error("the session was stopped before every probe was armed", EINTR); }

PlaceArmer::PlaceArmer(const plan::Plan& plan, Stop stop) : stop_(std::move(stop)) {
    for (const plan::ProbedFile& file : plan.files)
        for (const plan::ProbedCode& code : file.code)
            if (code.encoding != 0)
                encodings_[file.path][code.offset] = code.encoding;
}

uint64_t PlaceArmer::encoding_of(const std::string& path, uint64_t offset) const {
    const auto file = encodings_.find(path);
    if (file == encodings_.end())
        return 0;
    const auto code = file->second.find(offset);
    return code == file->second.end() ? 0 : code->second;
}

void PlaceArmer::leave_out_refused(UprobeTargets& targets, std::vector<std::string>& refused) const {
    const auto is_accepted = [&](size_t i) {
        return !refused_.contains(encoding_of(targets.path, targets.offsets[i]));
    };
    for (size_t i = 0; i < targets.offsets.size(); i++)
        if (!is_accepted(i))
            refused.push_back(targets.names[i]);
    targets = part_of(targets, is_accepted);
}

// Uses several threads: removing a link waits in the kernel, and these waits can overlap.
Result<void> PlaceArmer::try_encodings(const Attach& attach, const UprobeTargets& targets) {
    std::map<uint64_t, size_t> examples;
    for (size_t i = 0; i < targets.offsets.size(); i++)
        if (const uint64_t encoding = encoding_of(targets.path, targets.offsets[i]);
            encoding != 0 && !accepted_.contains(encoding))
            examples.emplace(encoding, i);
    const std::vector<std::pair<uint64_t, size_t>> list(examples.begin(), examples.end());
    std::atomic<size_t> next = 0;
    std::atomic<bool> stopped = false;
    std::mutex mutex;
    const auto work = [&] {
        for (size_t at = next++; at < list.size() && !stopped; at = next++) {
            const auto [encoding, example] = list[at];
            const Result<std::unique_ptr<Attachment>> tried =
                attach(part_of(targets, [&](size_t i) { return i == example; }));
            const std::lock_guard lock(mutex);
            (tried || !is_refusal(tried.error().os_error) ? accepted_ : refused_).insert(encoding);
        }
    };
    constexpr size_t most_threads = 16;
    std::vector<std::thread> threads;
    while (threads.size() < std::min(most_threads, list.size())) {
        Result<std::thread> thread = start_quiet_thread("tries instructions", work);
        if (!thread)
            break;
        threads.push_back(*std::move(thread));
    }
    if (threads.empty())
        work();
    while (next < list.size() && !threads.empty()) {
        constexpr timespec turn{0, 5'000'000};
        nanosleep(&turn, nullptr);
        stopped = stopped || stop_();
        if (stopped)
            break;
    }
    for (std::thread& thread : threads)
        thread.join();
    return stopped ? Result<void>(PlaceArmer::ended()) : Result<void>();
}

// Tries cheap steps first: all targets at once, then one example of each encoding, and last a binary search.
Result<void> PlaceArmer::arm(const Attach& attach, UprobeTargets targets, Attachments& out,
                             std::vector<std::string>& refused) {
    leave_out_refused(targets, refused);
    if (targets.offsets.empty())
        return {};
    if (stop_())
        return ended();
    Result<std::unique_ptr<Attachment>> attached = attach(targets);
    if (attached) {
        out.push_back(*std::move(attached));
        return {};
    }
    if (!is_refusal(attached.error().os_error))
        return std::move(attached).error();
    if (targets.offsets.size() == 1) {
        refused.push_back(targets.names[0]);
        return {};
    }
    if (Result<void> tried = try_encodings(attach, targets); !tried)
        return tried;
    leave_out_refused(targets, refused);
    return targets.offsets.empty() ? Result<void>() : arm_by_halves(attach, targets, out, refused);
}

Result<void> PlaceArmer::arm_by_halves(const Attach& attach, const UprobeTargets& targets, Attachments& out,
                                       std::vector<std::string>& refused) {
    if (stop_())
        return ended();
    Result<std::unique_ptr<Attachment>> attached = attach(targets);
    if (attached) {
        out.push_back(*std::move(attached));
        return {};
    }
    const int why = attached.error().os_error;
    // For kernel functions, the kernel uses many error codes. All of them may concern a single function, except missing
    // permissions or memory.
    if (targets.path.empty() ? why == EPERM || why == ENOMEM || why == EACCES : !is_refusal(why))
        return std::move(attached).error();
    const size_t count = targets.offsets.size();
    if (count == 1) {
        refused.push_back(targets.names[0]);
        return {};
    }
    for (auto [begin, end] : {std::pair(size_t{0}, count / 2), std::pair(count / 2, count)}) {
        const UprobeTargets half = part_of(targets, [begin, end](size_t i) { return i >= begin && i < end; });
        if (Result<void> armed = arm_by_halves(attach, half, out, refused); !armed)
            return armed;
    }
    return {};
}

MappedCode::MappedCode(const std::string& path) {
    const Result<Fd> file = open_file(path, O_RDONLY);
    struct stat status{};
    if (!file || fstat(file->get(), &status) != 0 || status.st_size <= 0)
        return;
    const auto size = static_cast<size_t>(status.st_size);
    void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, file->get(), 0);
    if (memory == MAP_FAILED)
        return;
    memory_ = memory;
    size_ = size;
}

MappedCode::~MappedCode() {
    if (memory_)
        munmap(memory_, size_);
}

} // namespace sonde
