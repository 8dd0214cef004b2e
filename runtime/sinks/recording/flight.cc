// Blocks are compressed as soon as they end, so the limit is one of compressed bytes. A block needs no other block: its
// first event is a look at all globals (recorder.cc). Only answers are needed later than their block. So when a block
// is dropped, its answers stay.
#include "runtime/sinks/recording/flight.h"

#include <algorithm>
#include <utility>

#include "runtime/sinks/recording/bytes.h"

namespace sonde {
namespace {

constexpr size_t most_answers = 1 << 17;

} // namespace

bool FlightRing::add(Event kind, std::string_view bytes, int64_t time) {
    in_block_ += kind == Event::Print || kind == Event::Text;
    block_.add(kind, bytes);
    times_.push_back(time);
    return block_.size() >= RecordingBlock::full_bytes;
}

bool FlightRing::end_block(int64_t now) {
    const int64_t began = std::exchange(began_ns_, now);
    const uint64_t events = std::exchange(in_block_, 0);
    std::vector<int64_t> times = std::exchange(times_, {});
    if (block_.size() == 0)
        return true;
    Result<std::string> packed = block_.pack();
    if (!packed) {
        dropped_ += events;
        return false;
    }
    bytes_ += packed->size();
    events_ += events;
    blocks_.push_back({*std::move(packed), began, now, events, std::move(times)});
    while (blocks_.size() > 1 && (bytes_ > limit_.bytes || now - blocks_.front().ended_ns > limit_.ns))
        drop_oldest();
    return true;
}

void FlightRing::drop_oldest() {
    const Block& oldest = blocks_.front();
    const Result<std::string> events = unpack_block(oldest.packed);
    EventCursor cursor(events ? std::string_view(*events) : std::string_view());
    while (const std::optional<EventCursor::Item> item = cursor.next())
        if (item->kind == Event::Answer) {
            ByteCursor in(item->bytes);
            const std::string_view question = take_text(in);
            answers_[std::string(question)] = in.take_bytes(in.rest());
        }
    if (answers_.size() > most_answers) {
        older_answers_ = std::exchange(answers_, {});
        tell_again_ = true;
    }
    bytes_ -= oldest.packed.size();
    events_ -= oldest.events;
    dropped_ += oldest.events;
    blocks_.pop_front();
}

void FlightRing::write_answers(RecordingWriter& file) const {
    for (const auto* answers : {&older_answers_, &answers_})
        for (const auto& [question, answer] : *answers)
            file.add(Event::Answer, answer_event(question, answer));
}

void FlightRing::write(RecordingWriter& file) const {
    write_answers(file);
    file.flush();
    for (const Block& block : blocks_)
        file.write(block.packed);
}

// Goes to the next event, if the block has none left. Returns false at the end.
bool FlightRing::Reader::begin_block() {
    if (block_ == ring_.blocks_.size())
        return false;
    Result<std::string> events = unpack_block(ring_.blocks_[block_++].packed);
    events_ = events ? *std::move(events) : "";
    cursor_ = EventCursor(events_);
    event_ = 0;
    return true;
}

void FlightRing::Reader::write_until(int64_t time, RecordingWriter& file) {
    if (!std::exchange(has_begun_, true)) {
        ring_.write_answers(file);
        if (!begin_block())
            return;
    }
    while (block_ > 0) {
        const std::vector<int64_t>& times = ring_.blocks_[block_ - 1].times;
        if (event_ == times.size()) {
            if (!begin_block())
                return;
        } else if (times[event_] > time) {
            return;
        } else if (const std::optional<EventCursor::Item> item = cursor_.next()) {
            const int64_t at = times[event_++];
            const bool is_shown = item->kind == Event::Print || item->kind == Event::Text;
            if (is_shown && at < since_)
                continue;
            events_written_ += is_shown;
            if (is_shown)
                first_ = std::min(first_, at);
            file.add(item->kind, item->bytes);
        } else {
            event_ = times.size(); // the block is damaged
        }
    }
}

void FlightRing::clear() {
    const uint64_t dropped = dropped_;
    while (!blocks_.empty())
        drop_oldest();
    dropped_ = dropped;
}

} // namespace sonde
