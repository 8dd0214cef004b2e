// What waits to be pushed, up to a bound: lines, spans. One thread adds, another one takes as much as a request has.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace sonde {

template <typename Item> class OtlpQueue {
  public:
    static constexpr size_t most_bytes = 8 << 20, push_at_bytes = 256 << 10, most_request_bytes = 1 << 20;
    enum Added { Kept, IsMuch, NoRoom };

    // IsMuch: enough for a request, for the first time since some were taken. NoRoom: it is dropped.
    Added add(Item item) {
        const size_t cost = cost_of(item);
        const std::lock_guard lock(mutex_);
        if (bytes_ + cost > most_bytes)
            return NoRoom;
        const bool is_much = bytes_ < push_at_bytes && bytes_ + cost >= push_at_bytes;
        bytes_ += cost;
        items_.push_back(std::move(item));
        return is_much ? IsMuch : Kept;
    }

    // The other thread's: from here on those that are there are sent without waiting for more.
    void note_due() { is_due_ = true; }
    // What is to be sent now: what was taken and not done(), else what is due, or much; empty: nothing.
    const std::vector<Item>& take(bool all) {
        if (!taken_.empty())
            return taken_;
        const std::lock_guard lock(mutex_);
        if (is_due_ || all || bytes_ >= push_at_bytes) {
            for (size_t bytes = 0; !items_.empty() && bytes < most_request_bytes; items_.pop_front()) {
                bytes += cost_of(items_.front());
                bytes_ -= cost_of(items_.front());
                taken_.push_back(std::move(items_.front()));
            }
            is_due_ = !items_.empty();
        }
        return taken_;
    }
    // Those that were taken are not wanted any more. Gives how many they were.
    size_t done() { return std::exchange(taken_, {}).size(); }
    // When nobody adds or takes any more.
    size_t left() const { return taken_.size() + items_.size(); }

  private:
    std::mutex mutex_; // of what follows
    std::deque<Item> items_;
    size_t bytes_ = 0; // of items_
    // The other thread's.
    std::vector<Item> taken_;
    bool is_due_ = false;
};

} // namespace sonde
