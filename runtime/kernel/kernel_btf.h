// The few kernel types that an object reads, as a type file of their own.
//
// Left alone, libbpf reads and indexes all types of the kernel (5 MB and more) to relocate an access to one field. That
// is most of the time until a probe is armed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/btf_file.h"
#include "base/fd.h"

struct btf;

namespace sonde {

// A file in memory with those structs of `local` that the kernel has too, each with its members at the kernel's places.
// Nothing if the kernel's types cannot be read or are laid out in a way that this does not know: libbpf shall read
// them.
std::optional<Fd> needed_kernel_types(const btf* local);

// The same as bytes, `kernel` being the contents of a BTF file.
std::optional<std::string> needed_types(const btf* local, std::string_view kernel);

// Where a struct has a member, in bytes; members without a name are looked into. Nothing: it has none.
std::optional<uint32_t> member_offset(const BtfFile& types, std::string_view in, std::string_view member);

} // namespace sonde
