// Array keys that are the number of the current thread.
#pragma once

#include <set>
#include <vector>

#include "frontend/hir/hir.h"

namespace sonde {

// Finds the expressions whose value is certainly tid(): calls of it, and locals that get it once, before any other use:
//
//     probe process.function("f") { t = tid(); if (!(t in began)) began[t] = gettimeofday_ns() }
class ThreadKeys {
  public:
    // `program` must outlive this object.
    explicit ThreadKeys(const hir::Program& program);
    bool is_thread(const hir::Expr* key) const;
    // Whether a component is the thread's number, so that two threads never have the same key.
    bool in(const std::vector<hir::Expr*>& keys) const;

  private:
    void find_locals(const hir::Block& body);

    std::set<const hir::Local*> locals_;
};

} // namespace sonde
