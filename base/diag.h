// Diagnostics: errors and warnings about the script.
//
// Each message has an id (base/diagnostics.def). It is printed (`error[unknown-function]`), documented in
// docs/diagnostics.md, and covered by a test. A message begins in lower case, ends without a period, puts code in
// backticks, quotes what is wrong, and marks the narrowest range. It also says what was expected and how to continue.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/source.h"

namespace sonde {

// A script with errors does not run. Warnings do not matter, unless -W turns them into errors.
enum class Severity { Error, Warning };

// The kinds of messages (diagnostics.def). Each has a severity and a name, which tests refer to.
enum class DiagId {
#define DIAG(id, severity, name) id,
#include "base/diagnostics.def"
#undef DIAG
};

// An explanation with a place of its own.
struct DiagNote {
    Range range; // invalid: a note without a place
    std::string text;
};

// A message about the script.
struct Diagnostic {
    DiagId id;
    Severity severity;
    Range range;
    std::string message;
    std::vector<DiagNote> notes; // other places that matter: where a type was determined, which alias a point came from
    std::vector<std::string> helps; // for example "did you mean `foo`?"
};

// Returned by report(); adds notes and helps to the message. Remains valid as long as the Diagnostics object, because
// later reports do not move earlier ones. So an argument of note() may itself report something.
class DiagBuilder {
  public:
    explicit DiagBuilder(Diagnostic* diag) : diag_(diag) {}
    DiagBuilder& note(Range range, std::string text);
    DiagBuilder& help(std::string text);
    // Adds "did you mean `x`?" unless `nearest` is empty.
    DiagBuilder& suggest(const std::string& nearest);

  private:
    Diagnostic* diag_; // null: the message is suppressed or dropped, and additions are ignored
};

// The messages of one translation.
class Diagnostics {
  public:
    explicit Diagnostics(const Sources& sources) : sources_(sources) {}

    bool warnings_off = false;   // -w: drop warnings
    bool warnings_fatal = false; // -W: treat all other warnings as errors
    bool in_stap_words = false;  // render() begins messages with `parse error:`, `semantic error:` and `WARNING:`

    // Reports a message. Drops warnings about library code (Sources::is_tapset), because the user cannot act on them.
    DiagBuilder report(DiagId id, Range range, std::string message);

    // The same for errors that only pass 2 finds. They are stored until say_held() and do not count before.
    DiagBuilder hold(DiagId id, Range range, std::string message);
    // Adds the stored messages at the positions where they were reported. Invalidates all DiagBuilders.
    void say_held();

    // Adds the note to messages about library code, which the user has not written. `first`: the index in all() of the
    // first message.
    void note_in_library(size_t first, Range range, const std::string& text);

    bool has_errors() const { return errors_ > 0; }
    size_t error_count() const { return errors_; }
    // In the order of reporting. A deque, because DiagBuilders point to its elements.
    const std::deque<Diagnostic>& all() const { return diags_; }

    // While a Suppress object exists, reports are counted but not stored. This is for trying something out (`@defined`,
    // optional probe points). Objects can be nested. -W has no effect on the count, so that the result of a trial does
    // not depend on it.
    class Suppress {
      public:
        explicit Suppress(Diagnostics& diags);
        ~Suppress();
        Suppress(const Suppress&) = delete;
        Suppress& operator=(const Suppress&) = delete;
        // Errors since this object was created, without those of inner Suppress objects that have ended.
        size_t errors() const { return diags_.suppressed_errors_ - start_; }
        // Reports since this object was created, including warnings: ids and messages only.
        std::vector<std::pair<DiagId, std::string>> reports() const {
            return {diags_.suppressed_.begin() + static_cast<ptrdiff_t>(first_), diags_.suppressed_.end()};
        }

      private:
        Diagnostics& diags_;
        size_t start_, first_;
    };
    bool is_suppressed() const { return suppress_depth_ > 0; }

    // All stored messages as the user sees them: message, `file:line:col`, source line with carets, notes, helps.
    // Messages are separated by a blank line; the text ends in a newline unless it is empty. `color`: use ANSI escapes.
    std::string render(bool color) const;
    std::string render(const Diagnostic& diag, bool color) const;
    const Sources& sources() const { return sources_; }

  private:
    friend class Suppress;
    const Sources& sources_;
    std::deque<Diagnostic> diags_;
    struct Held {
        size_t before; // number of messages that were reported before
        Diagnostic diag;
    };
    std::deque<Held> held_;
    size_t errors_ = 0;
    int suppress_depth_ = 0;
    size_t suppressed_errors_ = 0;
    std::vector<std::pair<DiagId, std::string>> suppressed_; // while a Suppress object exists
};

// The id as printed, for example "unknown-function".
const char* diag_name(DiagId id);

} // namespace sonde
