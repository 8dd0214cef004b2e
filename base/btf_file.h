// BTF, the kernel's own description of its types, found by number or by name.
//
// A view of bytes that somebody else keeps. Nothing is copied or indexed but where each type begins: the kernel's file
// has more than a hundred thousand of them, and few are ever looked at. Every offset is checked, since the file is big
// and not ours. The format: Documentation/bpf/btf.rst.
#pragma once

#include <linux/btf.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// Why the running kernel's types are not there, at the end of a sentence.
std::string why_no_kernel_types();

class BtfFile {
  public:
    // `base`: what a module's types build on (the kernel's); numbers and names go on after it. Both must outlive this.
    explicit BtfFile(std::string_view bytes, const BtfFile* base = nullptr);

    // False if the file is cut off, is no BTF, or has kinds that are not known here: then there are no types.
    bool complete() const { return complete_; }

    // Numbers are below that, 0 is void; those of a module's own types begin at first().
    uint32_t count() const { return first_ + static_cast<uint32_t>(places_.size()); }
    uint32_t first() const { return first_; }
    // The bytes of its own types and of its own names; those of a module's go on after the kernel's.
    std::string_view type_bytes() const { return types_; }
    std::string_view name_bytes() const { return names_; }
    // Null for void and for numbers that there are not.
    const btf_type* at(uint32_t id) const;
    // A type without the typedefs, qualifiers and tags around it; null for void.
    const btf_type* resolve(uint32_t id) const;
    std::string_view name(uint32_t offset) const;
    std::string_view name(const btf_type& type) const { return name(type.name_off); }
    // The first type of that kind and name that is this file's own; 0: none.
    uint32_t find(std::string_view name, uint32_t kind) const;

    static uint32_t kind(const btf_type& type) { return BTF_INFO_KIND(type.info); }
    // What follows a type's head, as many as its kind has.
    template <typename Entry> static const Entry* entries(const btf_type& type) {
        return reinterpret_cast<const Entry*>(&type + 1);
    }
    static uint32_t entry_count(const btf_type& type) { return BTF_INFO_VLEN(type.info); }

  private:
    const BtfFile* base_;
    uint32_t first_ = 1, first_name_ = 0;
    std::string_view types_, names_;
    std::vector<uint32_t> places_; // of the types of its own
    bool complete_ = false;
};

} // namespace sonde
