// How values of one language, or of one implementation of its library, become text. One file each (language_*.cc),
// which knows by which members' names a library keeps its parts; where in memory these are, debug information tells.
//
// One more language is such a file with a Language, declared here and entered into the list of language.cc.
#pragma once

#include "frontend/variables/pretty.h"

namespace sonde {

struct Language {
    // True for a record that is the language's own or one of its library. Only the first language of the list that owns
    // a type is asked for its text.
    bool (*owns)(const Type& record);
    // Adds the record as one would write it in the language. False, and nothing is added, if the type has no such form
    // or is not laid out as expected: it is shown as any other.
    bool (*add)(Binding& b, Text& text, const Place& record, Level level);
    // A pointer to such a record is shown as the record.
    bool behind_pointers = true;
    // The same for a number, character or pointer of that type; null: the language writes them as C does.
    bool (*add_scalar)(Binding& b, Text& text, const Type& type, hir::Expr* value, Level level) = nullptr;
};

extern const Language go_language, libcxx_language, libstdcxx_language, rust_language;

// Of all languages. False: it is none of theirs, and nothing was added.
bool add_in_language(Binding& b, Text& text, const Place& record, bool is_behind_pointer, Level level);
bool add_scalar_in_language(Binding& b, Text& text, const Type& type, hir::Expr* value, Level level);

} // namespace sonde
