// Decides whether C++ passes a class by address. For example, std::string has a destructor that does something, so
// callers pass the address of a temporary object. A class that only contains numbers is passed in registers, like a
// struct in C. A class that contains a std::string is passed by address, too: its implicit destructor calls that of its
// member.
//
// If the answer is wrong, not only this argument is read from a wrong place, but also all arguments after it.
#include "frontend/dwarf/class_passing.h"

#include <optional>
#include <string_view>

#include <dwarf.h>

#include "base/debug/die.h"
#include "frontend/dwarf/type_reader.h"

namespace sonde {
namespace {

constexpr int max_depth = 32;

// Returns the class's name without template arguments, as its constructors and destructor are named.
std::string_view plain_name(Dwarf_Die& die) {
    const char* name = dwarf_diename(&die);
    std::string_view text = name ? name : "";
    return text.substr(0, text.find('<'));
}

// Whether the parameter is a reference to an object of that class.
bool refers_to(Dwarf_Die parameter, Dwarf_Die& class_die) {
    Dwarf_Attribute attribute;
    Dwarf_Die type;
    if (!dwarf_attr_integrate(&parameter, DW_AT_type, &attribute) || !dwarf_formref_die(&attribute, &type))
        return false;
    int tag = dwarf_tag(&type);
    if (tag != DW_TAG_reference_type && tag != DW_TAG_rvalue_reference_type)
        return false;
    Dwarf_Die target;
    if (!dwarf_attr(&type, DW_AT_type, &attribute) || !dwarf_formref_die(&attribute, &target) ||
        dwarf_peel_type(&target, &target) != 0)
        return false;
    const char* mine = dwarf_diename(&class_die);
    const char* other = dwarf_diename(&target);
    // A type unit contains a declaration of the class in addition to its definition.
    return target.addr == class_die.addr || (mine && other && std::string_view(mine) == other);
}

// Whether the function is a constructor with one argument, which is an object of its own class.
bool copies_or_moves(Dwarf_Die& function, Dwarf_Die& class_die) {
    int explicit_parameters = 0;
    bool own = false;
    for_each_child(function, [&](Dwarf_Die& child) {
        if (dwarf_tag(&child) == DW_TAG_formal_parameter && !flag_attribute(child, DW_AT_artificial)) {
            own = refers_to(child, class_die);
            explicit_parameters++;
        }
        return explicit_parameters < 2;
    });
    return explicit_parameters == 1 && own;
}

// Returns the answer if the class's own functions and bases determine it; nullopt if it depends on the classes of its
// members.
std::optional<bool> says_itself(Dwarf_Die& die) {
    if (std::optional<uint64_t> convention = number_attribute(die, DW_AT_calling_convention))
        return *convention == DW_CC_pass_by_reference;
    std::string_view own_name = plain_name(die);
    bool by_address = false;
    bool deleted = false, usable = false; // of the constructors that copy or move
    for_each_child(die, [&](Dwarf_Die& child) {
        int tag = dwarf_tag(&child);
        std::optional<uint64_t> virtuality = number_attribute(child, DW_AT_virtuality);
        bool is_virtual = virtuality && *virtuality != DW_VIRTUALITY_none;
        // Objects with a virtual table or virtual bases are copied by code that sets the pointer to the table.
        if ((tag == DW_TAG_inheritance || tag == DW_TAG_subprogram) && is_virtual)
            by_address = true;
        const char* name = tag == DW_TAG_subprogram ? dwarf_diename(&child) : nullptr;
        if (!name)
            return !by_address;
        // A function that is defaulted outside of the class counts as written by the author.
        bool authored = !flag_attribute(child, DW_AT_artificial) &&
                        number_attribute(child, DW_AT_defaulted) != DW_DEFAULTED_in_class;
        if (name[0] == '~') {
            by_address = by_address || authored;
        } else if (name == own_name && copies_or_moves(child, die)) {
            bool is_deleted = flag_attribute(child, DW_AT_deleted);
            (is_deleted ? deleted : usable) = true;
            by_address = by_address || (authored && !is_deleted);
        }
        return !by_address;
    });
    if (by_address || (deleted && !usable))
        return true;
    return std::nullopt;
}

bool is_by_address(TypeReader& types, const Type* type, int depth) {
    type = strip(type);
    for (int arrays = 0; type && type->kind == Type::Array && arrays < max_depth; arrays++)
        type = strip(type->target);
    if (!type || (type->kind != Type::Struct && type->kind != Type::Union) || depth > max_depth)
        return false;
    complete(type);
    Dwarf_Die die;
    if (!types.die_of(type, &die))
        return false;
    // Nothing is known about a class that is only declared. The strings of the standard library have copy constructors.
    if (is_declaration(die))
        return !type->incomplete;
    if (std::optional<bool> answer = says_itself(die))
        return *answer;
    for (const TypeMember& member : type->members)
        if (member.in_vtable || is_by_address(types, member.type, depth + 1))
            return true;
    return false;
}

} // namespace

bool is_passed_by_address(TypeReader& types, const Type* type) { return is_by_address(types, type, 0); }

} // namespace sonde
