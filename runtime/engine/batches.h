// Puts together the records of one handler run.
//
// A run's records must appear together in the output, although handlers run on several processors at once. So a run
// gathers its records in memory and sends them as one ring buffer record, a batch (codegen/rtlib/gather.bpf.c). If the
// memory fills up, the run sends several pieces, and pieces of other runs may lie between them. This class collects the
// pieces of each run, and processes them when the last one arrives. If a piece was lost, none of the run's records is
// processed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/plan/plan.h"

namespace sonde {

// The incomplete runs of all handlers.
class Batches {
  public:
    // Adds a piece. If it completes a run, calls `handle` for each record of the run, including its header.
    void add(const plan::RecordHeader& header, std::span<const uint8_t> piece,
             const std::function<void(std::span<const uint8_t>)>& handle);

  private:
    // Incomplete runs, by the kernel memory that they were gathered in. The first piece of a new run replaces an
    // incomplete one, whose last piece must have been lost.
    std::unordered_map<uint32_t, std::vector<uint8_t>> begun_;
};

} // namespace sonde
