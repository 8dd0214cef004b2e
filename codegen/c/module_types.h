// Types of the kernel's modules, for C that names what the kernel itself does not have.
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

// The modules of the kernel that is translated for. They are asked only where C names a type that is missing.
struct CModules {
    std::function<std::vector<std::string>()> names;
    std::function<Result<std::string>(const std::string& module)> btf; // builds on the kernel's
    std::string state = "loaded"; // what all of them are; of a kernel that does not run here: "installed"
};

// A type as C names it.
struct CTypeName {
    std::string keyword; // "struct", "union", "enum"; "" for a typedef or an enumerator
    std::string name;
    bool operator<(const CTypeName& other) const {
        return std::tie(keyword, name) < std::tie(other.keyword, other.name);
    }
};

class ModuleTypes {
  public:
    // `probed`: the modules that the script probes, whose types come before those of others. `kernel`, its BTF, and
    // `modules` must outlive this.
    ModuleTypes(const std::string& kernel, const CModules& modules, std::set<std::string> probed)
        : kernel_bytes_(kernel), modules_(modules), probed_(std::move(probed)) {}

    // Looks for types that clang does not know. True: some are there, and were not before.
    bool find(const std::set<CTypeName>& names);

    // The kernel's types, and after them those of the modules that have what was found.
    const std::string& btf() const { return merged_.empty() ? kernel_bytes_ : merged_; }
    // Of its types, how many numbers are the kernel's own.
    uint32_t kernel_count() { return kernel().count(); }
    // The modules' types that were found, by their numbers there.
    const std::set<uint32_t>& chosen() const { return chosen_; }

    // The modules that have what was found.
    std::set<std::string> used() const;

    // Why there is no such type. "": nothing to say.
    std::string why_missing(const CTypeName& name);

  private:
    struct Module {
        std::string name, bytes;
        std::optional<BtfFile> types;
        bool is_merged = false;
        uint32_t first = 0; // of its types, in merged_
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
    std::map<CTypeName, std::string> differ_; // of which modules have different ones; why none is taken
};

} // namespace sonde
