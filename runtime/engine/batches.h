// What one run of a handler prints is one piece: all that it sends comes at once, or is put together here.
//
// A run gathers its records and sends them as one record of the ring (codegen/rtlib/gather.bpf.c). One that sends more
// than fits into its memory sends pieces, among which those of other runs lie. They count only with the last one: a
// run of which something was lost has none.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/plan/plan.h"

namespace sonde {

class Batches {
  public:
    // Calls `handle` for each record of a run, header and all, when the run is complete.
    void add(const plan::RecordHeader& header, std::span<const uint8_t> piece,
             const std::function<void(std::span<const uint8_t>)>& handle);

  private:
    // By the memory that they were gathered in: a new run there means that the last one's end was lost.
    std::unordered_map<uint32_t, std::vector<uint8_t>> begun_;
};

} // namespace sonde
