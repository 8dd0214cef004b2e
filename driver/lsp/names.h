// The names in a document: where each is declared, and where it is used. The base of go to definition, references,
// rename, hover and the colors of names.
//
// The index needs no analysis, so it works for a script with mistakes and for one whose programs do not exist here. It
// follows the rules of frontend/sema/names.cc and build_name.cc.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "driver/lsp/script.h"

namespace sonde::lsp {

enum class NameKind : uint8_t { Function, Global, Local, Parameter, Alias, Macro };

struct Occurrence {
    Range range; // in the document
    bool is_declaration = false;
};

struct Name {
    NameKind kind;
    std::string name;
    std::vector<Range> declarations;     // in the document or in another file; of a local, its first use
    std::vector<Occurrence> occurrences; // sorted
    bool is_elsewhere = false;           // it is declared in another file
    std::string shown;                   // the declaration for a reader: `function f:long (a:string)`
    std::string doc;                     // its comment
};

class NameIndex {
  public:
    explicit NameIndex(Script& script);

    // The name at an offset in the document, or directly before it. Null: none.
    const Name* at(size_t offset) const;
    const Occurrence* occurrence_at(size_t offset) const;
    const std::deque<Name>& names() const { return names_; }

  private:
    std::deque<Name> names_;
    struct Place {
        Occurrence occurrence;
        const Name* name;
    };
    const Place* find(size_t offset) const;
    std::vector<Place> places_; // sorted by their beginnings; they do not overlap
};

// `function f:long (a:string, b)`
std::string signature_of(const ast::Function& function);

} // namespace sonde::lsp
