// Plans of earlier sessions, so that LLVM translates each script only once.
//
// Passes 1 and 2 always run: they read the current script, library, programs, debug information and kernel. Their
// result and the options are the whole input of pass 3, and therefore the key. A cached plan equals the plan that pass
// 3 would make, and sonde need not guess from names, sizes or times of files. Entries contain the whole key, so a
// collision of hash values does no harm. If the cache is not usable (driver/cache_folder.h), -v prints the reason.
//
// A new input of pass 3 must become part of the key; otherwise sonde runs an outdated plan. See make_key().
#pragma once

#include <optional>
#include <string>

#include "base/source.h"
#include "codegen/emit/facts.h"
#include "codegen/layout.h"
#include "driver/cache_folder.h"
#include "driver/options.h"
#include "frontend/hir/hir.h"
#include "runtime/plan/plan.h"

namespace sonde {

class PlanCache {
  public:
    PlanCache(const Options& options, const hir::Program& program, const Sources& sources, const CodegenFacts& facts,
              const TaskArrays& in_tasks);

    // Returns the cached plan, and marks it as used now.
    std::optional<plan::Plan> load();
    // Stores the plan for other sessions, and deletes the least recently used entries above the limit.
    void store(const plan::Plan& plan);
    // The path of the entry.
    std::string path() const { return (folder_ ? folder_->path() : "") + "/" + name_; }

  private:
    // Prints the reason for not using the cache, with -v.
    void tell(const std::string& why) const;

    const bool reads_, tells_;
    const bool has_own_name_; // -m
    const Architecture* const architecture_;
    const std::string module_;
    std::string name_, key_;
    std::optional<CacheFolder> folder_; // nullopt: nothing is kept
};

} // namespace sonde
