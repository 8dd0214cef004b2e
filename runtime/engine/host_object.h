// Host handlers' machine code: maps a relocatable ELF object and binds it to runtime/plan/host_api.h.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "base/result.h"

namespace sonde {

class HostObject {
  public:
    HostObject() = default;
    ~HostObject();
    HostObject(HostObject&& other) noexcept;
    HostObject& operator=(HostObject&& other) noexcept;

    // `object`: ELF64 x86-64, ET_REL. Errors: truncated, an unknown relocation, a symbol that nobody has.
    static Result<HostObject> load(std::span<const uint8_t> object);
    // Null if there is no such function.
    void* symbol(const std::string& name) const;

  private:
    void* memory_ = nullptr;
    size_t size_ = 0;
    std::map<std::string, void*> symbols_;
};

} // namespace sonde
