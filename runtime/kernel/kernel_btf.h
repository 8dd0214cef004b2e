// Writes a small BTF file with only those kernel types that a BPF object reads.
//
// The problem: to relocate an access to one field (CO-RE), libbpf reads and indexes all types of the kernel, which are
// 5 MB or more. This takes most of the time until a probe is attached.
//
// The idea: find the few structs that the object names, copy them and their named members into a new BTF file, and pass
// this file to libbpf instead (bpf_object_open_opts::btf_custom_path).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/btf_file.h"
#include "base/fd.h"

struct btf;

namespace sonde {

// Returns a file in memory with the structs of `local` that the kernel also has, each with the kernel's offsets.
// Returns nothing if the kernel's types cannot be read, or contain something that this function does not support. Then
// libbpf must read the kernel's types itself.
std::optional<Fd> needed_kernel_types(const btf* local);

// Does the same with the contents of a BTF file in `kernel`, and returns the bytes of the new file.
std::optional<std::string> needed_types(const btf* local, std::string_view kernel);

// Returns the offset of a struct's member in bytes, also if it is inside an anonymous struct or union. Returns nothing
// if the struct has no such member, or it is a bit field.
std::optional<uint32_t> member_offset(const BtfFile& types, std::string_view in, std::string_view member);

} // namespace sonde
