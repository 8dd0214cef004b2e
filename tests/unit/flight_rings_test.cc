// The flight recorder's rings: a reader finds exactly the newest records that are whole, with their bytes, however the
// ring was written and overwritten.
#include "runtime/engine/flight_rings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

namespace sonde {
namespace {

constexpr uint64_t head_bytes = sizeof(sonde_flight_record);

// Writes as codegen/rtlib/keep.h does.
class Writer {
  public:
    explicit Writer(uint64_t chunks) {
        copy_.before = {};
        copy_.before.begun = SONDE_FLIGHT_BEGIN;
        copy_.before.mask = chunks - 1;
        copy_.chunks.resize(chunks * SONDE_FLIGHT_CHUNK_BYTES);
    }
    static uint64_t taken(uint64_t size) { return (head_bytes + size + 7) / 8 * 8; }
    uint64_t bytes() const { return (copy_.before.mask + 1) * SONDE_FLIGHT_CHUNK; }
    uint64_t begun() const { return begun_; }
    uint64_t reserve(uint64_t size) { return begun_ -= taken(size); }
    void fill(uint64_t position, uint64_t size, bool is_finished = true) {
        const sonde_flight_record head{is_finished ? position : 0, position, static_cast<uint32_t>(size), 0};
        std::memcpy(place(position), &head, sizeof head);
        std::memset(place(position) + head_bytes, static_cast<int>(position / 8 % 251), size);
    }
    void write(uint64_t size) { fill(reserve(size), size); }
    // The contents, if the copy began when the newest record had the position `before`.
    FlightContents read(uint64_t before) {
        copy_.before.begun = before;
        copy_.after.begun = begun_;
        return read_copy(copy_);
    }
    FlightContents read() { return read(begun_); }
    uint8_t* place(uint64_t position) {
        return copy_.chunks.data() + (position / SONDE_FLIGHT_CHUNK & copy_.before.mask) * SONDE_FLIGHT_CHUNK_BYTES +
               position % SONDE_FLIGHT_CHUNK;
    }
    FlightCopy copy_{};

  private:
    uint64_t begun_ = SONDE_FLIGHT_BEGIN;
};

bool is_intact(const KeptRecord& record) {
    return std::ranges::all_of(record.bytes, [&](uint8_t byte) { return byte == record.position / 8 % 251; });
}

TEST(FlightRings, HasTheNewestRecordsThatFit) {
    std::mt19937_64 random(7);
    for (const uint64_t chunks : {1, 2, 8})
        for (const uint64_t most : {40, 700, static_cast<int>(SONDE_FLIGHT_MOST)}) {
            Writer ring(chunks);
            std::deque<std::pair<uint64_t, uint64_t>> written; // position and size, the newest first
            for (int i = 0; i < 4000; i++) {
                const uint64_t size = 1 + random() % most;
                ring.write(size);
                written.emplace_front(ring.begun(), size);
                if (i % 97 != 0)
                    continue;
                const FlightContents contents = ring.read();
                uint64_t expected = 0;
                while (expected < written.size() &&
                       written[expected].first + Writer::taken(written[expected].second) <= ring.begun() + ring.bytes())
                    expected++;
                ASSERT_EQ(contents.records.size(), expected) << chunks << " " << most << " " << i;
                EXPECT_EQ(contents.unfinished + contents.damaged, 0u);
                for (uint64_t k = 0; k < expected; k++) {
                    ASSERT_EQ(contents.records[k].position, written[k].first);
                    ASSERT_EQ(contents.records[k].bytes.size(), written[k].second);
                    ASSERT_TRUE(is_intact(contents.records[k]));
                }
            }
        }
}

TEST(FlightRings, LeavesOutWhatWasOverwrittenDuringTheCopy) {
    Writer ring(1);
    for (int i = 0; i < 3000; i++)
        ring.write(100);
    const uint64_t before = ring.begun();
    const size_t all = ring.read().records.size();
    for (int i = 0; i < 50; i++)
        ring.write(100);
    const FlightContents contents = ring.read(before);
    EXPECT_EQ(contents.records.size(), all - 50);
    EXPECT_EQ(contents.records.front().position, before);
    for (const KeptRecord& record : contents.records)
        ASSERT_TRUE(is_intact(record) && record.position + Writer::taken(100) <= ring.begun() + ring.bytes());
}

TEST(FlightRings, SkipsARecordThatIsNotFinished) {
    Writer ring(2);
    for (int i = 0; i < 3000; i++)
        ring.write(100);
    ring.fill(ring.reserve(200), 200, false);
    for (int i = 0; i < 10; i++)
        ring.write(300);
    const FlightContents contents = ring.read();
    EXPECT_EQ(contents.unfinished, 1u);
    EXPECT_GT(contents.records.size(), 900u);
    for (const KeptRecord& record : contents.records)
        ASSERT_TRUE(record.bytes.size() != 200 && is_intact(record));
}

TEST(FlightRings, CountsRecordsThatALateWriterDamaged) {
    Writer ring(1);
    const uint64_t late = ring.reserve(400);
    while (late + Writer::taken(400) <= ring.begun() + ring.bytes())
        ring.write(50);
    for (int i = 0; i < 20; i++)
        ring.write(50);
    const size_t all = ring.read().records.size();
    ring.fill(late, 400); // in the place of newer records
    sonde_flight_ring& state = ring.copy_.after;
    state.mask = ring.copy_.before.mask;
    state.scarred = 1;
    state.scars[0] = {late, Writer::taken(400), ring.begun()};
    for (int i = 0; i < 30; i++)
        ring.write(50);
    const FlightContents contents = ring.read();
    EXPECT_GE(contents.damaged + contents.unfinished, 1u);
    EXPECT_LE(contents.damaged, 9u);
    EXPECT_GT(contents.records.size(), all - 20);
    for (const KeptRecord& record : contents.records)
        ASSERT_TRUE(record.bytes.size() == 50 && is_intact(record)) << record.position;
}

TEST(FlightRings, ReadsAnyBytes) {
    std::mt19937_64 random(11);
    for (int round = 0; round < 20; round++) {
        Writer ring(2);
        for (int i = 0; i < 3000; i++)
            ring.write(1 + random() % 300);
        for (int i = 0; i < 2000; i++)
            ring.copy_.chunks[random() % ring.copy_.chunks.size()] = static_cast<uint8_t>(random());
        uint64_t bytes = 0;
        for (const KeptRecord& record : ring.read().records)
            bytes += record.bytes.size() + *std::ranges::max_element(record.bytes);
        EXPECT_LT(bytes, 2 * ring.bytes() + 255 * 6000);
    }
}

} // namespace
} // namespace sonde
