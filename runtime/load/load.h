// Loads a plan's BPF object into the kernel with libbpf: opens it, sets sizes and attach types, has it verified, and
// maps its data.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/plan/plan.h"
#include "runtime/processes/process_numbers.h"
#include "runtime/processes/target_set.h"

struct bpf_map;
struct bpf_object;
struct bpf_link;

namespace sonde {

class SharedMaps;

// Error::os_error if the kernel's JIT compiler fails on a handler that the verifier accepted. The number is ENOTSUPP,
// which exists only in the kernel.
//
// On x86-64 the JIT compiler shortens jumps in several passes until the size of the code no longer changes. It also
// stops when one jump grows while another one shrinks, and then reports "bpf_jit: fatal error"
// (arch/x86/net/bpf_jit_comp.c). Different code with the same meaning can succeed, so the caller may generate the
// handlers again.
constexpr int kernel_cannot_compile = 524;

// The loaded object. Destroying it closes the programs and maps.
class KernelObject {
  public:
    // Loads the programs for the attach mechanism that mechanism_of() selects. `numbers` must outlive the result.
    // `shared`: the existing maps of the plan's shared globals, which the object then uses
    // (runtime/load/shared_maps.h); null: the plan shares no globals. `shared` must outlive the result. Errors: a
    // missing capability, by name; the verifier's refusal with the script's line; kernel_cannot_compile.
    static Result<std::unique_ptr<KernelObject>> load(const plan::Plan& plan, const plan::LinkKinds& links,
                                                      const ProcessNumbers& numbers, const SharedMaps* shared);
    ~KernelObject();
    KernelObject(const KernelObject&) = delete;
    KernelObject& operator=(const KernelObject&) = delete;

    char* data() const { return data_; }                      // the map `sonde_data`, mapped into memory
    TargetSet targets() const { return TargetSet(targets_); } // its numbers are those of numbers().in_kernel()
    const ProcessNumbers& numbers() const { return *numbers_; }
    int map_fd(const std::string& name) const;     // -1 if no map has this name
    int program_fd(const std::string& name) const; // -1 if no program has this name
    // Runs a program for raw tracepoints once, in this process. Its context consists of `words`, at most 8. Returns the
    // program's result.
    Result<uint32_t> run(const std::string& program, std::initializer_list<uint64_t> words) const;
    bpf_object* object() const { return object_; }
    // The number of hits that the kernel did not deliver because a program was running on the same processor.
    uint64_t missed_by(const std::string& program) const;

  private:
    KernelObject() = default;
    bpf_object* object_ = nullptr;
    // Maps a map's values into memory until this object is destroyed. Returns null on failure, with the reason in
    // errno.
    void* map_memory(const bpf_map* map, size_t bytes);
    std::vector<std::pair<void*, size_t>> mapped_;
    char* data_ = nullptr;
    uint64_t* targets_ = nullptr;
    const ProcessNumbers* numbers_ = nullptr;
};

} // namespace sonde
