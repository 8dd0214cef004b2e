// The maps of the BPF object, whose sizes are known when everything is lowered.
//
// They are declared to libbpf by debug types: a member `int (*name)[N]` says name = N.
#pragma once

#include <algorithm>
#include <string>

#include "codegen/bpf/context.h"

namespace sonde {

constexpr uint32_t frames_of_all = 32, scans_of_all = 8; // slots, at most

// The bytes that one run's walks over arrays may have together.
uint64_t largest_walks(const CodegenOptions& options);

class Maps {
  public:
    explicit Maps(BpfContext& bpf) : bpf_(bpf), e_(bpf.e) {}
    // One run of some handler needs at least that many bytes of its slot.
    void need_frame(uint64_t size) { frame_bytes_ = std::max(frame_bytes_, size); }
    void need_scan(uint64_t size) { scan_bytes_ = std::max(scan_bytes_, size); }
    // Some handler has a frame, walks over an array, counts stacks that are none, has something to show.
    void use_frames() { frames_ = true; }
    void use_scans() { scans_ = true; }
    void use_stack_counts() { counts_stacks_ = true; }
    void use_events() { sends_ = true; }
    // Declares them. Gives what this kernel cannot do, or "".
    std::string declare();

  private:
    // Fewer where they are large: a claim finds those that there are.
    uint32_t count_scans() const;
    void declare(const std::string& name, uint32_t type, uint64_t key_size, uint64_t value_size, uint32_t entries);
    // libbpf makes .bss memory-mappable only if BTF says that it holds a global variable.
    void describe_data();

    BpfContext& bpf_;
    Emitter& e_;
    uint64_t frame_bytes_ = 0, scan_bytes_ = 0;
    bool frames_ = false, scans_ = false, counts_stacks_ = false, sends_ = false;
};

} // namespace sonde
