// --pprof=URL --pprof-interval: pushes profiles while the session runs, each of what the array got since the last one
// that the receiver took.
//
// The session's thread makes the profile, since names of functions are its own, and a thread beside it posts it. While
// that waits for its receiver nothing else is pushed, and what the array gets meanwhile goes with the next profile. So
// does what the receiver did not take: nothing is lost before the session's end. A profile whose answer was lost may
// have been taken; it is counted again with the next one.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "runtime/plan/plan.h"
#include "runtime/sinks/http/poster.h"
#include "runtime/values/host_arrays.h"

namespace sonde {

class ProcessNumbers;
class Symbols;

class ProfilePusher {
  public:
    // Errors: no memory for its thread.
    static Result<std::unique_ptr<ProfilePusher>> start(const plan::Plan& plan, size_t global, const HttpTarget& target,
                                                        const HttpSettings& settings, int64_t interval_ns);
    ~ProfilePusher(); // what is under way is given up
    ProfilePusher(const ProfilePusher&) = delete;
    ProfilePusher& operator=(const ProfilePusher&) = delete;

    size_t global() const { return global_; }
    // Nanoseconds until push() has something to do.
    int64_t until_push(int64_t now) const;
    // What the array has now; pushes what is new, if the last push has an answer.
    void push(Symbols& symbols, const ProcessNumbers& numbers, std::vector<ArrayElement> elements, int64_t now);
    // The same at the session's end, for half a minute at most and not if `hurry`. Errors: the receiver did not take
    // it.
    Result<void> finish(Symbols& symbols, const ProcessNumbers& numbers, const std::vector<ArrayElement>& elements,
                        const std::function<bool()>& hurry);

  private:
    using Values = std::map<std::string, std::string>; // payloads by key
    struct Taken {
        Values values;
        int64_t until_ns = 0; // since 1970
    };
    ProfilePusher(const plan::Plan& plan, size_t global, const HttpTarget& target, const HttpSettings& settings,
                  int64_t interval_ns);
    void run();
    bool is_busy();
    void note_answer();
    Result<std::string> profile_since(Symbols& symbols, const ProcessNumbers& numbers,
                                      const std::vector<ArrayElement>& elements, int64_t until_ns) const;
    HttpTarget target_until(int64_t until_ns) const;

    const plan::Plan& plan_;
    const size_t global_;
    const HttpTarget target_;
    const HttpSettings settings_;
    const int64_t interval_ns_;
    std::atomic<bool> leaving_ = false;

    std::mutex mutex_; // of what follows
    std::condition_variable changed_;
    std::optional<std::string> body_; // to be posted
    HttpTarget body_target_;
    std::optional<Result<void>> answer_;

    // The session's own thread's.
    Taken taken_;                 // by the receiver
    std::optional<Taken> posted_; // under way
    int64_t next_ns_ = 0;
    bool is_told_ = false; // that the receiver did not take one
    std::thread thread_;
};

// What an array's elements got since they had the values `before`: those with nothing new are left out, and one that
// has less than before began anew. Statistics have their count and their sum only.
std::vector<ArrayElement> elements_since(const plan::Global& global, const std::map<std::string, std::string>& before,
                                         const std::vector<ArrayElement>& elements);

} // namespace sonde
