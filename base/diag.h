// Diagnostics: what is wrong with the script, said with a range, what was expected, and how to go on.
//
// Every message has an id (base/diagnostics.def) that is printed (`error[unknown-function]`), documented in
// docs/diagnostics.md and covered by a test. A message starts in lower case, ends without a period, puts code in
// backticks, says what was written, and marks the narrowest range.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/source.h"

namespace sonde {

enum class Severity { Error, Warning };

enum class DiagId {
#define DIAG(id, severity, name) id,
#include "base/diagnostics.def"
#undef DIAG
};

struct DiagNote {
    Range range; // invalid: a note without a place
    std::string text;
};

struct Diagnostic {
    DiagId id;
    Severity severity;
    Range range;
    std::string message;
    std::vector<DiagNote> notes;    // the other half: where a type was fixed, through which alias a point came, ...
    std::vector<std::string> helps; // "did you mean `foo`?"
};

// Returned by report(), to add notes and helps to the message. It stays good for as long as the Diagnostics lives:
// later reports do not move earlier ones (so an argument of note() may report on its own).
class DiagBuilder {
  public:
    explicit DiagBuilder(Diagnostic* diag) : diag_(diag) {}
    DiagBuilder& note(Range range, std::string text);
    DiagBuilder& help(std::string text);
    // Adds "did you mean `x`?" when `nearest` is not empty.
    DiagBuilder& suggest(const std::string& nearest);

  private:
    Diagnostic* diag_; // null: suppressed or dropped, and everything added goes nowhere
};

class Diagnostics {
  public:
    explicit Diagnostics(const Sources& sources) : sources_(sources) {}

    bool warnings_off = false;   // -w: warnings are dropped
    bool warnings_fatal = false; // -W: warnings that are not dropped are errors

    // Warnings about library code (Sources::is_tapset) are dropped: the user cannot act on them.
    DiagBuilder report(DiagId id, Range range, std::string message);

    // The same for what only pass 2 refuses: it is kept apart until say_held(), and does not count before.
    DiagBuilder hold(DiagId id, Range range, std::string message);
    // Reports what is held, between the others in the order in which it came. No earlier DiagBuilder is good after
    // that.
    void say_held();

    // Adds the note to those of all() from `first` on that are about library code, where the user did not look.
    void note_in_library(size_t first, Range range, const std::string& text);

    bool has_errors() const { return errors_ > 0; }
    size_t error_count() const { return errors_; }
    // In the order of reporting. A deque, because it grows without moving what a DiagBuilder points at.
    const std::deque<Diagnostic>& all() const { return diags_; }

    // While a Suppress lives, reports are counted but not kept: for trying out (`@defined`, optional probe points).
    // Guards nest. Only what is an error without -W counts as one, so that trying out means the same with it.
    class Suppress {
      public:
        explicit Suppress(Diagnostics& diags);
        ~Suppress();
        Suppress(const Suppress&) = delete;
        Suppress& operator=(const Suppress&) = delete;
        // Errors reported since this guard began, but for those of guards inside of it that have ended.
        size_t errors() const { return diags_.suppressed_errors_ - start_; }
        // What was reported since then, warnings too: ids and messages only.
        std::vector<std::pair<DiagId, std::string>> reports() const {
            return {diags_.suppressed_.begin() + static_cast<ptrdiff_t>(first_), diags_.suppressed_.end()};
        }

      private:
        Diagnostics& diags_;
        size_t start_, first_;
    };
    bool is_suppressed() const { return suppress_depth_ > 0; }

    // All kept diagnostics as the user sees them: message, `file:line:col`, source line with carets, notes, helps. Ends
    // in a newline unless empty; a blank line stands between two messages. `color`: with ANSI escapes.
    std::string render(bool color) const;
    std::string render(const Diagnostic& diag, bool color) const;
    const Sources& sources() const { return sources_; }

  private:
    friend class Suppress;
    const Sources& sources_;
    std::deque<Diagnostic> diags_;
    struct Held {
        size_t before; // how many others there were
        Diagnostic diag;
    };
    std::deque<Held> held_;
    size_t errors_ = 0;
    int suppress_depth_ = 0;
    size_t suppressed_errors_ = 0;
    std::vector<std::pair<DiagId, std::string>> suppressed_; // while a guard lives
};

// "unknown-function"
const char* diag_name(DiagId id);

} // namespace sonde
