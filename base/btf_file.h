// Reads BTF, the kernel's description of its types. Finds types by number or by name.
//
// An object is a view of bytes that the caller owns. It indexes only where each type begins, because the kernel's file
// has more than a hundred thousand types, and few are used. All offsets are checked, because the input is large and not
// ours. For the format see Documentation/bpf/btf.rst.
#pragma once

#include <linux/btf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// Why the running kernel's types are unavailable, for the end of a sentence.
std::string why_no_kernel_types();

// The types of one BTF file. Type numbers count from 1; 0 is void.
class BtfFile {
  public:
    // `base`: the kernel's types, for a module's BTF, whose type numbers and strings continue after those of the
    // kernel. `bytes` and `base` must outlive this object.
    explicit BtfFile(std::string_view bytes, const BtfFile* base = nullptr);

    // False if the file is truncated, is not BTF, or contains unknown kinds. It has no types then.
    bool complete() const { return complete_; }

    // All type numbers are less than count(); 0 is void. A module's own types begin at first().
    uint32_t count() const { return first_ + static_cast<uint32_t>(places_.size()); }
    uint32_t first() const { return first_; }
    // The bytes of the file's own types and strings, without those of `base`.
    std::string_view type_bytes() const { return types_; }
    std::string_view name_bytes() const { return names_; }
    // The type with this number; null for void and for invalid numbers.
    const btf_type* at(uint32_t id) const;
    // The type without typedefs, qualifiers and tags; null for void.
    const btf_type* resolve(uint32_t id) const;
    // A string by its offset; "" if the offset is invalid.
    std::string_view name(uint32_t offset) const;
    std::string_view name(const btf_type& type) const { return name(type.name_off); }
    // Whether the values of this type, an enumeration, are signed. Empty if the file does not tell: pahole marks signed
    // enumerations since version 1.24.
    std::optional<bool> is_signed_enum(const btf_type& type) const;
    // The file's own first type of this kind and name; 0 if there is none.
    uint32_t find(std::string_view name, uint32_t kind) const;

    static uint32_t kind(const btf_type& type) { return BTF_INFO_KIND(type.info); }
    // The data after a type's header; its format depends on the kind, and entry_count() is the number of entries.
    template <typename Entry> static const Entry* entries(const btf_type& type) {
        return reinterpret_cast<const Entry*>(&type + 1);
    }
    static uint32_t entry_count(const btf_type& type) { return BTF_INFO_VLEN(type.info); }

  private:
    const BtfFile* base_;
    uint32_t first_ = 1, first_name_ = 0;
    std::string_view types_, names_;
    std::vector<uint32_t> places_; // of the file's own types
    bool complete_ = false;
    bool marks_signed_enums_ = false;
};

} // namespace sonde
