// Text at the beginning of all C in scripts.
//
// A script's C was written for kernel modules: it expects the kernel's headers. sonde has no headers. It has the
// kernel's types, from BTF, and this text for the most common macros and small functions. The definitions are sonde's
// own. They have the names and the meaning of the kernel's, but are made of BPF helpers:
//
//     current              (struct task_struct *)bpf_get_current_task()
//     strlcpy(to, from, n) bpf_probe_read_kernel_str(to, n, from)
//     spin_lock(lock)      nothing
//
// A helper is a function pointer whose value is the helper's number (include/uapi/linux/bpf.h). clang compiles a call
// through this constant to the instruction `call number`.
//
// Functions named `sonde_mark_...` do not exist. They mark places in the code, and Securing in memory.cc replaces each
// call. Examples are the length of a string, which needs a helper and an error's place, and a slot for a string.
//
// Some macros count their arguments. C has no other way to overload a name:
//
//     #define SONDE_FIFTH(a, b, c, d, e, ...) e
//     #define f(...) SONDE_FIFTH(__VA_ARGS__, with_4, with_3, with_2, with_1)(__VA_ARGS__)
//
// The text is in headers/*.h. The build embeds these files (codegen/c/embed.cmake). Parts of kernel_parts.h and
// script_parts.h, and lines of kernel_macros.h, are added only if the script uses their names.
//
// What would break this: a macro whose name is also a member of a kernel structure. The kernel's types precede this
// text, so that they are not affected.
#pragma once

#include <string_view>

namespace sonde {

// Integer types. They come before the kernel's types, which may define them again in the same way.
extern const char* const c_basic_types;
// Replaces `sizeof` where the operand may be a string of the script.
constexpr std::string_view c_size_of_string = "sIzEoF";
// What all C gets. It comes after the kernel's types and needs MAXSTRINGLEN.
extern const char* const c_prelude;
// Lines `#define NAME...`, each included if the script uses NAME.
extern const char* const c_kernel_macros;
// Parts `//@ NAMES : TYPES`. A part may call the functions that frontend/sema/c_text.cc finds for its names.
extern const char *const c_kernel_parts, *const c_script_parts;

} // namespace sonde
