// The maps in the kernel of globals that several plans share (runtime/plan/shared_globals.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "runtime/plan/plan.h"

struct bpf_object;

namespace sonde {

// Copies an element of an array in the kernel. Returns false if the map has no such element.
bool read_map_element(int map, uint32_t index, void* value);

// The owner of the maps. Child processes inherit it, so that a plan's session can run in a child.
class SharedMaps {
  public:
    // Creates the memory for scalars, filled with zeros. Errors: a missing capability, by name.
    static Result<std::unique_ptr<SharedMaps>> create();
    ~SharedMaps();
    SharedMaps(const SharedMaps&) = delete;
    SharedMaps& operator=(const SharedMaps&) = delete;

    // Gives a global its initial value; for an array, creates its maps. `max_string`: Plan::max_string.
    Result<void> add(const plan::Global& global, uint32_t max_string);
    // Destroys the maps of an array that no plan uses.
    void remove(const plan::Global& global);

    // Lets a BPF object, which is open and not loaded, use the maps of the plan's shared globals.
    Result<void> reuse(const plan::Plan& plan, bpf_object* object) const;
    // Maps the whole data area of a plan into memory: first the plan's own part, which is the map `own`, or new memory
    // if `own` is -1; then the shared part, at plan::shared_at. Its size is plan::shared_end. Returns null on failure,
    // with the reason in errno.
    void* map_data(int own, uint64_t own_bytes) const;
    // The descriptor of a map of an array, by its name in the BPF object. -1 if no map has this name.
    int map_fd(const std::string& name) const;
    // The data area as map_data() returns it, without the own part.
    char* memory() const { return memory_; }

  private:
    SharedMaps() = default;
    Fd scalars_;
    char* memory_ = nullptr;
    std::map<std::string, Fd> arrays_; // by name
};

} // namespace sonde
