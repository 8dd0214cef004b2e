// The types, functions and tracepoints of a kernel, from its BTF.
//
// Everything is read lazily, like a program's debug information. A module's file is opened when a script names the
// module. A type is created, and the members of a record are read, on the first use.
//
// BTF has no variables except per-CPU variables, no source positions and no inlined functions. Those need the kernel's
// DWARF.
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
    const Type* type = nullptr; // Type::Function with the parameters, their names, and the result; null if unknown
};

// A variable of the kernel that BTF describes.
struct KernelGlobal {
    const Type* type = nullptr;
    std::optional<uint64_t> per_cpu; // each CPU has a copy; this is the offset in the per-CPU memory
};

// Owns the types that it returns.
class KernelTypes final : public TypeSource {
  public:
    // Opens the running kernel's types. `folder` has a file for the kernel ("vmlinux") and one for each module. Fails
    // if the kernel has no BTF, or if its format is not supported.
    static Result<std::unique_ptr<KernelTypes>> open(const std::string& folder = "/sys/kernel/btf");
    // Opens the types of a kernel that is not running here. The result must not outlive `files`.
    static Result<std::unique_ptr<KernelTypes>> open(const KernelFiles& files);

    // Returns a hash that differs between kernels with different types.
    uint64_t fingerprint() const;
    // Returns the same for a module. Fails if the module has no types.
    Result<uint64_t> module_fingerprint(const std::string& module) const;
    // Checks that the loaded module has the types with this fingerprint, so that handlers compiled for them are
    // correct. Fails if the module is not loaded or is another build.
    Result<void> check_module(const std::string& module, uint64_t fingerprint) const;
    // Returns the modules with types whose members were used.
    const std::set<std::string>& modules_used() const { return modules_used_; }

    // Returns the names of all modules that have types, sorted.
    std::vector<std::string> modules() const;
    // Returns the BTF of a module, which refers to the kernel's, or of the kernel (""). Does not cache it. Fails if it
    // does not exist.
    Result<std::string> btf_bytes(const std::string& module) const;

    // Returns the functions whose names match a pattern, sorted by name. `module` is also a pattern; "" means the
    // kernel itself. A null pointer means the kernel and all modules.
    std::vector<KernelFunction> functions(const std::string& pattern, const std::string* module);
    // Returns tracepoints with the parameters of their TP_PROTO. Without `module`, includes those of the running
    // kernel's modules. Another kernel has some hundred modules installed; of these, only the requested ones are read.
    std::vector<KernelFunction> tracepoints(const std::string& pattern, const std::string* module = nullptr);
    // Names for "did you mean"; unsorted.
    std::vector<std::string> tracepoint_names();
    // All functions of a module (or of the kernel, "") with BTF, unsorted.
    std::vector<std::string> function_names(const std::string& module);

    // Returns the kernel's variables with that name. BTF has per-CPU variables only.
    std::vector<KernelGlobal> globals(std::string_view name);
    // All variables that BTF describes, unsorted.
    std::vector<std::string> global_names();

    // Returns a type by its name: "struct s", "union u", "enum e", "int" or a typedef, each followed by any number of
    // `*`. The keyword may be omitted. Returns null if the type does not exist.
    const Type* find_type(std::string_view name);
    // Returns the names that find_type() finds, for "did you mean".
    std::vector<std::string> type_names();

    // Returns the value of an enumerator of the kernel itself, or nullopt.
    std::optional<int64_t> enumerator(std::string_view name);
    // Returns all enumerators, for "did you mean".
    std::vector<std::string> enumerator_names();

    // Reads a record's members.
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
    // Opens a module's file, or returns the one already open. Returns null if the module has no types. "" is the
    // kernel.
    File* file(const std::string& module);
    const Type* type(const File& file, uint32_t id);
    void fill(const File& file, const btf_type& from, Type& to);
    const Type* pointer_to(const Type* target);
    const Type* search(std::string_view name); // without `*`; returns null if not found
    // Calls `visit` with the id and name of each type of that kind in the file itself (not in the kernel that a module
    // refers to).
    template <typename Visit> static void each(const File& file, uint32_t kind, Visit visit);

    std::string folder_;                 // of the running kernel
    const KernelFiles* other_ = nullptr; // another kernel; null: the running one
    std::deque<File> files_;             // [0] is the kernel
    std::deque<Type> made_;
    std::unordered_map<uint64_t, Type*> by_number_; // file << 32 | id
    struct Found {
        const Type* type = nullptr;
        size_t files = 0; // number of files that were searched
    };
    std::unordered_map<std::string, Found> found_; // cache of find_type()
    struct Origin {
        const File* file;
        uint32_t id;
    };
    std::unordered_map<const Type*, Origin> records_; // their members were not read yet
    std::set<std::string> modules_used_;
};

} // namespace sonde
