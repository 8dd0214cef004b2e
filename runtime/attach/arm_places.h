// Attaches one program to many instructions of one file, and skips the instructions that the kernel cannot probe.
//
// The problem: the kernel refuses a whole link if it cannot probe one of its instructions, and does not report which
// one. Each failed attempt is slow, because the kernel removes the breakpoints again and waits. A binary search took
// more than a minute for a few hundred refused instructions among ten thousand.
//
// The idea: whether the kernel can probe an instruction depends only on its prefixes and its opcode, and a program
// contains only about a hundred different combinations ("encodings"). So after a refusal sonde tries one instruction of
// each encoding, several at a time. Then it removes all instructions with a refused encoding, and attaches the rest. A
// binary search remains for the rest, in case the assumption is wrong, and for kernel functions, which have no encoding
// here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/attach/attach.h"

namespace sonde {

// Remembers which encodings the kernel accepts and refuses, so use one object for all probes of a session.
class PlaceArmer {
  public:
    using Attach = std::function<Result<std::unique_ptr<Attachment>>(const UprobeTargets&)>;
    // Returns true when the session should end; then attaching returns an error with EINTR.
    using Stop = std::function<bool()>;
    // Reads the encodings from the plan's files (plan::ProbedCode).
    PlaceArmer(const plan::Plan& plan, Stop stop);
    // The error of an attempt that was stopped.
    static Error ended();

    // Attaches to as many of `targets` as possible and appends the links to `out`. Appends the names of the skipped
    // points to `refused`. Errors that do not concern a single instruction are returned.
    Result<void> arm(const Attach& attach, UprobeTargets targets, Attachments& out, std::vector<std::string>& refused);
    // The same by binary search only, for targets without known encodings.
    Result<void> arm_by_halves(const Attach& attach, const UprobeTargets& targets, Attachments& out,
                               std::vector<std::string>& refused);

  private:
    // Returns 0 if the plan does not know the instruction.
    uint64_t encoding_of(const std::string& path, uint64_t offset) const;
    // Tries one instruction of each encoding that is not known yet. Fills `accepted_` and `refused_`.
    Result<void> try_encodings(const Attach& attach, const UprobeTargets& targets);
    // Moves the targets with a refused encoding from `targets` to `refused`.
    void leave_out_refused(UprobeTargets& targets, std::vector<std::string>& refused) const;

    Stop stop_;
    std::map<std::string, std::map<uint64_t, uint64_t>> encodings_; // by path and file offset
    std::set<uint64_t> accepted_, refused_;
};

// Keeps a file mapped while its instructions are attached. The kernel inspects an instruction only if some process has
// mapped it. Without a mapping, a link to an unsuitable instruction would succeed, and the kernel would ignore the
// breakpoint silently later.
class MappedCode {
  public:
    explicit MappedCode(const std::string& path);
    ~MappedCode();
    MappedCode(const MappedCode&) = delete;
    MappedCode& operator=(const MappedCode&) = delete;

  private:
    void* memory_ = nullptr;
    size_t size_ = 0;
};

} // namespace sonde
