// Names of addresses in a recording.
//
// The problem: a recording is read when the traced processes have ended, perhaps on another machine. Their addresses
// then mean nothing, and the files with the names may be missing.
//
// The idea: a recording keeps the answers of the session's symbolizer, not the symbols. Whatever a replay may ask is
// asked once during the session, by the same code that will ask it again (recorder.cc).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "runtime/symbols/symbols.h"

namespace sonde {

// Passes questions on to the session's symbols, and tells each new answer. An answer may change later, when a process
// executes another program.
class AskedSymbols final : public Symbolizer {
  public:
    using Tell = std::function<void(std::string_view question, std::string_view answer)>;
    // `symbols` must outlive this object.
    AskedSymbols(Symbols& symbols, Tell tell) : symbols_(symbols), tell_(std::move(tell)) {}

    // From now on, keeps answers about `process` as those about `name`: its number in the session's namespace, which is
    // the only one that a replay has.
    void rename(uint64_t process, uint64_t name) { renamed_ = process, name_ = name; }
    // From now on, tells known answers once more.
    void tell_again() { told_.clear(), rendered_ = Rendered(); }

    uint64_t process_of_stack(const std::string& text) override;
    std::string text(uint64_t process, uint64_t address, uint64_t style) override;
    std::string source(uint64_t process, uint64_t address) override;
    std::optional<InterpretedFrame> interpreted_frame(uint64_t word) override;
    std::vector<InlinedCall> inlined(uint64_t process, uint64_t address) override;
    VisitedStack visited_stack(uint64_t process, uint64_t thread, uint64_t most, bool with_arguments) override;
    Rendered& rendered() override;

  private:
    uint64_t kept(uint64_t process) const { return process == renamed_ ? name_ : process; }
    void keep(const std::string& question, const std::string& answer);
    Symbols& symbols_;
    const Tell tell_;
    std::unordered_map<std::string, std::string> told_; // by question
    Rendered rendered_;
    uint64_t edition_ = 0; // of the symbols in `rendered_`
    uint64_t renamed_ = 0, name_ = 0;
};

// Answers from a recording. A question without an answer is answered as for an unknown address.
class KeptSymbols final : public Symbolizer {
  public:
    void add(std::string_view question, std::string_view answer);
    // The stack as text belongs to this process.
    void note_stack(const std::string& text, uint64_t process);
    // The addresses whose names were asked for and are not in the recording.
    uint64_t missing() const { return missing_; }

    uint64_t process_of_stack(const std::string& text) override;
    std::string text(uint64_t process, uint64_t address, uint64_t style) override;
    std::string source(uint64_t process, uint64_t address) override;
    std::optional<InterpretedFrame> interpreted_frame(uint64_t word) override;
    std::vector<InlinedCall> inlined(uint64_t process, uint64_t address) override;
    VisitedStack visited_stack(uint64_t process, uint64_t thread, uint64_t most, bool with_arguments) override;
    Rendered& rendered() override { return rendered_; }

  private:
    // Null: the recording has no answer.
    const std::string* find(const std::string& question) const;
    std::unordered_map<std::string, std::string> answers_; // by question
    Rendered rendered_;
    uint64_t missing_ = 0;
};

} // namespace sonde
