// Reading does not stop the writers. A handler takes nanoseconds, and a copy of all rings takes milliseconds, so new
// records overwrite the oldest ones meanwhile. Therefore:
//
// 1. Copy the oldest chunks first, because they are overwritten next.
// 2. After the copy, look how far the writers have come. Positions that are a whole ring behind them are not valid in
//    the copy, because they were overwritten at some time during it.
// 3. Walk through the copy from the newest record to the oldest valid one (read_copy).
//
// A processor with few records keeps older ones than a busy one. A recording begins where the records of all processors
// are complete, so that it has no gap.
//
// Every complete record is counted in the kernel. So the number of overwritten records is exact: it is that of all
// records, less those that were found.
//
// What would break this: a record whose bytes are not its own. A record in the copy is accepted only if the position in
// front of it is its own one, which a writer stores last. A writer that was preempted for a whole turn of the ring
// leaves a scar, and records that it may have damaged are counted instead of shown.
#include "runtime/engine/flight_rings.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/fd.h"
#include "runtime/plan/batch.h"
#include "runtime/plan/object_names.h"
#include "runtime/values/printed_values.h"

namespace sonde {
namespace {

constexpr uint64_t head_bytes = sizeof(sonde_flight_record);
constexpr uint64_t no_chunk = UINT32_MAX; // no index of an element
constexpr uint64_t most_ring_bytes = 2ull << 30;

// The bytes that a record takes in its ring, with its head.
uint64_t taken_bytes(uint64_t size) { return (head_bytes + size + 7) & ~uint64_t{7}; }

uint64_t load_word(const uint64_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

// Splits sonde_flight_ring::done. `complete` has 32 bits.
struct Progress {
    uint64_t complete, pending_bytes;
};
Progress progress_of(uint64_t begun, uint64_t done) {
    constexpr uint64_t one = uint64_t{1} << 32;
    const uint64_t difference = done - (SONDE_FLIGHT_BEGIN - begun); // complete records << 32, less the pending bytes
    const uint64_t complete = (difference + one - 1) >> 32;
    return {complete & (one - 1), (complete << 32) - difference};
}

// Reads a ring's words at one moment, at best one without a writer at work.
sonde_flight_ring read_state(const sonde_flight_ring& ring) {
    constexpr int tries = 400, patient_tries = 200;
    constexpr useconds_t pause_us = 100;
    sonde_flight_ring out{};
    for (int i = 0; i < tries; i++) {
        out.begun = load_word(ring.begun);
        out.done = load_word(ring.done);
        if (load_word(ring.begun) == out.begun && progress_of(out.begun, out.done).pending_bytes == 0)
            break;
        if (i >= patient_tries)
            usleep(pause_us);
    }
    out.scarred = load_word(ring.scarred);
    out.first = ring.first;
    out.mask = ring.mask;
    std::memcpy(out.scars, ring.scars, sizeof out.scars);
    return out;
}

uint64_t bytes_of(const sonde_flight_ring& ring) { return (ring.mask + 1) * SONDE_FLIGHT_CHUNK; }

const uint8_t* place_of(const FlightCopy& copy, uint64_t position) {
    const uint64_t chunk = position / SONDE_FLIGHT_CHUNK & copy.before.mask;
    return copy.chunks.data() + chunk * SONDE_FLIGHT_CHUNK_BYTES + position % SONDE_FLIGHT_CHUNK;
}
sonde_flight_record head_at(const FlightCopy& copy, uint64_t position) {
    sonde_flight_record out;
    std::memcpy(&out, place_of(copy, position), sizeof out);
    return out;
}
bool is_record(const sonde_flight_record& head, uint64_t position) {
    return head.position == position && head.size > 0 && head.size <= SONDE_FLIGHT_MOST;
}

// Whether a late writer may have damaged the record.
bool is_scarred(const FlightCopy& copy, uint64_t position, uint64_t bytes) {
    const sonde_flight_ring& ring = copy.after;
    const uint64_t turn = bytes_of(ring), known = std::min<uint64_t>(ring.scarred, SONDE_FLIGHT_SCARS);
    uint64_t oldest = 0;
    for (uint64_t i = 0; i < known; i++) {
        const auto& scar = ring.scars[i];
        oldest = std::max(oldest, scar.begun);
        const uint64_t ahead = (scar.position - position) % turn; // turn is a power of two
        if (position >= scar.begun && (ahead < bytes || turn - ahead < scar.bytes))
            return true;
    }
    return ring.scarred > known && position >= oldest; // some scars are forgotten
}

// The numbers of the processors in a list such as "0-3,8".
std::vector<uint64_t> numbers_in(const std::string& list) {
    std::vector<uint64_t> out;
    const char* at = list.c_str();
    while (*at >= '0' && *at <= '9') {
        char* end = nullptr;
        const uint64_t first = std::strtoull(at, &end, 10);
        const uint64_t last = *end == '-' ? std::strtoull(end + 1, &end, 10) : first;
        for (uint64_t number = first; number <= last; number++)
            out.push_back(number);
        at = *end == ',' ? end + 1 : end;
    }
    return out;
}

// The time among the values of a print.
int64_t time_of_print(const plan::Plan& plan, std::span<const uint8_t> record) {
    plan::RecordHeader header{};
    if (record.size() < sizeof header)
        return 0;
    std::memcpy(&header, record.data(), sizeof header);
    if (header.type != plan::Print || header.format >= plan.formats.size())
        return 0;
    return printed_time(plan.formats[header.format], record.subspan(sizeof header));
}

} // namespace

FlightContents read_copy(const FlightCopy& copy) {
    FlightContents out;
    const uint64_t end = std::min<uint64_t>(SONDE_FLIGHT_BEGIN, copy.after.begun + bytes_of(copy.before));
    for (uint64_t at = copy.before.begun; at + head_bytes < end;) { // else newer records have overwritten its head
        const sonde_flight_record head = head_at(copy, at);
        if (!is_record(head, at)) { // its writer has not finished: search the record before it
            out.unfinished++;
            do
                at += sizeof(uint64_t);
            while (at < end && !is_record(head_at(copy, at), at));
            continue;
        }
        const uint64_t bytes = taken_bytes(head.size);
        if (at + bytes > end)
            break; // a newer record has overwritten its end
        if (is_scarred(copy, at, bytes))
            out.damaged++;
        else
            out.records.push_back(
                {static_cast<int64_t>(head.time), at, head.piece, {place_of(copy, at) + head_bytes, head.size}});
        at += bytes;
    }
    return out;
}

bool FlightRings::has(const KernelObject& kernel) { return kernel.map_fd(plan::maps::flight_rings) >= 0; }

FlightRings::~FlightRings() {
    if (states_)
        munmap(states_, state_bytes_);
    if (chunks_)
        munmap(chunks_, mapped_chunks_);
}

Result<void> FlightRings::open(const plan::Plan& plan, const KernelObject& kernel, Handle handle) {
    plan_ = &plan;
    handle_ = std::move(handle);
    const auto map = [&](const char* name, uint64_t size_of_one, uint64_t& elements, uint64_t& bytes) -> uint8_t* {
        bpf_map_info info{};
        uint32_t size = sizeof info;
        const int fd = kernel.map_fd(name);
        if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) != 0)
            return nullptr;
        if (info.value_size != size_of_one) {
            errno = EINVAL; // a damaged plan
            return nullptr;
        }
        elements = info.max_entries;
        bytes = elements * size_of_one;
        void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        return memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
    };
    uint64_t chunks = 0;
    states_ = map(plan::maps::flight_rings, sizeof(sonde_flight_ring), possible_, state_bytes_);
    chunks_ = map(plan::maps::flight_chunks, SONDE_FLIGHT_CHUNK_BYTES, chunks, mapped_chunks_);
    if (!states_ || !chunks_)
        return errno_error("cannot map the rings of the flight recorder", errno);
    const Result<std::string> online = read_file("/sys/devices/system/cpu/online");
    for (const uint64_t processor : numbers_in(online ? *online : "0"))
        if (processor < possible_ && rings_.size() < chunks)
            rings_.push_back({processor, 0, 0, {}});
    const uint64_t each = std::bit_floor(std::min(chunks / rings_.size(), most_ring_bytes / SONDE_FLIGHT_CHUNK));
    mask_ = each - 1;
    for (uint64_t i = 0; i < possible_; i++) {
        auto& ring = *reinterpret_cast<sonde_flight_ring*>(states_ + i * sizeof(sonde_flight_ring));
        ring.begun = SONDE_FLIGHT_BEGIN;
        ring.first = no_chunk;
    }
    for (size_t i = 0; i < rings_.size(); i++) {
        state(rings_[i]).first = i * each;
        state(rings_[i]).mask = mask_;
    }
    return {};
}

sonde_flight_ring& FlightRings::state(const Ring& ring) const {
    return *reinterpret_cast<sonde_flight_ring*>(states_ + ring.processor * sizeof(sonde_flight_ring));
}

void FlightRings::note_written(Ring& ring, const sonde_flight_ring& state) const {
    const uint64_t complete = progress_of(state.begun, state.done).complete;
    ring.written += static_cast<uint32_t>(complete - ring.written);
}

void FlightRings::watch() {
    for (Ring& ring : rings_) {
        sonde_flight_ring now{};
        now.begun = load_word(state(ring).begun);
        now.done = load_word(state(ring).done);
        if (load_word(state(ring).begun) == now.begun)
            note_written(ring, now);
    }
}

void FlightRings::copy_ring(Ring& ring) const {
    FlightCopy& copy = ring.copy;
    copy.before = read_state(state(ring));
    copy.chunks.resize((mask_ + 1) * SONDE_FLIGHT_CHUNK_BYTES);
    const uint64_t oldest = (copy.before.begun + ring_bytes() - 1) / SONDE_FLIGHT_CHUNK;
    for (uint64_t i = 0; i <= mask_; i++) {
        const uint64_t at = ((oldest - i) & mask_) * SONDE_FLIGHT_CHUNK_BYTES;
        std::memcpy(copy.chunks.data() + at, chunks_ + copy.before.first * SONDE_FLIGHT_CHUNK_BYTES + at,
                    SONDE_FLIGHT_CHUNK_BYTES);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    copy.after = copy.before;
    copy.after.begun = load_word(state(ring).begun);
    copy.after.scarred = load_word(state(ring).scarred);
    std::memcpy(copy.after.scars, state(ring).scars, sizeof copy.after.scars);
}

KeptRecords::Counts FlightRings::read(int64_t since, int64_t until) {
    Counts out;
    found_.clear();
    settled_.clear();
    read_until_ = until;
    int64_t whole_since = since; // from here on, no ring has lost a record
    for (Ring& ring : rings_)    // first all copies, then all work
        copy_ring(ring);
    for (Ring& ring : rings_) {
        note_written(ring, ring.copy.before);
        FlightContents contents = read_copy(ring.copy);
        uint64_t later = 0, found = 0, earlier = 0;
        int64_t oldest = until;
        for (auto record = contents.records.rbegin(); record != contents.records.rend(); ++record) {
            if (record->time == 0)
                record->time = time_of_print(*plan_, record->bytes);
            if (record->time <= last_dump_)
                continue;
            later += record->time > until;
            earlier += record->time < since;
            oldest = std::min(oldest, record->time);
            if (record->time > until || record->time < since)
                continue;
            found_.push_back(*record);
            found++;
        }
        const uint64_t present = found + later + contents.damaged;
        const uint64_t fresh = ring.written - ring.accounted;
        out.overwritten += fresh > present ? fresh - present : 0;
        const bool has_lost = fresh > present + earlier;
        if (has_lost && found > 0)
            whole_since = std::max(whole_since, oldest);
        out.late += has_lost && found == 0;
        out.damaged += contents.damaged;
        settled_.emplace_back(&ring, ring.written - later);
    }
    for (uint64_t i = 0; i < possible_; i++)
        out.unplaced += reinterpret_cast<const sonde_flight_ring*>(states_ + i * sizeof(sonde_flight_ring))->absent;
    std::ranges::stable_sort(found_, {}, &KeptRecord::time);
    const auto first = std::ranges::lower_bound(found_, whole_since, {}, &KeptRecord::time);
    out.overwritten += static_cast<uint64_t>(first - found_.begin());
    found_.erase(found_.begin(), first);
    out.kept = found_.size();
    out.since = found_.empty() ? 0 : found_.front().time;
    return out;
}

void FlightRings::pass(const std::function<void(int64_t time)>& before) {
    std::unordered_map<uint32_t, std::vector<uint8_t>>
        begun; // records in pieces, by the piece's number without its bits
    for (const KeptRecord& record : found_) {
        before(record.time);
        if (record.piece == 0) {
            handle_(record.bytes);
            continue;
        }
        const uint32_t id = record.piece >> SONDE_FLIGHT_PIECE_SHIFT;
        if (record.piece & SONDE_FIRST_PIECE)
            begun[id].clear();
        const auto whole = begun.find(id);
        if (whole == begun.end())
            continue; // its first piece was overwritten
        whole->second.insert(whole->second.end(), record.bytes.begin(), record.bytes.end());
        if (!(record.piece & SONDE_LAST_PIECE))
            continue;
        handle_(whole->second);
        begun.erase(whole);
    }
    found_ = {};
    for (Ring& ring : rings_)
        ring.copy = {};
}

void FlightRings::settle() {
    last_dump_ = std::max(last_dump_, read_until_);
    for (const auto& [ring, accounted] : settled_)
        ring->accounted = accounted;
    settled_.clear();
}

} // namespace sonde
