// --pprof=URL --pprof-interval: pushes profiles during the session. Each has the growth of an array since the last
// profile that the receiver accepted.
//
// The session's thread makes the profile, because only this thread may look up names. Another thread posts it. While a
// push is in progress, no other starts, and the next profile includes the values that arrive meanwhile. It also
// includes those of a profile that the receiver did not accept. So nothing is lost before the session's end.
//
// If an answer is lost, the receiver may have accepted the profile. Its values are then counted twice.
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
class Symbolizer;

class ProfilePusher {
  public:
    // Fails if the thread cannot be started.
    static Result<std::unique_ptr<ProfilePusher>> start(const plan::Plan& plan, size_t global, const HttpTarget& target,
                                                        const HttpSettings& settings, int64_t interval_ns);
    ~ProfilePusher(); // abandons a push in progress
    ProfilePusher(const ProfilePusher&) = delete;
    ProfilePusher& operator=(const ProfilePusher&) = delete;

    size_t global() const { return global_; }
    // Returns the nanoseconds until the next push is due.
    int64_t until_push(int64_t now) const;
    // Pushes the growth of the array, if the last push has an answer. `elements`: the current contents.
    void push(Symbolizer& symbols, const ProcessNumbers& numbers, std::vector<ArrayElement> elements, int64_t now);
    // Pushes the rest at the session's end. Waits at most 30 seconds, or until `hurry()` returns true. Fails if the
    // receiver does not accept the profile.
    Result<void> finish(Symbolizer& symbols, const ProcessNumbers& numbers, const std::vector<ArrayElement>& elements,
                        const std::function<bool()>& hurry);

  private:
    using Values = std::map<std::string, std::string>; // payloads by key
    // A state of the array.
    struct Taken {
        Values values;
        int64_t until_ns = 0; // since 1970
    };
    ProfilePusher(const plan::Plan& plan, size_t global, const HttpTarget& target, const HttpSettings& settings,
                  int64_t interval_ns);
    // The thread's function: posts one body after the other.
    void run();
    // True while a push has no answer.
    bool is_busy();
    // Handles the answer of a push: updates taken_, or prints a warning.
    void note_answer();
    // Makes the profile for the time since taken_.
    Result<std::string> profile_since(Symbolizer& symbols, const ProcessNumbers& numbers,
                                      const std::vector<ArrayElement>& elements, int64_t until_ns) const;
    // Returns the target, with the interval in its query if it has one.
    HttpTarget target_until(int64_t until_ns) const;

    const plan::Plan& plan_;
    const size_t global_;
    const HttpTarget target_;
    const HttpSettings settings_;
    const int64_t interval_ns_;
    std::atomic<bool> leaving_ = false;

    std::mutex mutex_; // protects the members up to answer_
    std::condition_variable changed_;
    std::optional<std::string> body_; // the next body to post; empty: none
    HttpTarget body_target_;
    std::optional<Result<void>> answer_;

    // Only the session's thread uses these:
    Taken taken_;                 // the last state that the receiver has accepted
    std::optional<Taken> posted_; // the state whose push is in progress
    int64_t next_ns_ = 0;
    bool is_told_ = false; // a warning about a failed push was printed
    std::thread thread_;
};

// Returns the growth of an array's elements since the state `before`. Omits elements that have not changed. An element
// that has decreased was reset, so its full value counts. Only the count and the sum of statistics are valid in the
// result.
std::vector<ArrayElement> elements_since(const plan::Global& global, const std::map<std::string, std::string>& before,
                                         const std::vector<ArrayElement>& elements);

} // namespace sonde
