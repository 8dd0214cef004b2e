// A bounded queue of lines or spans to push. The session's thread adds items, the pusher's thread takes as many as fit
// into a request.
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

    // Adds an item. IsMuch: enough items for a request have accumulated, for the first time since some were taken.
    // NoRoom: the item was dropped.
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

    // For the pusher's thread. The interval has ended: the next take() returns the queued items even if they are few.
    void note_due() { is_due_ = true; }
    // Returns the items to send now; empty: nothing is due. Until done(), returns the same items again. `all`: do not
    // wait until the items are due.
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
    // The request is finished, so forget its items. Returns their number.
    size_t done() { return std::exchange(taken_, {}).size(); }
    // Returns the number of unsent items. Only valid when no other thread uses the queue.
    size_t left() const { return taken_.size() + items_.size(); }

  private:
    std::mutex mutex_; // protects items_ and bytes_
    std::deque<Item> items_;
    size_t bytes_ = 0; // of items_
    // Only the pusher's thread uses these:
    std::vector<Item> taken_;
    bool is_due_ = false;
};

} // namespace sonde
