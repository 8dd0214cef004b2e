// How values of a language, or of one implementation of its library, are printed. Each has one file (language_*.cc). It
// knows the names of the library's members; debug information has their offsets.
//
// To add a language, write such a file with a Language, declare it here, and add it to the list in language.cc.
#pragma once

#include "frontend/variables/pretty.h"

namespace sonde {

struct Language {
    // Whether the record belongs to the language or its library. Only the first language in the list that owns a type
    // prints it.
    bool (*owns)(const Type& record);
    // Prints the record as in the language's source code. Returns false and adds nothing if the type has no such form
    // or an unexpected layout. It is then printed like any record.
    bool (*add)(Binding& b, Text& text, const Place& record, Level level);
    // Whether a pointer to such a record is printed as the record.
    bool behind_pointers = true;
    // The same for a number, character or pointer of this type. Null: the language writes them like C.
    bool (*add_scalar)(Binding& b, Text& text, const Type& type, hir::Expr* value, Level level) = nullptr;
};

extern const Language go_language, libcxx_language, libstdcxx_language, rust_language;

// Try all languages. Return false and add nothing if none owns the type.
bool add_in_language(Binding& b, Text& text, const Place& record, bool is_behind_pointer, Level level);
bool add_scalar_in_language(Binding& b, Text& text, const Type& type, hir::Expr* value, Level level);

} // namespace sonde
