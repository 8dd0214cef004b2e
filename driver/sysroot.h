// --sysroot: another root directory for the files of the target.
//
// A translation reads many files of the target: programs and their libraries, the loader's cache, debug information,
// headers, kernels. If each of these readers had to know the folder, one of them would forget it, and the plan would
// have offsets of this machine's files without any error. So the translation enters the folder as its root directory
// (chroot(2)). Absolute symbolic links then lead to files in the folder, too.
//
// The user's files (the script, the library folders, plans) are read before. Code that needs files of this machine in
// between, such as libclang, uses OutsideSysroot.
#pragma once

#include <memory>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

class Sysroot {
  public:
    // Enters the folder. Relative paths begin in the current directory if that is in the folder, otherwise in the
    // folder itself. Without CAP_SYS_CHROOT, this creates a user namespace, so the process must have one thread only.
    // Errors: the folder cannot be entered, with the reason and the next step.
    static Result<std::unique_ptr<Sysroot>> enter(const std::string& folder);
    ~Sysroot() { leave(); }
    Sysroot(const Sysroot&) = delete;
    Sysroot& operator=(const Sysroot&) = delete;

    // Goes back to the directories of the caller, and into the folder again.
    void leave();
    void enter_again();
    bool is_inside() const { return is_inside_; }

  private:
    Sysroot() = default;

    Fd root_, working_;             // of the caller
    Fd inner_root_, inner_working_; // in the folder
    bool is_inside_ = false;
};

// Leaves the folder, and enters it again in the destructor. Does nothing without a Sysroot or when it is left already.
class OutsideSysroot {
  public:
    explicit OutsideSysroot(Sysroot* root) : root_(root && root->is_inside() ? root : nullptr) {
        if (root_)
            root_->leave();
    }
    ~OutsideSysroot() {
        if (root_)
            root_->enter_again();
    }
    OutsideSysroot(const OutsideSysroot&) = delete;
    OutsideSysroot& operator=(const OutsideSysroot&) = delete;

  private:
    Sysroot* root_;
};

// The opposite: enters the folder, and leaves it in the destructor.
class InsideSysroot {
  public:
    explicit InsideSysroot(Sysroot* root) : root_(root && !root->is_inside() ? root : nullptr) {
        if (root_)
            root_->enter_again();
    }
    ~InsideSysroot() {
        if (root_)
            root_->leave();
    }
    InsideSysroot(const InsideSysroot&) = delete;
    InsideSysroot& operator=(const InsideSysroot&) = delete;

  private:
    Sysroot* root_;
};

} // namespace sonde
