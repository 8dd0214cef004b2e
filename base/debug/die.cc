// Attributes of DIEs.
//
// An attribute can be in another DIE. A concrete copy of a function refers to its abstract instance
// (DW_AT_abstract_origin), and a definition outside of its class refers to the declaration there (DW_AT_specification).
// The name is only in the DIE that is referred to. dwarf_attr_integrate() follows both kinds of references;
// dwarf_attr() does not.
#include "base/debug/die.h"

#include <dwarf.h>

namespace sonde {

bool flag_attribute(Dwarf_Die& die, unsigned name) {
    Dwarf_Attribute attribute;
    bool flag = false;
    return dwarf_attr_integrate(&die, name, &attribute) && dwarf_formflag(&attribute, &flag) == 0 && flag;
}

bool is_declaration(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    bool flag = false;
    return dwarf_attr(&die, DW_AT_declaration, &attribute) && dwarf_formflag(&attribute, &flag) == 0 && flag;
}

std::optional<uint64_t> number_attribute(Dwarf_Die& die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (!dwarf_attr_integrate(&die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0)
        return std::nullopt;
    return value;
}

const char* string_attribute(Dwarf_Die& die, unsigned name) {
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(&die, name, &attribute) ? dwarf_formstring(&attribute) : nullptr;
}

const char* linkage_name(Dwarf_Die& die) {
    const char* name = string_attribute(die, DW_AT_linkage_name);
    return name ? name : string_attribute(die, DW_AT_MIPS_linkage_name);
}

// Replaces dwarf_decl_file(), which aborts on split units and corrupt tables in elfutils 0.188.
const char* declaration_file(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    Dwarf_Word index = 0;
    Dwarf_Die unit;
    Dwarf_Files* files = nullptr;
    size_t count = 0;
    if (!dwarf_attr_integrate(&die, DW_AT_decl_file, &attribute) || dwarf_formudata(&attribute, &index) != 0 ||
        !dwarf_cu_die(attribute.cu, &unit, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) ||
        dwarf_getsrcfiles(&unit, &files, &count) != 0 || index >= count)
        return "";
    const char* file = dwarf_filesrc(files, index, nullptr, nullptr);
    return file ? file : "";
}

} // namespace sonde
