// Reads BTF.
//
// A file consists of a header, the types, and the strings. A type has 12 bytes, and after these some data whose size
// depends on the type's kind. So the types have no fixed size, and the number of a type does not give its position. The
// constructor walks over all types once and stores where each begins.
//
// A module's BTF ("split BTF") continues the kernel's:
//
//     kernel     types 1 to 130,000             strings at 0 to 900,000
//     module     types from 130,001             strings from 900,001
//
// All references use these common numbers. at() and name() pass smaller numbers to the base.
//
// What would break this: a kind that is newer than this code. The size of its data is unknown, so everything after it
// would be read from the wrong places. The file counts as incomplete then, and has no types.
#include "base/btf_file.h"

#include <unistd.h>

#include <cstring>

namespace sonde {
namespace {

constexpr int most_nested = 16;

// The number of bytes after a type's header.
size_t bytes_behind(const btf_type& type) {
    size_t count = BTF_INFO_VLEN(type.info);
    switch (BTF_INFO_KIND(type.info)) {
    case BTF_KIND_INT:
    case BTF_KIND_VAR:
    case BTF_KIND_DECL_TAG:
        return sizeof(uint32_t);
    case BTF_KIND_ARRAY:
        return sizeof(struct btf_array);
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
        return count * sizeof(struct btf_member);
    case BTF_KIND_ENUM:
        return count * sizeof(struct btf_enum);
    case BTF_KIND_FUNC_PROTO:
        return count * sizeof(struct btf_param);
    case BTF_KIND_DATASEC:
        return count * sizeof(struct btf_var_secinfo);
    case BTF_KIND_ENUM64:
        return count * sizeof(struct btf_enum64);
    default:
        return 0;
    }
}

// Whether the type only adds a name or a qualifier to another type.
bool is_wrapper(const btf_type& type) {
    switch (BTF_INFO_KIND(type.info)) {
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_CONST:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_TYPE_TAG:
        return true;
    default:
        return false;
    }
}

} // namespace

BtfFile::BtfFile(std::string_view bytes, const BtfFile* base) : base_(base) {
    btf_header header;
    if (bytes.size() < sizeof header || (base && !base->complete()))
        return;
    std::memcpy(&header, bytes.data(), sizeof header);
    auto part = [&](uint64_t offset, uint64_t size) {
        uint64_t begin = header.hdr_len + offset;
        return begin + size <= bytes.size() ? bytes.substr(begin, size) : std::string_view();
    };
    if (header.magic != BTF_MAGIC || header.version != BTF_VERSION || (header.hdr_len + header.type_off) % 4 != 0)
        return;
    types_ = part(header.type_off, header.type_len);
    names_ = part(header.str_off, header.str_len);
    if (base_) {
        first_ = base_->count();
        first_name_ = base_->first_name_ + static_cast<uint32_t>(base_->names_.size());
    }
    for (size_t place = 0; place + sizeof(btf_type) <= types_.size();) {
        auto* type = reinterpret_cast<const btf_type*>(types_.data() + place);
        size_t size = sizeof *type + bytes_behind(*type);
        // An unknown kind may have data after its header, so the rest cannot be read.
        if (size > types_.size() - place || kind(*type) > BTF_KIND_ENUM64)
            return;
        places_.push_back(static_cast<uint32_t>(place));
        marks_signed_enums_ |=
            kind(*type) == BTF_KIND_ENUM64 || (kind(*type) == BTF_KIND_ENUM && BTF_INFO_KFLAG(type->info));
        place += size;
    }
    complete_ = !types_.empty() && !names_.empty() && names_.back() == '\0';
}

const btf_type* BtfFile::at(uint32_t id) const {
    if (id < first_)
        return base_ ? base_->at(id) : nullptr;
    uint32_t index = id - first_;
    return complete_ && index < places_.size() ? reinterpret_cast<const btf_type*>(types_.data() + places_[index])
                                               : nullptr;
}

const btf_type* BtfFile::resolve(uint32_t id) const {
    for (int depth = 0; depth < most_nested; depth++) {
        const btf_type* type = at(id);
        if (!type || !is_wrapper(*type))
            return type;
        id = type->type;
    }
    return nullptr;
}

std::string_view BtfFile::name(uint32_t offset) const {
    if (offset < first_name_)
        return base_->name(offset);
    offset -= first_name_;
    return complete_ && offset < names_.size() ? std::string_view(names_.data() + offset) : std::string_view();
}

std::optional<bool> BtfFile::is_signed_enum(const btf_type& type) const {
    if (BTF_INFO_KFLAG(type.info))
        return true;
    const bool marks = marks_signed_enums_ || (base_ && base_->marks_signed_enums_);
    return marks ? std::optional(false) : std::nullopt;
}

uint32_t BtfFile::find(std::string_view wanted, uint32_t wanted_kind) const {
    // Each name occurs once, in this file or in its base.
    auto place = [&](const BtfFile& file) -> uint32_t {
        std::string whole = '\0' + std::string(wanted) + '\0';
        const void* at = memmem(file.names_.data(), file.names_.size(), whole.data(), whole.size());
        return at ? static_cast<uint32_t>(static_cast<const char*>(at) - file.names_.data()) + 1 + file.first_name_ : 0;
    };
    uint32_t name_offset = place(*this);
    if (name_offset == 0 && base_)
        name_offset = place(*base_);
    if (name_offset == 0 || !complete_)
        return 0;
    for (size_t i = 0; i < places_.size(); i++) {
        auto* type = reinterpret_cast<const btf_type*>(types_.data() + places_[i]);
        if (type->name_off == name_offset && kind(*type) == wanted_kind)
            return first_ + static_cast<uint32_t>(i);
    }
    return 0;
}

std::string why_no_kernel_types() {
    if (access("/sys/kernel", F_OK) != 0)
        return "sysfs is not mounted; run `mount -t sysfs sysfs /sys`";
    return "`/sys/kernel/btf/vmlinux` does not exist (CONFIG_DEBUG_INFO_BTF)";
}

} // namespace sonde
