// The library of functions, aliases and globals that scripts may use: the embedded tapset and the files in -I
// directories.
//
// Adding a file only indexes the names that it declares. The file is parsed when a script first uses one of these
// names.
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

// Owns the index. Sources owns the texts, and the arena of `parse` the trees.
class Library {
  public:
    // Parses one file: parse_file() of parse/parser.h with its options bound.
    using Parse = std::function<ast::File*(FileId)>;
    // Maps a name to the files that may declare it, in the order in which they were added.
    using Index = std::map<std::string_view, std::vector<FileId>>;
    // The names that a file declares (lex/declarations.h). They must live as long as the library.
    struct Names {
        std::span<const std::string_view> functions, globals, aliases;
    };

    Library(Sources& sources, Parse parse) : sources_(sources), parse_(std::move(parse)) {}

    // Adds a file to the index. Reads only the names of its public declarations.
    void add(FileId file);
    // The same for a file whose declarations are already known.
    void add(FileId file, const Names& names);

    // Returns all files that declare a function (or a global, or an alias whose name begins with that component) with
    // this name. The files are parsed. Returns an empty list if no file does.
    std::vector<const ast::File*> files_with_function(std::string_view name);
    std::vector<const ast::File*> files_with_global(std::string_view name);
    std::vector<const ast::File*> files_with_alias(std::string_view first_component);

    // Returns all files, parsed, in the order in which they were added.
    std::vector<const ast::File*> files();

    // All names, for suggestions in messages.
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
