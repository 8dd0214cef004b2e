// Converts DWARF types to Type: one object for each DIE. The members of a record are read when somebody uses them
// (complete()).
//
// A type is created together with all types that it refers to, so that sizes are known. Pointers, typedefs and arrays
// are followed; records are not. Types live as long as the reader, or until forget(). Do not call forget() while you
// use a type.
#pragma once

#include <deque>
#include <unordered_map>

#include <elfutils/libdw.h>

#include "frontend/types/type.h"

namespace sonde {

class ProgramFile;
class TypeDefinitions;

class TypeReader final : private TypeSource {
  public:
    TypeReader(const ProgramFile& file, TypeDefinitions& definitions) : file_(file), definitions_(definitions) {}
    TypeReader(const TypeReader&) = delete;
    TypeReader& operator=(const TypeReader&) = delete;

    const Type* type_of(Dwarf_Die& die); // the type of a DIE with DW_AT_type; null: void
    // The type that a type's own DIE describes.
    const Type* type_from(Dwarf_Die& type_die);
    // Adds a type that the debug information does not contain; the caller fills it in.
    Type& add() { return types_.emplace_back(); }
    // Finds the DIE from which a type was read; for a completed record, its definition. Returns false if the type was
    // not read from a DIE.
    bool die_of(const Type* type, Dwarf_Die* die) const;

    // Whether any type was created, so that forget() would invalidate it.
    bool has_made_any() const { return !types_.empty(); }
    void forget();

  private:
    Type* make_type(Dwarf_Die& die);
    void complete(Type& record) override;
    void make_array(Dwarf_Die& die, Type& type);
    void make_member_pointer(Dwarf_Die& die, Type& type);
    void add_members(Dwarf_Die& record, Type& type, int depth);
    void add_variants(Dwarf_Die& part, Type& type);
    void add_member(Dwarf_Die& die, Type& type, bool base);

    const ProgramFile& file_;
    TypeDefinitions& definitions_;
    std::deque<Type> types_;
    std::unordered_map<const void*, Type*> by_die_;
    std::unordered_map<const Type*, Dwarf_Die> dies_;
    int depth_ = 0;
};

// Completes the record that a type is, or that it leads to through pointers and arrays.
void complete_deep(const Type* type);

} // namespace sonde
