// Blocks are compressed as soon as they end, so the limit is one of compressed bytes. A block needs no other block: its
// first event is a look at all globals (recorder.cc). Only answers are needed later than their block. So when a block
// is dropped, its answers stay.
#include "runtime/sinks/recording/flight.h"

#include <utility>

#include "runtime/sinks/recording/bytes.h"

namespace sonde {
namespace {

constexpr size_t most_answers = 1 << 17;

} // namespace

bool FlightRing::add(Event kind, std::string_view bytes) {
    in_block_ += kind == Event::Print || kind == Event::Text;
    block_.add(kind, bytes);
    return block_.size() >= RecordingBlock::full_bytes;
}

bool FlightRing::end_block(int64_t now) {
    const int64_t began = std::exchange(began_ns_, now);
    const uint64_t events = std::exchange(in_block_, 0);
    if (block_.size() == 0)
        return true;
    Result<std::string> packed = block_.pack();
    if (!packed) {
        dropped_ += events;
        return false;
    }
    bytes_ += packed->size();
    events_ += events;
    blocks_.push_back({*std::move(packed), began, now, events});
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

void FlightRing::write(RecordingWriter& file) const {
    for (const auto* answers : {&older_answers_, &answers_})
        for (const auto& [question, answer] : *answers)
            file.add(Event::Answer, answer_event(question, answer));
    file.flush();
    for (const Block& block : blocks_)
        file.write(block.packed);
}

void FlightRing::clear() {
    const uint64_t dropped = dropped_;
    while (!blocks_.empty())
        drop_oldest();
    dropped_ = dropped;
}

} // namespace sonde
