// All names: functions, globals and aliases of all files. A library file is loaded with all its names when one of them
// is first used.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/sema/context.h"
#include "frontend/sema/side_tables.h"

namespace sonde {

// A declared function, or an overload of it.
struct NamedFunction {
    const ast::Function* ast = nullptr;
    FileId file = 0;
    hir::Function* hir = nullptr; // the function that all callers share; null until it is called
};

// A declared global.
struct GlobalEntry {
    const ast::Global* ast = nullptr;
    FileId file = 0;
    hir::Global* hir = nullptr;
};

// Whether a global is a scalar or an array, and the place in the script that determines it.
struct Shape {
    enum Kind { Open, Scalar, Array } kind = Open;
    Range range;
};

// Owns the entries, but not the trees. References to entries stay valid while more files are added.
class Names {
  public:
    using Aliases = std::vector<std::pair<const ast::Alias*, FileId>>;
    struct LibraryProbe {
        const ast::Probe* probe;
        FileId file;
    };

    Names(SemaContext& context, SideTables& tables) : c_(context), tables_(tables) {}

    // Adds all declarations of a file. Does nothing the second time.
    void add_file(const ast::File& file);
    // Returns the next probe of the library files loaded so far; nullopt if no more.
    std::optional<LibraryProbe> next_library_probe();

    // Returns all functions that the call could mean, in the order in which `next` visits them.
    std::vector<NamedFunction*> overloads(const std::string& name, size_t arity, FileId from);
    // Returns the function to call, or null after reporting an error. Loads library files as needed.
    NamedFunction* find_function(const std::string& name, size_t arity, FileId from, Range range);
    void pull_in_function(const std::string& name); // loads library files with such a function
    // Whether the script or the library has a function with this name and any number of parameters.
    bool has_function(const std::string& name) const;
    // All functions, in the order in which their files were loaded. A lookup can append to the list.
    std::deque<NamedFunction>& functions() { return functions_; }

    // Returns the global, or null. With `of_library`, only globals of the library are considered.
    hir::Global* find_global(const std::string& name, FileId from, bool of_library = false);
    std::vector<std::string> global_names() const; // for "did you mean"
    const std::deque<GlobalEntry>& globals() const { return globals_; }
    // Determines whether the global is a scalar or an array. If it is already the other one, reports an error and
    // returns false.
    bool use_as(hir::Global& global, Shape::Kind kind, Range range);
    // Returns how the global is used so far.
    Shape::Kind shape_of(const hir::Global& global) const;
    // Applies -G name=value to globals of the main script.
    void apply_overrides(FileId main_file);
    // Whether -G has set the initial value.
    bool is_overridden(const hir::Global& global) const { return overridden_.contains(&global); }
    // -p4: marks the globals whose values can be set when the saved plan runs.
    void mark_settable_globals() const;

    void pull_in_aliases(const std::string& first_component); // the name may be a pattern
    const Aliases& aliases() const { return aliases_; }

    // The C declarations of all files loaded so far.
    const std::vector<ast::CBlock>& c_blocks() const { return c_blocks_; }

  private:
    void add_global(const ast::Global& global, FileId file);
    // If SystemTap has a function with this name that sonde cannot support, reports that and returns true.
    bool report_refused(const std::string& name, Range range);
    std::vector<std::string> function_names() const; // for "did you mean"
    std::vector<std::string> callable_names() const; // these and the print functions

    SemaContext& c_;
    SideTables& tables_;
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
