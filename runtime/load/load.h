// The BPF object in the kernel: opened, sized, verified, with its maps at hand. libbpf is wrapped here and in attach/.
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

// Error::os_error where the kernel's compiler (JIT) fails on a handler that its verifier has accepted: it is ENOTSUPP,
// which is the kernel's own. On x86-64 it makes jumps shorter until the size of all code stays the same; that happens
// too while one grows as another one shrinks (arch/x86/net/bpf_jit_comp.c, "bpf_jit: fatal error"). Other code of the
// same meaning goes.
constexpr int kernel_cannot_compile = 524;

class KernelObject {
  public:
    // The programs are loaded for how mechanism_of() has them attached. Errors: missing capabilities, by name; a
    // verifier's refusal with the script's line; kernel_cannot_compile. `numbers` outlives it.
    static Result<std::unique_ptr<KernelObject>> load(const plan::Plan& plan, const plan::Ways& ways,
                                                      const ProcessNumbers& numbers);
    ~KernelObject();
    KernelObject(const KernelObject&) = delete;
    KernelObject& operator=(const KernelObject&) = delete;

    char* data() const { return data_; }                      // `sonde_data`, mapped
    TargetSet targets() const { return TargetSet(targets_); } // by numbers().in_kernel()
    const ProcessNumbers& numbers() const { return *numbers_; }
    int map_fd(const std::string& name) const;     // -1: no such map
    int program_fd(const std::string& name) const; // -1: no such program
    // Runs a raw tracepoint's program once, in this process, with these words as its context; gives its result.
    Result<uint32_t> run(const std::string& program, std::initializer_list<uint64_t> words) const;
    bpf_object* object() const { return object_; }
    // Hits that the kernel has kept from a program, because one was running on the processor already.
    uint64_t missed_by(const std::string& program) const;

  private:
    KernelObject() = default;
    bpf_object* object_ = nullptr;
    // A map's memory, unmapped with the object; null: errno says why.
    void* map_memory(const bpf_map* map, size_t bytes);
    std::vector<std::pair<void*, size_t>> mapped_;
    char* data_ = nullptr;
    uint64_t* targets_ = nullptr;
    const ProcessNumbers* numbers_ = nullptr;
};

} // namespace sonde
