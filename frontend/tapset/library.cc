// The index of library files: in which files a function, a global or an alias is declared.
//
// A script uses only a few names of the library, and parsing all of its files for each script would be slow. So each
// file is only searched for declarations (lex/declarations.h), or the names come from an index that was made before,
// and a file is parsed when a script uses one of its names.
//
// The index includes names from conditional branches that are not taken, so a file may turn out not to declare a name
// once it is parsed. A name can be declared in several files: overloads of a function, and aliases with the same first
// component.
#include "frontend/tapset/library.h"

#include "frontend/lex/declarations.h"

namespace sonde {

void Library::add(FileId file) {
    Declarations found = find_declarations(file, sources_);
    add(file, {.functions = found.functions, .globals = found.globals, .aliases = found.aliases});
}

void Library::add(FileId file, const Names& names) {
    files_.push_back(file);
    auto note = [&](Index& index, std::span<const std::string_view> declared) {
        for (std::string_view name : declared) {
            std::vector<FileId>& files = index.try_emplace(name).first->second;
            if (files.empty() || files.back() != file)
                files.push_back(file);
        }
    };
    note(functions_, names.functions);
    note(globals_, names.globals);
    note(aliases_, names.aliases);
}

const ast::File* Library::load(FileId file) {
    auto [entry, fresh] = parsed_.try_emplace(file, nullptr);
    if (fresh)
        entry->second = parse_(file);
    return entry->second;
}

namespace {
std::vector<FileId> lookup(const Library::Index& index, std::string_view name) {
    auto found = index.find(name);
    return found == index.end() ? std::vector<FileId>() : found->second;
}

std::vector<std::string> names(const Library::Index& index) {
    std::vector<std::string> out;
    for (const auto& [name, files] : index)
        if (!name.starts_with("__"))
            out.emplace_back(name);
    return out;
}
} // namespace

std::vector<const ast::File*> Library::files_with_function(std::string_view name) {
    std::vector<const ast::File*> out;
    for (FileId file : lookup(functions_, name))
        out.push_back(load(file));
    return out;
}

std::vector<const ast::File*> Library::files_with_global(std::string_view name) {
    std::vector<const ast::File*> out;
    for (FileId file : lookup(globals_, name))
        out.push_back(load(file));
    return out;
}

std::vector<const ast::File*> Library::files_with_alias(std::string_view first_component) {
    std::vector<const ast::File*> out;
    for (FileId file : lookup(aliases_, first_component))
        out.push_back(load(file));
    return out;
}

std::vector<const ast::File*> Library::files() {
    std::vector<const ast::File*> out;
    for (FileId file : files_)
        out.push_back(load(file));
    return out;
}

std::vector<std::string> Library::function_names() const { return names(functions_); }
std::vector<std::string> Library::alias_names() const { return names(aliases_); }

} // namespace sonde
