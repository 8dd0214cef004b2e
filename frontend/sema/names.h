// What is known by name: functions, globals and aliases of all files. Library files come in when one of their names is
// asked for, and bring all of their names with them.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/sema/context.h"
#include "frontend/sema/notes.h"

namespace sonde {

struct NamedFunction {
    const ast::Function* ast = nullptr;
    FileId file = 0;
    hir::Function* hir = nullptr; // the one for all callers; null until called
};

struct GlobalEntry {
    const ast::Global* ast = nullptr;
    FileId file = 0;
    hir::Global* hir = nullptr;
};

// Whether a global is an array, and the place that says so.
struct Shape {
    enum Kind { Open, Scalar, Array } kind = Open;
    Range range;
};

class Names {
  public:
    using Aliases = std::vector<std::pair<const ast::Alias*, FileId>>;
    struct LibraryProbe {
        const ast::Probe* probe;
        FileId file;
    };

    Names(SemaContext& context, Notes& notes) : c_(context), notes_(notes) {}

    void add_file(const ast::File& file);
    // The probes of library files that have come in, one by one; nullopt after the last.
    std::optional<LibraryProbe> next_library_probe();

    // All that could be meant, in the order in which `next` goes through them.
    std::vector<NamedFunction*> overloads(const std::string& name, size_t arity, FileId from);
    // The function to call, or null after a report. Library files are pulled in as needed.
    NamedFunction* find_function(const std::string& name, size_t arity, FileId from, Range range);
    void pull_in_function(const std::string& name); // from the library
    // Of any arity, in the files here or in the library.
    bool has_function(const std::string& name) const;
    // In the order in which files came in. Lookups can append to it.
    std::deque<NamedFunction>& functions() { return functions_; }

    // Null if there is none; `of_library`: only the library's count.
    hir::Global* find_global(const std::string& name, FileId from, bool of_library = false);
    std::vector<std::string> global_names() const; // for "did you mean"
    const std::deque<GlobalEntry>& globals() const { return globals_; }
    // Fixes what the global is, or says that it is the other one already; false then.
    bool use_as(hir::Global& global, Shape::Kind kind, Range range);
    Shape::Kind shape_of(const hir::Global& global) const;
    // -G name=value, for the main script's names.
    void apply_overrides(FileId main_file);
    bool is_overridden(const hir::Global& global) const { return overridden_.contains(&global); }
    void mark_settable_globals() const;

    void pull_in_aliases(const std::string& first_component); // may be a pattern
    const Aliases& aliases() const { return aliases_; }

    // Declarations in C, of all files that have come in.
    const std::vector<ast::CBlock>& c_blocks() const { return c_blocks_; }

  private:
    void add_global(const ast::Global& global, FileId file);
    // True if it is a function of SystemTap's that cannot be, which is then said.
    bool report_refused(const std::string& name, Range range);
    std::vector<std::string> function_names() const; // for "did you mean"
    std::vector<std::string> callable_names() const; // those, and what prints

    SemaContext& c_;
    Notes& notes_;
    std::set<const ast::File*> added_files_;
    std::map<std::string, std::vector<NamedFunction*>> functions_by_name_;
    std::map<std::string, std::vector<GlobalEntry*>> globals_by_name_;
    std::deque<NamedFunction> functions_;
    std::deque<GlobalEntry> globals_;
    Aliases aliases_;
    std::vector<ast::CBlock> c_blocks_;
    std::deque<LibraryProbe> library_probes_;
    std::map<const hir::Global*, Shape> shapes_;
    std::set<const hir::Global*> overridden_; // -G
};

} // namespace sonde
