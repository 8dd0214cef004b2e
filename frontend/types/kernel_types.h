// What a kernel says about itself: its types, functions and tracepoints, from BTF.
//
// Read lazily, like a program's debug information: a module's file is opened when it is named, a type is made when it
// is asked for, a record's members when they are looked at. BTF has no variables but per-CPU ones, no places in the
// source, and no inlined functions; those need the kernel's DWARF.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/btf_file.h"
#include "base/kernel_files.h"
#include "base/result.h"
#include "frontend/types/type.h"

namespace sonde {

// A function of the kernel or of a module, or a tracepoint.
struct KernelFunction {
    std::string name;
    std::string module;         // "" for the kernel itself
    const Type* type = nullptr; // Type::Function: parameters with their names, and the result; null: not known
};

// A variable of the kernel's that BTF tells of.
struct KernelGlobal {
    const Type* type = nullptr;
    std::optional<uint64_t> per_cpu; // each CPU has a copy: the offset from the first byte of what each has
};

class KernelTypes final : public TypeSource {
  public:
    // `folder` has a file for the kernel ("vmlinux") and one for each module. Errors: the kernel has no BTF, or BTF of
    // a kind that is not known here.
    static Result<std::unique_ptr<KernelTypes>> open(const std::string& folder = "/sys/kernel/btf");
    // Those of a kernel that does not run here; must not outlive `files`.
    static Result<std::unique_ptr<KernelTypes>> open(const KernelFiles& files);

    // Differs between two kernels whose types differ.
    uint64_t fingerprint() const;
    // The same for a module's. Errors: it has none.
    Result<uint64_t> module_fingerprint(const std::string& module) const;
    // Whether handlers that know types of a module fit this one. Errors: it is not loaded, or is another build.
    Result<void> check_module(const std::string& module, uint64_t fingerprint) const;
    // Modules of whose types members were looked at.
    const std::set<std::string>& modules_used() const { return modules_used_; }

    // Modules that have types; sorted.
    std::vector<std::string> modules() const;
    // BTF of a module, which builds on the kernel's, or the kernel's own (""); keeps nothing. Errors: there is none.
    Result<std::string> btf_bytes(const std::string& module) const;

    // Those whose name matches a glob, in the order of their names. `module`: a glob too, of which "" is the kernel
    // itself; a null pointer is the kernel and all modules.
    std::vector<KernelFunction> functions(const std::string& pattern, const std::string* module);
    // A tracepoint's parameters are those of its TP_PROTO. Without `module`, those of the running kernel's modules too;
    // of another kernel's, which has some hundred modules installed, only those that are asked for are looked at.
    std::vector<KernelFunction> tracepoints(const std::string& pattern, const std::string* module = nullptr);
    // For "did you mean"; unsorted.
    std::vector<std::string> tracepoint_names();
    std::vector<std::string> function_names(const std::string& module);

    // The kernel's own variables of that name; BTF has those that each CPU has a copy of.
    std::vector<KernelGlobal> globals(std::string_view name);
    std::vector<std::string> global_names();

    // A type by its name: "struct s", "union u", "enum e", "int", a typedef, each with any number of `*` after it; the
    // keyword may be missing. Null if there is none.
    const Type* find_type(std::string_view name);
    // What find_type() finds, for "did you mean".
    std::vector<std::string> type_names();

    // An enumerator of the kernel itself; nullopt if there is none of that name.
    std::optional<int64_t> enumerator(std::string_view name);
    // For "did you mean".
    std::vector<std::string> enumerator_names();

    void complete(Type& record) override;

  private:
    struct File {
        std::string module; // "" for the kernel
        std::string bytes;
        BtfFile types;
    };
    KernelTypes() = default;
    static Result<std::unique_ptr<KernelTypes>> read(std::unique_ptr<KernelTypes> out, Result<std::string> kernel,
                                                     const std::string& path);
    // A module's file; null if it has none. "" is the kernel.
    File* file(const std::string& module);
    const Type* type(const File& file, uint32_t id);
    void fill(const File& file, const btf_type& from, Type& to);
    const Type* pointer_to(const Type* target);
    const Type* search(std::string_view name); // without `*`; null: there is none
    // `visit` gets every type of the file's own that is of that kind, with its number and name.
    template <typename Visit> static void each(const File& file, uint32_t kind, Visit visit);

    std::string folder_;                 // of the running kernel's
    const KernelFiles* other_ = nullptr; // another kernel's
    std::deque<File> files_;             // [0] is the kernel
    std::deque<Type> made_;
    std::unordered_map<uint64_t, Type*> by_number_; // file << 32 | number
    struct Found {
        const Type* type = nullptr;
        size_t files = 0; // that were looked at
    };
    std::unordered_map<std::string, Found> found_; // by find_type()
    struct Origin {
        const File* file;
        uint32_t id;
    };
    std::unordered_map<const Type*, Origin> records_; // whose members are not there yet
    std::set<std::string> modules_used_;
};

} // namespace sonde
