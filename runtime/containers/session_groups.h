// The control groups of a session, in the maps that handlers look into: which of them it is limited to, and what they
// are called. Programs in the kernel (codegen/rtlib/groups.bpf.c) keep the first map as groups are made; names are made
// here, when these programs have told of a new one.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/containers/groups.h"
#include "runtime/load/load.h"
#include "runtime/plan/plan.h"

namespace sonde {

class SessionGroups {
  public:
    explicit SessionGroups(const plan::Plan& plan) : plan_(plan) {}
    SessionGroups(const SessionGroups&) = delete;
    SessionGroups& operator=(const SessionGroups&) = delete;

    // Before anything is loaded. Errors: groups that the session is limited to are not there.
    Result<void> check();
    // Once the programs are attached: all that there is. Errors: a group has vanished meanwhile.
    Result<void> fill(const KernelObject& kernel);
    // The kernel's side has told of a new group. What was limited to a name that was not there holds again when it is.
    void note_new() { is_stale_ = true; }
    void refresh(const KernelObject& kernel);
    // Whether a process' group is one of those that the session is limited to.
    bool has(int64_t process) const;
    // What the handlers of the session itself get: the names of the session's own group.
    std::string own_text(plan::GroupKind kind);
    // Groups that found no room in the maps.
    bool is_full() const { return is_full_; }

  private:
    void put(int map, const void* key, const void* value);
    void let_in(const KernelObject& kernel, const GroupPicture& picture, const std::vector<size_t>& tops);
    void name_all(const KernelObject& kernel, const GroupPicture& picture);

    const plan::Plan& plan_;
    std::string mounted_;        // where the hierarchy is
    std::set<std::string> tops_; // paths of the groups that the session is limited to
    std::set<uint64_t> let_in_;  // groups in `sonde_groups` that were put there from here
    std::set<uint64_t> named_;   // groups whose names are final
    bool is_stale_ = false, is_full_ = false;
    std::vector<std::string> own_texts_; // by GroupKind; empty: not looked up yet
};

} // namespace sonde
