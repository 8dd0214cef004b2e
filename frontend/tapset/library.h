// The library of functions, aliases and globals that scripts may use: the embedded tapset and -I folders.
//
// Texts are only indexed; a file is parsed in full when one of its names is first asked for.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "base/diag.h"
#include "base/source.h"
#include "frontend/ast/ast.h"

namespace sonde {

class Library {
  public:
    // `parse` parses one whole text (parse/parser.h bound to its options).
    using Parse = std::function<ast::File*(FileId)>;
    // A name, and the files that may declare it, in the order of adding.
    using Index = std::map<std::string_view, std::vector<FileId>>;
    // What a text declares (lex/declarations.h); these names must live as long as the library.
    struct Names {
        std::span<const std::string_view> functions, globals, aliases;
    };

    Library(Sources& sources, Parse parse) : sources_(sources), parse_(std::move(parse)) {}

    // Adds a library text to the index; reads only the names of declarations, and none that are private.
    void add(FileId file);
    // The same, of a text whose declarations are known.
    void add(FileId file, const Names& names);

    // Every file that declares a function (a global, an alias whose name begins with that component) of that name,
    // parsed. Empty: none does.
    std::vector<const ast::File*> files_with_function(std::string_view name);
    std::vector<const ast::File*> files_with_global(std::string_view name);
    std::vector<const ast::File*> files_with_alias(std::string_view first_component);

    // Every file, parsed, in the order of adding.
    std::vector<const ast::File*> files();

    // For suggestions.
    std::vector<std::string> function_names() const;
    std::vector<std::string> alias_names() const;

  private:
    const ast::File* load(FileId file);
    Sources& sources_;
    Parse parse_;
    std::vector<FileId> files_;
    Index functions_, globals_, aliases_;
    std::map<FileId, const ast::File*> parsed_;
};

} // namespace sonde
