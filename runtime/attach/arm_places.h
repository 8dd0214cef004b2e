// Puts one program at many places of one file.
//
// The kernel refuses a whole link for one instruction that it cannot probe, without saying which. That takes back what
// it has done, and waits. Searching the places by halves took a minute and more where a few hundred of ten thousand are
// refused. Whether an instruction can be probed depends on its prefixes and opcode alone, and a program has a hundred
// different ones: so one place of each is tried, several at a time, and what is refused is left out everywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/attach/attach.h"

namespace sonde {

class PlaceArmer {
  public:
    using Attach = std::function<Result<std::unique_ptr<Attachment>>(const UprobeTargets&)>;
    // Errors of EINTR: `stop` said that nothing is wanted any more.
    using Stop = std::function<bool()>;
    PlaceArmer(const plan::Plan& plan, Stop stop);
    static Error ended();

    // `refused`: gets the names of the places that are left out.
    Result<void> arm(const Attach& attach, UprobeTargets targets, Attachments& out, std::vector<std::string>& refused);
    // The same where nothing is known of the places: by halves.
    Result<void> arm_by_halves(const Attach& attach, const UprobeTargets& targets, Attachments& out,
                               std::vector<std::string>& refused);

  private:
    uint64_t encoding_of(const std::string& path, uint64_t offset) const;
    Result<void> try_encodings(const Attach& attach, const UprobeTargets& targets);
    void leave_out_refused(UprobeTargets& targets, std::vector<std::string>& refused) const;

    Stop stop_;
    std::map<std::string, std::map<uint64_t, uint64_t>> encodings_; // by file and offset
    std::set<uint64_t> accepted_, refused_;
};

// Keeps the code of a file mapped while places in it are armed: the kernel looks at an instruction only when a process
// has it mapped, and where none has it would refuse, later and silently, what the link has taken.
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
