// Loads the machine code of host handlers: maps a relocatable ELF object and links it with the functions in
// runtime/plan/host_api.h.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "base/result.h"

namespace sonde {

// The memory of one loaded object. Functions from symbol() are valid as long as the object exists.
class HostObject {
  public:
    HostObject() = default;
    ~HostObject();
    HostObject(HostObject&& other) noexcept;
    HostObject& operator=(HostObject&& other) noexcept;

    // Loads an ELF64 object for this machine of type ET_REL. Fails if the object is damaged, or has a relocation or a
    // symbol that is not supported.
    static Result<HostObject> load(std::span<const uint8_t> object);
    // Returns the address of a function, or null if it does not exist.
    void* symbol(const std::string& name) const;

  private:
    void* memory_ = nullptr;
    size_t size_ = 0;
    std::map<std::string, void*> symbols_;
};

} // namespace sonde
