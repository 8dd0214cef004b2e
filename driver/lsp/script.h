// A document as the front end sees it: pass 1 with the options of the server's command line. For use in a worker only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/source.h"
#include "driver/lsp/documents.h"
#include "driver/options.h"
#include "driver/sysroot.h"
#include "driver/translation.h"
#include "frontend/ast/ast.h"
#include "frontend/lex/token.h"

namespace sonde::lsp {

// Decided when the server starts; the same for all documents.
struct Setting {
    std::vector<std::string> words; // the options of `sonde lsp`, for translations
    std::string library_folder;     // has the files of the built-in library, so that an editor can open them
    Json inventory;                 // the names of the library (completion.h); null: not known yet
};

struct Script {
    explicit Script(Options given) : options(std::move(given)), t(options) {}

    Options options;
    std::unique_ptr<Sysroot> sysroot;
    Translation t;
    FileId file = 0;
    const ast::File* tree = nullptr; // the parts that could be parsed
    std::vector<Token> tokens;       // of the text as written, before macros and conditionals
    bool is_library = false;         // the document is a file of the built-in library
};

// Returns the options of a check of the script at `path`. Errors: the message of the command line.
Result<Options> read_options(const std::vector<std::string>& words, const std::string& path);

// Parses the document. The diagnostics in `t` are those of pass 1. Errors: those of read_user_texts() and parse().
Result<std::unique_ptr<Script>> open_script(const Document& document, const Setting& setting);

// The same for listings (-l, -L) at this script's points: its aliases are known, but messages are suppressed. With
// `with_variables`, listings contain variables.
Result<std::unique_ptr<Script>> open_for_listing(const Document& document, const Setting& setting, bool with_variables);
// Returns the lines of -l or -L; empty if the point is wrong.
std::vector<std::string> list_quietly(Script& script, const std::string& points, bool with_variables);

// Writes the files of the built-in library to the folder.
Result<void> write_library(const std::string& folder);

// Translates ranges to places in documents.
class Places {
  public:
    Places(const Script& script, const Document& document, const Setting& setting)
        : script_(script), document_(document), setting_(setting) {}

    bool is_in_document(Range range) const { return range.file == script_.file; }
    // The range in its own file, without the file's name.
    Json range(Range range);
    // Null: the text has no file, because the compiler made it or it came from the command line.
    Json location(Range range);

  private:
    const Text& text_of(FileId file);

    const Script& script_;
    const Document& document_;
    const Setting& setting_;
    std::map<FileId, Text> texts_; // of other files
};

} // namespace sonde::lsp
