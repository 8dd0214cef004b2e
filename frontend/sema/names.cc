// Names: functions, globals, files, and the library behind them.
#include <cstdlib>

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/sema/analyzer.h"

namespace sonde {

void Analyzer::add_file(const ast::File& file) {
    if (!added_files_.insert(&file).second)
        return;
    bool library = diags_.sources().is_tapset(file.id);
    for (const ast::Global* global : file.globals) {
        std::vector<GlobalEntry*>& same = globals_[global->name];
        bool clash = false;
        for (const GlobalEntry* other : same) {
            bool visible = other->file == file.id || (!global->is_private && !other->ast->is_private);
            if (visible && !clash) {
                clash = true;
                diags_
                    .report(DiagId::Redefinition, global->range,
                            fmt::format("global `{}` is declared twice", global->name))
                    .note(other->ast->range, "first here");
            }
        }
        if (clash)
            continue;
        auto* hir = arena_.make<hir::Global>();
        hir->name = global->name;
        hir->range = global->range;
        hir->wrap = global->wrap;
        hir->capacity = global->capacity ? static_cast<uint64_t>(*global->capacity) : 0;
        if (global->initializer && global->initializer->kind == ast::ExprKind::Number) {
            hir->initial_long = ast::as<ast::NumberExpr>(*global->initializer).value;
            hir->type = hir::ValueType::Long;
        } else if (global->initializer) {
            hir->initial_string = ast::as<ast::StringExpr>(*global->initializer).value;
            hir->type = hir::ValueType::String;
        }
        if (global->initializer)
            fixed_at_[hir] = global->initializer->range;
        hir->auto_print = !library;
        global_entries_.push_back({global, file.id, hir});
        same.push_back(&global_entries_.back());
    }
    for (const ast::Function* function : file.functions) {
        function_entries_.push_back({function, file.id, nullptr});
        functions_[function->name].push_back(&function_entries_.back());
    }
    for (const ast::Alias* alias : file.aliases)
        aliases_.emplace_back(alias, file.id);
}

std::vector<std::string> Analyzer::all_function_names() const {
    std::vector<std::string> names = library_.function_names();
    for (const auto& [name, entries] : functions_)
        if (!name.starts_with("__"))
            names.push_back(name);
    return names;
}

Analyzer::FunctionEntry* Analyzer::find_function(const std::string& name, size_t arity, FileId from, Range range) {
    auto visible = [&](std::vector<FunctionEntry*>& out) {
        auto found = functions_.find(name);
        if (found == functions_.end())
            return;
        for (FunctionEntry* entry : found->second)
            if (!entry->ast->is_private || entry->file == from)
                out.push_back(entry);
    };
    std::vector<FunctionEntry*> candidates;
    visible(candidates);
    bool fits = false;
    for (const FunctionEntry* entry : candidates)
        fits = fits || entry->ast->params.size() == arity;
    if (!fits) {
        for (const ast::File* file : library_.files_with_function(name))
            add_file(*file);
        candidates.clear();
        visible(candidates);
    }
    if (candidates.empty()) {
        diags_.report(DiagId::UnknownFunction, range, fmt::format("unknown function `{}`", name))
            .suggest(nearest_name(name, all_function_names()));
        return nullptr;
    }
    FunctionEntry* best = nullptr;
    auto priority = [&](const FunctionEntry& entry) {
        return entry.ast->priority.value_or(diags_.sources().is_tapset(entry.file) ? 1 : 0);
    };
    for (FunctionEntry* entry : candidates)
        if (entry->ast->params.size() == arity && (!best || priority(*entry) < priority(*best)))
            best = entry;
    if (best)
        return best;
    size_t wanted = candidates[0]->ast->params.size();
    diags_
        .report(DiagId::Arity, range,
                fmt::format("`{}` takes {} argument{}, not {}", name, wanted, wanted == 1 ? "" : "s", arity))
        .note(candidates[0]->ast->name_range, "declared here");
    return nullptr;
}

hir::Global* Analyzer::find_global(const std::string& name, FileId from) {
    auto look = [&]() -> GlobalEntry* {
        auto found = globals_.find(name);
        if (found == globals_.end())
            return nullptr;
        GlobalEntry* best = nullptr;
        for (GlobalEntry* entry : found->second) {
            if (entry->ast->is_private && entry->file != from)
                continue;
            if (!best || entry->file == from)
                best = entry;
        }
        return best;
    };
    GlobalEntry* entry = look();
    if (!entry) {
        for (const ast::File* file : library_.files_with_global(name))
            add_file(*file);
        entry = look();
    }
    return entry ? entry->hir : nullptr;
}

// -G name=value.
void Analyzer::apply_overrides() {
    for (const auto& [name, value] : options_.global_overrides) {
        hir::Global* global = find_global(name, files_.empty() ? 0 : files_[0]->id);
        if (!global) {
            std::vector<std::string> names;
            for (const auto& [other, entries] : globals_)
                names.push_back(other);
            diags_
                .report(DiagId::UnknownVariable, {},
                        fmt::format("-G {}={}: there is no global `{}`", name, value, name))
                .suggest(nearest_name(name, names));
            continue;
        }
        char* end = nullptr;
        long long number = std::strtoll(value.c_str(), &end, 0);
        bool numeric = !value.empty() && !*end;
        if (global->type == hir::ValueType::Unknown) {
            global->type = numeric ? hir::ValueType::Long : hir::ValueType::String;
            fixed_at_[global] = global->range;
        }
        if (global->type == hir::ValueType::Long && !numeric)
            diags_.report(DiagId::TypeMismatch, global->range,
                          fmt::format("-G {}={}: `{}` is a number", name, value, name));
        global->initial_long = numeric ? number : 0;
        global->initial_string = value;
    }
}

} // namespace sonde
