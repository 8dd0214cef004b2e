// Types of kernel modules, for C that uses types that the kernel itself lacks.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/btf_file.h"
#include "base/result.h"

namespace sonde {

// The modules of the kernel for which the script is compiled. They are read only if C uses an unknown type.
struct CModules {
    std::function<std::vector<std::string>()> names;
    std::function<Result<std::string>(const std::string& module)> btf; // extends the kernel's BTF
    std::string state = "loaded"; // describes all of them in messages; "installed" if the kernel is not the running one
};

// A type by its name in C.
struct CTypeName {
    std::string keyword; // "struct", "union", "enum"; "" for a typedef or an enumerator
    std::string name;
    bool operator<(const CTypeName& other) const {
        return std::tie(keyword, name) < std::tie(other.keyword, other.name);
    }
};

// The kernel's types, to which those of modules are added on demand: clang runs, find() gets the names that clang did
// not know, and clang runs again.
class ModuleTypes {
  public:
    // `kernel` (its BTF) and `modules` must outlive this object. `probed`: modules that the script probes; their types
    // take precedence.
    ModuleTypes(const std::string& kernel, const CModules& modules, std::set<std::string> probed)
        : kernel_bytes_(kernel), modules_(modules), probed_(std::move(probed)) {}

    // Searches types that clang does not know. Returns true if some are new.
    bool find(const std::set<CTypeName>& names);

    // The kernel's types, followed by those of the modules in which types were found.
    const std::string& btf() const { return merged_.empty() ? kernel_bytes_ : merged_; }
    // The number of the kernel's own types in btf().
    uint32_t kernel_count() { return kernel().count(); }
    // The numbers in btf() of the types that were found in modules.
    const std::set<uint32_t>& chosen() const { return chosen_; }

    // The modules in which types were found.
    std::set<std::string> used() const;

    // Explains why the type does not exist; "" if it cannot.
    std::string why_missing(const CTypeName& name);

  private:
    struct Module {
        std::string name, bytes;
        std::optional<BtfFile> types;
        bool is_merged = false;
        uint32_t first = 0; // number of its first type in merged_
    };
    const BtfFile& kernel();
    void read_modules();
    void merge();
    void append(Module& module, std::string& types, std::string& names);
    void choose();

    const std::string& kernel_bytes_;
    const CModules& modules_;
    std::set<std::string> probed_;
    std::optional<BtfFile> kernel_;
    std::optional<std::deque<Module>> read_;
    std::set<CTypeName> asked_, found_;
    std::string merged_;
    std::set<uint32_t> chosen_;
    std::map<CTypeName, std::string> differ_; // why none of several different types is used: the modules that have them
};

} // namespace sonde
