// The library index. Scanning looks at tokens outside of braces only: it sees declarations, not bodies.
#include "frontend/tapset/library.h"

#include <algorithm>

#include "frontend/lex/token.h"

namespace sonde {

void Library::add(FileId file) {
    // The scan's own messages would be said again by the parse.
    Diagnostics scratch(sources_);
    std::vector<Token> tokens = lex(file, sources_, {}, scratch);
    int depth = 0;
    for (size_t i = 0; i + 1 < tokens.size(); i++) {
        const Token& token = tokens[i];
        if (token.is("{"))
            depth++;
        else if (token.is("}"))
            depth--;
        if (depth != 0)
            continue;
        auto note = [&](std::map<std::string, std::vector<FileId>, std::less<>>& index, const Token& name) {
            std::vector<FileId>& files = index[name.text];
            if (files.empty() || files.back() != file)
                files.push_back(file);
        };
        if (token.is_keyword("function")) {
            note(functions_, tokens[i + 1]);
        } else if (token.is_keyword("probe")) {
            note(aliases_, tokens[i + 1]);
        } else if (token.is_keyword("global")) {
            for (size_t n = i + 1; n < tokens.size() && tokens[n].kind == TokenKind::Identifier; n++) {
                note(globals_, tokens[n]);
                while (n + 1 < tokens.size() && !tokens[n + 1].is(",") && tokens[n + 1].kind != TokenKind::Keyword &&
                       tokens[n + 1].kind != TokenKind::End)
                    n++;
                if (n + 1 >= tokens.size() || !tokens[n + 1].is(","))
                    break;
                n++;
            }
        }
    }
}

const ast::File* Library::load(FileId file) {
    auto [entry, fresh] = parsed_.try_emplace(file, nullptr);
    if (fresh)
        entry->second = parse_(file);
    return entry->second;
}

namespace {
std::vector<FileId> lookup(const std::map<std::string, std::vector<FileId>, std::less<>>& index,
                           std::string_view name) {
    auto found = index.find(name);
    return found == index.end() ? std::vector<FileId>() : found->second;
}

std::vector<std::string> names(const std::map<std::string, std::vector<FileId>, std::less<>>& index) {
    std::vector<std::string> out;
    for (const auto& [name, files] : index)
        if (!name.starts_with("__"))
            out.push_back(name);
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

std::vector<std::string> Library::function_names() const { return names(functions_); }
std::vector<std::string> Library::alias_names() const { return names(aliases_); }

} // namespace sonde
