#include "runtime/engine/batches.h"

#include <cstring>

namespace sonde {
namespace {

// Splits a batch into its records. Stops at damage.
void handle_all(std::span<const uint8_t> records, const std::function<void(std::span<const uint8_t>)>& handle) {
    while (records.size() >= sizeof(plan::RecordHeader)) {
        plan::RecordHeader header;
        std::memcpy(&header, records.data(), sizeof header);
        const size_t size = sizeof header + header.size;
        // A batch never contains another batch.
        if (size > records.size() || header.type == plan::Batch)
            return;
        handle(records.first(size));
        records = records.subspan(size);
    }
}

} // namespace

// A piece without a first one is dropped: the beginning of its run was lost.
void Batches::add(const plan::RecordHeader& header, std::span<const uint8_t> piece,
                  const std::function<void(std::span<const uint8_t>)>& handle) {
    const bool first = header.format & plan::FirstPiece, last = header.format & plan::LastPiece;
    if (first && last) {
        handle_all(piece, handle);
        return;
    }
    if (first)
        begun_[header.row].clear();
    auto run = begun_.find(header.row);
    if (run == begun_.end())
        return;
    run->second.insert(run->second.end(), piece.begin(), piece.end());
    if (!last)
        return;
    const std::vector<uint8_t> whole = std::move(run->second);
    begun_.erase(run);
    handle_all(whole, handle);
}

} // namespace sonde
