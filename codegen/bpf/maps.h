// The maps of the BPF object. Their sizes are known only when all programs are lowered, so they are declared at the
// end.
//
// libbpf reads a map's attributes from debug types: a member `int (*name)[N]` means name = N.
#pragma once

#include <algorithm>
#include <string>

#include "codegen/bpf/context.h"

namespace sonde {

constexpr uint32_t frames_of_all = 32, scans_of_all = 8; // largest number of slots

// The largest memory, in bytes, for all loops over arrays of one handler's run.
uint64_t largest_walks(const CodegenFacts& facts);

// Collects the needs of all programs, and declares the maps at the end. One object for each module.
class Maps {
  public:
    explicit Maps(BpfContext& bpf) : bpf_(bpf), e_(bpf.e) {}
    // Reports that a run of some handler needs at least `size` bytes of its slot. The largest size counts.
    void need_frame(uint64_t size) { frame_bytes_ = std::max(frame_bytes_, size); }
    void need_scan(uint64_t size) { scan_bytes_ = std::max(scan_bytes_, size); }
    // Report that some handler has a frame, has a loop over an array, counts values that are not stacks, or prints.
    void use_frames() { frames_ = true; }
    void use_scans() { scans_ = true; }
    void use_stack_counts() { counts_stacks_ = true; }
    void use_events() { sends_ = true; }
    // Declares all maps. Returns the name of a feature that this kernel lacks, or "".
    std::string declare();

  private:
    // The number of slots for loops: less if the slots are large. A claim works with any number.
    uint32_t count_scans() const;
    void declare(const std::string& name, uint32_t type, uint64_t key_size, uint64_t value_size, uint32_t entries);
    void declare_task_storage(const std::string& name, uint64_t value_size);
    // A member of the map's type, and what it points to.
    struct Attribute {
        const char* name;
        llvm::DIType* type;
    };
    // The type for an attribute that is a number.
    llvm::DIType* number_type(uint64_t number);
    void describe_map(const std::string& name, llvm::ArrayRef<Attribute> attributes);
    // Adds a global variable to the BTF of .bss. Without it, libbpf does not make .bss memory-mappable.
    void describe_data();

    BpfContext& bpf_;
    Emitter& e_;
    uint64_t frame_bytes_ = 0, scan_bytes_ = 0;
    bool frames_ = false, scans_ = false, counts_stacks_ = false, sends_ = false;
};

} // namespace sonde
