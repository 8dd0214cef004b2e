// Looks up functions, globals and aliases, in the script and in the library.
//
// The globals and functions of all files share one namespace; private ones are visible only in their own file. A
// library file is loaded when one of its names is first used.
//
// What makes this more than a table:
//
// * Overloads: functions with the same name and number of parameters are an ordered list. The first one runs, and its
//   `next` goes on to the second.
// * A function of the script hides one of the library with the same number of parameters, whose file is then not even
//   loaded.
// * A name that is not found needs a good message: the user may have meant another number of arguments, a function of
//   another tracer, or a similar name.
#include <algorithm>

#include <fmt/format.h>

#include "base/glob.h"
#include "base/global_value.h"
#include "base/suggest.h"
#include "frontend/hints/foreign_words.h"
#include "frontend/parse/parser.h"
#include "frontend/sema/names.h"

namespace sonde {

void Names::add_global(const ast::Global& global, FileId file) {
    std::vector<GlobalEntry*>& same = globals_by_name_[global.name];
    for (const GlobalEntry* other : same) {
        if (other->file != file && (global.is_private || other->ast->is_private))
            continue;
        c_.report_once(DiagId::Redefinition, global.range, fmt::format("global `{}` is declared twice", global.name))
            .note(other->ast->range, "first here");
        return;
    }
    auto* hir = c_.arena.make<hir::Global>();
    hir->name = global.name;
    hir->range = global.range;
    hir->wrap = global.wrap;
    hir->capacity = global.capacity ? static_cast<uint64_t>(*global.capacity) : 0;
    hir->has_own_capacity = global.capacity.has_value();
    if (global.initializer) {
        const ast::Expr& value = *global.initializer;
        hir->type = hir::ValueType::Long;
        if (value.kind == ast::ExprKind::Number) {
            hir->initial_long = ast::as<ast::NumberExpr>(value).value;
        } else if (value.kind == ast::ExprKind::Unary) { // a negative number
            const ast::Expr& operand = *ast::as<ast::UnaryExpr>(value).operand;
            if (operand.kind == ast::ExprKind::Number)
                hir->initial_long =
                    static_cast<int64_t>(0 - static_cast<uint64_t>(ast::as<ast::NumberExpr>(operand).value));
        } else if (value.kind == ast::ExprKind::String) {
            hir->initial_string = ast::as<ast::StringExpr>(value).value;
            c_.check_length(value.range, hir->initial_string);
            hir->type = hir::ValueType::String;
        }
        tables_.fixed_at[hir] = value.range;
        shapes_[hir] = {Shape::Scalar, value.range};
    } else if (global.capacity) {
        shapes_[hir] = {Shape::Array, global.range};
    }
    globals_.push_back({&global, file, hir});
    same.push_back(&globals_.back());
}

void Names::add_file(const ast::File& file) {
    if (!added_files_.insert(&file).second)
        return;
    for (const ast::Global* global : file.globals)
        add_global(*global, file.id);
    for (const ast::Function* function : file.functions) {
        std::vector<NamedFunction*>& same = functions_by_name_[function->name];
        if (same.size() == max_nesting) { // `next` can call all of them in turn
            c_.report_once(DiagId::BadDeclaration, function->name_range,
                           fmt::format("more than {} functions have the name `{}`", max_nesting, function->name));
            break;
        }
        functions_.push_back({function, file.id, nullptr});
        same.push_back(&functions_.back());
    }
    c_blocks_.insert(c_blocks_.end(), file.c_blocks.begin(), file.c_blocks.end());
    for (const ast::Alias* alias : file.aliases)
        aliases_.emplace_back(alias, file.id);
    if (c_.diags.sources().is_tapset(file.id))
        for (const ast::Probe* probe : file.probes)
            library_probes_.push_back({probe, file.id});
}

std::vector<std::string> Names::function_names() const {
    std::vector<std::string> names;
    // The script's names come first: if several names are equally similar, the first one is suggested.
    for (const NamedFunction& entry : functions_)
        if (!entry.ast->name.starts_with("__"))
            names.push_back(entry.ast->name);
    std::vector<std::string> library = c_.library.function_names();
    names.insert(names.end(), library.begin(), library.end());
    return names;
}

// Names for "did you mean". Print functions are not declared anywhere.
std::vector<std::string> Names::callable_names() const {
    std::vector<std::string> names = function_names();
    for (const char* printer : {"print", "println", "printd", "printdln", "printf"}) {
        names.emplace_back(printer);
        names.push_back(std::string("s") + printer);
    }
    return names;
}

std::vector<std::string> Names::global_names() const {
    std::vector<std::string> names;
    for (const GlobalEntry& entry : globals_)
        if (!entry.ast->name.starts_with("__"))
            names.push_back(entry.ast->name);
    return names;
}

// A private function hides the public ones with its name. Among the rest, the lowest priority number comes first (the
// script's default is 0, the library's 1), then the order of declaration. So a script can wrap a library function: its
// own f(x) runs first and calls the library's by `next`.
std::vector<NamedFunction*> Names::overloads(const std::string& name, size_t arity, FileId from) {
    std::vector<NamedFunction*> fitting;
    for (NamedFunction* entry : functions_by_name_[name])
        if (entry->ast->params.size() == arity && (!entry->ast->is_private || entry->file == from))
            fitting.push_back(entry);
    auto priority = [&](const NamedFunction* entry) {
        int64_t number = entry->ast->priority.value_or(c_.diags.sources().is_tapset(entry->file) ? 1 : 0);
        return std::pair(!entry->ast->is_private, number);
    };
    std::stable_sort(fitting.begin(), fitting.end(),
                     [&](const NamedFunction* a, const NamedFunction* b) { return priority(a) < priority(b); });
    return fitting;
}

std::optional<Names::LibraryProbe> Names::next_library_probe() {
    if (library_probes_.empty())
        return std::nullopt;
    LibraryProbe next = library_probes_.front();
    library_probes_.pop_front();
    return next;
}

bool Names::has_function(const std::string& name) const {
    return functions_by_name_.contains(name) || !c_.library.files_with_function(name).empty();
}

void Names::pull_in_function(const std::string& name) {
    for (const ast::File* file : c_.library.files_with_function(name))
        add_file(*file);
}

void Names::pull_in_aliases(const std::string& first_component) {
    // `**` also matches the rest of the word and the words behind it: `vfs**ead` finds `vfs.read`.
    const size_t crosses = first_component.find("**");
    const std::string pattern =
        crosses == std::string::npos ? first_component : first_component.substr(0, crosses) + "*";
    for (const std::string& name : c_.library.alias_names())
        if (name == first_component || glob_match(pattern, name))
            for (const ast::File* file : c_.library.files_with_alias(name))
                add_file(*file);
}

// For functions of SystemTap that would need code in the kernel or in the traced program which BPF does not allow.
bool Names::report_refused(const std::string& name, Range range) {
    struct Row {
        const char *name, *why, *instead;
    };
    static constexpr Row rows[] = {
#define REFUSED(name, why, instead) {name, why, instead},
#include "frontend/sema/refused.def"
#undef REFUSED
    };
    for (const Row& row : rows) {
        if (!glob_match(row.name, name))
            continue;
        DiagBuilder report = c_.report_once(DiagId::Unsupported, range, fmt::format("`{}`: {}", name, row.why));
        if (*row.instead)
            report.help(row.instead);
        return true;
    }
    return false;
}

// Looks in the files loaded so far; then loads the library files that declare the name, and looks again. So a script's
// function hides one of the library without loading the library's file.
NamedFunction* Names::find_function(const std::string& name, size_t arity, FileId from, Range range) {
    auto look = [&]() {
        std::vector<NamedFunction*> fitting = overloads(name, arity, from);
        return fitting.empty() ? nullptr : fitting[0];
    };
    NamedFunction* best = look();
    if (!best) {
        pull_in_function(name);
        best = look();
    }
    if (best && !c_.options.guru && c_.diags.sources().is_tapset(best->file)) {
        if (name == "raise")
            c_.report_once(DiagId::NeedsGuru, range, "`raise` changes what the traced program does, which needs -g");
        else if (name == "printk")
            c_.report_once(DiagId::NeedsGuru, range, "`printk` writes to the kernel's log, which needs -g");
        else if (name == "stp_print_binary")
            c_.report_once(DiagId::NeedsGuru, range, "`stp_print_binary` needs guru mode (-g)")
                .help("printf() writes bytes with %1b, %2b, %4b and %8b");
    }
    if (best)
        return best;
    // No function fits. Explain why: another number of parameters, a function that sonde cannot support, a name of
    // another language, or a misspelling.
    std::vector<const NamedFunction*> others; // with another number of parameters
    for (const NamedFunction* entry : functions_by_name_[name])
        if (!entry->ast->is_private || entry->file == from)
            others.push_back(entry);
    if (others.empty() && report_refused(name, range))
        return nullptr;
    if (others.empty()) {
        DiagBuilder report = c_.report_once(DiagId::UnknownFunction, range, fmt::format("unknown function `{}`", name));
        if (const std::string hint = hints::function_hint(name); !hint.empty())
            report.help(hint);
        else if (c_.library.files_with_function(name).empty())
            report.suggest(nearest_name(name, callable_names()));
        else
            report.help("the library has this function only for other versions of SystemTap; see --compatible");
        return nullptr;
    }
    std::string counts;
    for (const NamedFunction* other : others)
        counts += fmt::format("{}{}", counts.empty() ? "" : " or ", other->ast->params.size());
    DiagBuilder report =
        c_.report_once(DiagId::Arity, range,
                       fmt::format("`{}` takes {} argument{}, not {}", name, counts, counts == "1" ? "" : "s", arity));
    for (const NamedFunction* other : others)
        report.note(other->ast->name_range, "declared here");
    return nullptr;
}

// In the file itself, its own global takes precedence over a public one of another file.
hir::Global* Names::find_global(const std::string& name, FileId from, bool of_library) {
    auto look = [&]() -> GlobalEntry* {
        auto found = globals_by_name_.find(name);
        if (found == globals_by_name_.end())
            return nullptr;
        GlobalEntry* best = nullptr;
        for (GlobalEntry* entry : found->second) {
            if (entry->ast->is_private && entry->file != from)
                continue;
            if (of_library && !c_.diags.sources().is_tapset(entry->file))
                continue;
            if (!best || entry->file == from)
                best = entry;
        }
        return best;
    };
    GlobalEntry* entry = look();
    if (!entry) {
        for (const ast::File* file : c_.library.files_with_global(name))
            add_file(*file);
        entry = look();
    }
    return entry ? entry->hir : nullptr;
}

// A script does not declare whether a global is an array. The first use determines it, and a later use must agree.
bool Names::use_as(hir::Global& global, Shape::Kind kind, Range range) {
    Shape& shape = shapes_[&global];
    if (shape.kind == Shape::Open)
        shape = {kind, range};
    if (shape.kind == kind)
        return true;
    bool array = shape.kind == Shape::Array;
    DiagBuilder report =
        c_.report_once(DiagId::TypeMismatch, range,
                       fmt::format("`{}` is {}, but is used as {} here", global.name,
                                   array ? "an array" : "not an array", array ? "one value" : "an array"));
    report.note(shape.range, array ? "an array because of this" : "one value because of this");
    if (array && !global.name.empty())
        report.help(
            fmt::format("write an element as `{0}[key]`; `foreach (key in {0})` visits all elements", global.name));
    return false;
}

Shape::Kind Names::shape_of(const hir::Global& global) const {
    auto found = shapes_.find(&global);
    return found == shapes_.end() ? Shape::Open : found->second.kind;
}

// Call this after all library files that the script uses are loaded.
void Names::mark_settable_globals() const {
    for (const auto& entry : globals_)
        if (entry.hir)
            entry.hir->is_settable = c_.options.settable_globals && !entry.ast->is_private;
}

// Applies -G name=value. A number is also valid for a string variable, so only a text that is not a number determines
// the variable's type.
void Names::apply_overrides(FileId main_file) {
    for (const auto& [name, value] : c_.options.globals) {
        hir::Global* global = find_global(name, main_file);
        const bool hidden = global && std::any_of(globals_.begin(), globals_.end(), [&](const auto& entry) {
                                return entry.hir == global && entry.ast->is_private;
                            });
        if (!global || hidden) {
            c_.diags
                .report(DiagId::NoSuchGlobal, {},
                        fmt::format("-G {}={}: {} global `{}`", name, value,
                                    hidden ? "cannot set the private" : "the script has no", name))
                .suggest(nearest_name(name, global_names()));
            continue;
        }
        if (shape_of(*global) == Shape::Array) { // as in SystemTap, whose modules have no parameters for arrays
            c_.diags.report(DiagId::NoSuchGlobal, {}, fmt::format("-G {}={}: `{}` is an array", name, value, name));
            continue;
        }
        if (!use_as(*global, Shape::Scalar, global->range))
            continue;
        const GlobalValue given = read_global_value(value, c_.options.max_string());
        if (global->type == hir::ValueType::Unknown && !given.number) {
            global->type = hir::ValueType::String;
            tables_.fixed_at[global] = global->range;
        }
        if (Result<int64_t> number = number_of_global(name, given); global->type == hir::ValueType::Long && !number)
            c_.diags.report(DiagId::TypeMismatch, global->range, number.error().message);
        else if (std::string cut = cut_of_global(name, given); !cut.empty())
            c_.diags.report(DiagId::CutText, {}, cut);
        global->initial_long = given.number.value_or(0);
        global->initial_string = given.text;
        overridden_.insert(global);
    }
}

} // namespace sonde
