// What types of libraries lead to: the elements of containers by their numbers (`v[3]`), and the objects behind smart
// pointers, optionals and iterators (`p->m`). Each library has one file (elements_*.cc), which knows the names of its
// members. The texts of whole values are in language.h.
#pragma once

#include "frontend/variables/place.h"

namespace sonde {

// Elements that are contiguous in memory, or in a ring. Expressions that the type does not have are null.
struct Sequence {
    hir::Expr* first = nullptr; // the address of the memory
    hir::Expr* count = nullptr; // of the elements; null for a pointer to an array of unknown length
    const Type* element = nullptr;
    // Of a ring: the place of the first element in the memory, and the number of places.
    hir::Expr *position = nullptr, *capacity = nullptr;

    // Whether the elements can be found. A ring needs both of its numbers.
    explicit operator bool() const;
};

// Both accept places of all types. Without a report, they return an empty sequence or nullopt if the type has no such
// elements or object, or an unexpected layout.
Sequence elements_of(Binding& b, const Place& place);
std::optional<Place> pointee_of(Binding& b, const Place& place);

// The element with the number `index`. At run time, a number outside of the sequence is an error that names
// `written`, the sequence in the script.
std::optional<Place> element_at(Binding& b, const Sequence& sequence, hir::Expr* index, const std::string& written);

// One library.
struct LibraryTypes {
    // Whether the record belongs to it.
    bool (*owns)(const Type& record);
    Sequence (*elements)(Binding& b, const Place& record);
    std::optional<Place> (*pointee)(Binding& b, const Place& record);
};

extern const LibraryTypes libcxx, libstdcxx, rust_library;

// For these files: the object in an optional value, if it is in memory. At run time, an optional without a value is an
// error. nullopt without a report if an argument is missing.
std::optional<Place> optional_value(Binding& b, hir::Expr* has_value, const std::optional<Place>& value);

} // namespace sonde
