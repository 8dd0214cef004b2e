// Reads types. For `struct s { struct s *next; char name[16]; }` the DIEs form a cycle: the struct has a member, whose
// type is a pointer to the struct. So a record is created empty and registered before anything else is read. Its
// members are added when complete() is called for the first time.
//
// All languages with DWARF are read here. Most of the special cases are for types that C does not have: tagged unions
// (Rust), arrays with descriptors (Fortran, Pascal), strings of fixed length (Fortran), subranges (Ada), pointers to
// members (C++), slices and strings (Go).
#include "frontend/dwarf/type_reader.h"

#include <algorithm>
#include <cstring>

#include <dwarf.h>
#include <fmt/format.h>

#include "base/debug/die.h"
#include "frontend/dwarf/library_strings.h"
#include "frontend/dwarf/location_expression.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/type_definitions.h"

namespace sonde {
namespace {

// Returns the attribute's value if it is a constant. Locations (of variable-length arrays) and references are not.
std::optional<int64_t> constant_attribute(Dwarf_Die& die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (!dwarf_attr(&die, name, &attribute))
        return std::nullopt;
    switch (dwarf_whatform(&attribute)) {
    case DW_FORM_exprloc:
    case DW_FORM_block:
    case DW_FORM_block1:
    case DW_FORM_block2:
    case DW_FORM_block4:
    case DW_FORM_sec_offset:
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
    case DW_FORM_ref_addr:
        return std::nullopt;
    case DW_FORM_sdata:
    case DW_FORM_implicit_const: {
        Dwarf_Sword number = 0;
        return dwarf_formsdata(&attribute, &number) == 0 ? std::optional<int64_t>(number) : std::nullopt;
    }
    default:
        if (dwarf_formudata(&attribute, &value) != 0)
            return std::nullopt;
        return static_cast<int64_t>(value);
    }
}

// Returns the default lower bound of arrays in a language (DWARF 5, table 7.17); 0 for languages that libdw does not
// know.
int64_t default_lower_bound(Dwarf_Die& die) {
    Dwarf_Die unit;
    Dwarf_Sword bound = 0;
    const bool is_known =
        dwarf_diecu(&die, &unit, nullptr, nullptr) && dwarf_default_lower_bound(dwarf_srclang(&unit), &bound) == 0;
    return is_known ? bound : 0;
}

// Returns the number of elements in one dimension; nullopt if it is not fixed (flexible and variable-length arrays).
std::optional<uint64_t> dimension_count(Dwarf_Die& subrange) {
    constexpr uint64_t max_count = uint64_t{1} << 48;
    std::optional<int64_t> count = constant_attribute(subrange, DW_AT_count);
    if (!count && dwarf_tag(&subrange) == DW_TAG_enumeration_type) {
        count = 0;
        for_each_child(subrange, [&](Dwarf_Die& child) {
            *count += dwarf_tag(&child) == DW_TAG_enumerator;
            return true;
        });
        return static_cast<uint64_t>(*count);
    }
    if (!count) {
        std::optional<int64_t> upper = constant_attribute(subrange, DW_AT_upper_bound);
        if (!upper)
            return std::nullopt;
        Dwarf_Sword lower = 0;
        if (std::optional<int64_t> constant = constant_attribute(subrange, DW_AT_lower_bound))
            lower = *constant;
        else if (dwarf_hasattr(&subrange, DW_AT_lower_bound))
            return std::nullopt;
        else
            lower = default_lower_bound(subrange);
        if (__builtin_sub_overflow(*upper, lower, &*upper) || __builtin_add_overflow(*upper, 1, &*upper))
            return std::nullopt;
        count = upper;
    }
    // gcc describes `[0]` by the upper bound -1, with the width of the index type.
    if (*count < 0 || static_cast<uint64_t>(*count) > max_count)
        return std::nullopt;
    return static_cast<uint64_t>(*count);
}

// Converts an attribute that is an expression over the array's own address; returns nullopt if it contains other
// operations.
std::optional<std::vector<ArrayStep>> array_steps(Dwarf_Die& die, unsigned name) {
    Dwarf_Attribute attribute;
    if (!dwarf_attr(&die, name, &attribute))
        return std::vector<ArrayStep>();
    if (std::optional<int64_t> constant = constant_attribute(die, name))
        return std::vector<ArrayStep>{{ArrayStep::Number, *constant}};
    Dwarf_Op* ops = nullptr;
    size_t length = 0;
    constexpr size_t max_steps = 32;
    if (dwarf_getlocation(&attribute, &ops, &length) != 0 || length > max_steps)
        return std::nullopt;
    std::vector<ArrayStep> steps;
    // The expression must leave exactly one value, and must not take values from an empty stack.
    int depth = 0; // depth of the stack
    for (size_t i = 0; i < length; i++) {
        const Dwarf_Op& op = ops[i];
        int taken = 0;
        switch (op.atom) {
        case DW_OP_push_object_address:
            steps.push_back({ArrayStep::Object});
            break;
        case DW_OP_deref:
            steps.push_back({ArrayStep::Load});
            taken = 1;
            break;
        case DW_OP_plus_uconst:
            steps.push_back({ArrayStep::Number, static_cast<int64_t>(op.number)});
            steps.push_back({ArrayStep::Add});
            taken = 1;
            break;
        case DW_OP_plus:
        case DW_OP_minus:
        case DW_OP_mul:
            steps.push_back({op.atom == DW_OP_plus    ? ArrayStep::Add
                             : op.atom == DW_OP_minus ? ArrayStep::Subtract
                                                      : ArrayStep::Multiply});
            taken = 2;
            break;
        default: {
            const std::optional<int64_t> constant = pushed_number(op);
            if (!constant)
                return std::nullopt;
            steps.push_back({ArrayStep::Number, *constant});
        }
        }
        if (depth < taken)
            return std::nullopt;
        depth += 1 - taken;
    }
    return depth == 1 ? std::optional(steps) : std::nullopt;
}

Type::Kind base_kind(uint64_t encoding) {
    switch (encoding) {
    case DW_ATE_boolean:
        return Type::Boolean;
    case DW_ATE_float:
    case DW_ATE_complex_float:
    case DW_ATE_imaginary_float:
    case DW_ATE_decimal_float:
        return Type::Float;
    case DW_ATE_signed_char:
    case DW_ATE_unsigned_char:
    case DW_ATE_UTF:
    case DW_ATE_UCS:
    case DW_ATE_ASCII:
        return Type::Character;
    default:
        return Type::Integer;
    }
}

// Whether numbers of a type with this name are characters. Debug information describes some of these types as integers:
// wchar_t, gcc's char8_t, and all of them in C, where they are typedefs.
bool is_named_like_character(std::string_view name, uint64_t size) {
    return (name == "wchar_t" && (size == 2 || size == 4)) || (name == "char8_t" && size == 1) ||
           (name == "char16_t" && size == 2) || (name == "char32_t" && size == 4);
}

bool is_signed_encoding(uint64_t encoding) { return encoding == DW_ATE_signed || encoding == DW_ATE_signed_char; }

// Whether an enumeration's values are signed, according to the underlying type, or else to the values.
bool is_signed_enum(Dwarf_Die& die) {
    if (std::optional<uint64_t> encoding = number_attribute(die, DW_AT_encoding))
        return is_signed_encoding(*encoding);
    Dwarf_Attribute attribute;
    Dwarf_Die underlying;
    if (dwarf_attr_integrate(&die, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, &underlying) &&
        dwarf_peel_type(&underlying, &underlying) == 0)
        return is_signed_encoding(number_attribute(underlying, DW_AT_encoding).value_or(DW_ATE_unsigned));
    bool negative = false;
    for_each_child(die, [&](Dwarf_Die& child) {
        Dwarf_Sword value = 0;
        unsigned form = dwarf_attr(&child, DW_AT_const_value, &attribute) ? dwarf_whatform(&attribute) : 0;
        negative = (form == DW_FORM_sdata || form == DW_FORM_implicit_const) &&
                   dwarf_formsdata(&attribute, &value) == 0 && value < 0;
        return !negative;
    });
    return negative;
}

void add_enumerators(Dwarf_Die& die, bool is_signed, std::vector<Enumerator>& out) {
    constexpr size_t max_enumerators = 1 << 20;
    for_each_child(die, [&](Dwarf_Die& child) {
        Dwarf_Attribute attribute;
        const char* name = dwarf_diename(&child);
        if (dwarf_tag(&child) != DW_TAG_enumerator || !name || !dwarf_attr(&child, DW_AT_const_value, &attribute))
            return true;
        Dwarf_Sword value = 0;
        Dwarf_Word bits = 0;
        // A data1 of 0xff is 255 or -1, depending on the type.
        if (is_signed ? dwarf_formsdata(&attribute, &value) == 0 : dwarf_formudata(&attribute, &bits) == 0)
            out.push_back({name, is_signed ? value : static_cast<int64_t>(bits)});
        return out.size() < max_enumerators;
    });
}

// For a virtual base, returns the position in the virtual table where its offset is stored; nullopt for other members.
// Compilers describe it by an expression over the object's address: load the pointer to the table, go back by a number
// of bytes, load the offset there, and add it.
std::optional<int64_t> offset_in_vtable(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    Dwarf_Op* ops = nullptr;
    size_t length = 0;
    if (!dwarf_attr(&die, DW_AT_data_member_location, &attribute) ||
        dwarf_getlocation(&attribute, &ops, &length) != 0 || length != 6 || ops[0].atom != DW_OP_dup ||
        ops[1].atom != DW_OP_deref || ops[3].atom != DW_OP_minus || ops[4].atom != DW_OP_deref ||
        ops[5].atom != DW_OP_plus)
        return std::nullopt;
    const std::optional<int64_t> back = pushed_number(ops[2]);
    return back && *back >= 0 && *back <= INT32_MAX ? std::optional(-*back) : std::nullopt;
}

// Returns the offset in the record in bytes; nullopt if it is only known at run time (virtual bases).
std::optional<uint64_t> member_offset(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    if (!dwarf_attr_integrate(&die, DW_AT_data_member_location, &attribute))
        return 0;
    Dwarf_Word value = 0;
    if (dwarf_formudata(&attribute, &value) == 0)
        return value;
    Dwarf_Op* ops = nullptr;
    size_t length = 0;
    // DWARF 2 describes the offset by an expression.
    if (dwarf_getlocation(&attribute, &ops, &length) == 0 && length == 1 &&
        (ops[0].atom == DW_OP_plus_uconst || ops[0].atom == DW_OP_constu))
        return ops[0].number;
    return std::nullopt;
}

} // namespace

// Returns the type that the DIE refers to. For an inlined copy this looks at the abstract DIE, too.
const Type* TypeReader::type_of(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    Dwarf_Die target;
    if (!dwarf_attr_integrate(&die, DW_AT_type, &attribute) || !dwarf_formref_die(&attribute, &target))
        return nullptr;
    return type_from(target);
}

const Type* TypeReader::type_from(Dwarf_Die& die) {
    auto found = by_die_.find(die.addr);
    if (found != by_die_.end())
        return found->second;
    // The type has a unit of its own (-fdebug-types-section), and this DIE only refers to it (DWARF 5, section 5.7.1).
    Dwarf_Attribute signature;
    Dwarf_Die definition;
    if (dwarf_attr(&die, DW_AT_signature, &signature) && dwarf_formref_die(&signature, &definition) &&
        !dwarf_hasattr(&definition, DW_AT_signature))
        return type_from(definition);
    return make_type(die);
}

// Creates the Type for a DIE. Everything that the type refers to is created first, so that its size is known; only
// records are left for complete(). Debug information can be nested without end (or be corrupt), hence the limit of the
// depth.
Type* TypeReader::make_type(Dwarf_Die& die) {
    Type& type = types_.emplace_back();
    if (depth_ >= max_die_depth) { // not cached: by a shorter path, the type may be valid
        type.name = "<too deep>";
        return &type;
    }
    // Store the type before its parts are read, so that cycles find it.
    by_die_[die.addr] = &type;
    dies_[&type] = die;
    const char* name = dwarf_diename(&die);
    type.name = name ? name : "";
    type.size = number_attribute(die, DW_AT_byte_size).value_or(0);
    // Attributes that Go's compiler defines (DW_AT_go_kind = 0x2900, DW_AT_go_embedded_field = 0x2903).
    constexpr unsigned go_kind_attribute = 0x2900;
    type.go_kind = static_cast<Type::GoKind>(constant_attribute(die, go_kind_attribute).value_or(Type::NotGo));
    depth_++;
    int tag = dwarf_tag(&die);
    switch (tag) {
    case DW_TAG_base_type: {
        uint64_t encoding = number_attribute(die, DW_AT_encoding).value_or(0);
        type.kind = base_kind(encoding);
        if (type.kind == Type::Integer && is_named_like_character(type.name, type.size))
            type.kind = Type::Character;
        type.is_signed = is_signed_encoding(encoding);
        type.is_complex = encoding == DW_ATE_complex_float;
        type.is_decimal = encoding == DW_ATE_decimal_float;
        type.is_swapped = type.size > 1 && number_attribute(die, DW_AT_endianity) == DW_END_big;
        break;
    }
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        type.kind = tag == DW_TAG_pointer_type ? Type::Pointer : Type::Reference;
        if (type.size == 0)
            type.size = file_.is_32_bit() ? 4 : 8;
        type.target = type_of(die);
        break;
    case DW_TAG_typedef:
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
        type.kind = tag == DW_TAG_typedef         ? Type::Typedef
                    : tag == DW_TAG_const_type    ? Type::Const
                    : tag == DW_TAG_volatile_type ? Type::Volatile
                    : tag == DW_TAG_restrict_type ? Type::Restrict
                                                  : Type::Atomic;
        type.target = type_of(die);
        if (type.target)
            type.size = type.target->size;
        if (const Type* number = strip(type.target); tag == DW_TAG_typedef && number && number->kind == Type::Integer &&
                                                     is_named_like_character(type.name, type.size)) {
            Type& character = types_.emplace_back(*number);
            character.kind = Type::Character;
            character.name = type.name;
            type.target = &character;
        }
        break;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        type.kind = tag == DW_TAG_union_type ? Type::Union : Type::Struct;
        type.source = this;
        break;
    case DW_TAG_enumeration_type: {
        type.kind = Type::Enum;
        Dwarf_Die definition = die;
        if (is_declaration(die) && !definitions_.find(die, &definition))
            type.incomplete = true;
        type.size = number_attribute(definition, DW_AT_byte_size).value_or(type.size);
        type.is_signed = is_signed_enum(definition);
        type.scope = definitions_.scope_of(definition);
        add_enumerators(definition, type.is_signed, type.enumerators);
        break;
    }
    case DW_TAG_array_type:
        make_array(die, type);
        break;
    case DW_TAG_string_type: {
        // A Fortran string, padded with blanks. If a variable has its length, the length is not known here.
        Type& character = types_.emplace_back();
        character.kind = Type::Character;
        character.name = "character";
        character.size = 1;
        type.kind = Type::Array;
        type.target = &character;
        if (dwarf_hasattr(&die, DW_AT_string_length))
            type.size = 0;
        else if (type.size != 0)
            type.count = type.size;
        type.unterminated = true;
        if (std::optional<std::vector<ArrayStep>> elements = array_steps(die, DW_AT_data_location))
            type.elements = *elements;
        else
            type.kind = Type::Unknown;
        break;
    }
    case DW_TAG_subrange_type: { // a separate type in Ada and Pascal: `type Percent is range 0 .. 100;`
        const Type* base = strip(type_of(die));
        if (!base)
            break;
        type.kind = base->kind;
        type.is_signed = base->is_signed;
        type.enumerators = base->enumerators;
        type.scope = base->scope;
        if (type.size == 0)
            type.size = base->size;
        break;
    }
    case DW_TAG_subroutine_type:
        if (type.go_kind != Type::NotGo) { // such a value is the address of a closure
            type.kind = Type::Pointer;
            type.size = 8;
            break;
        }
        type.kind = Type::Function;
        type.target = type_of(die);
        for_each_child(die, [&](Dwarf_Die& child) {
            int child_tag = dwarf_tag(&child);
            if (child_tag == DW_TAG_formal_parameter)
                type.members.push_back({"", type_of(child)});
            else if (child_tag == DW_TAG_unspecified_parameters)
                type.members.push_back({"...", nullptr});
            return type.members.size() < 256;
        });
        break;
    case DW_TAG_ptr_to_member_type:
        make_member_pointer(die, type);
        break;
    default:
        type.kind = Type::Unknown;
        break;
    }
    depth_--;
    // The sizes of arrays and typedefs depend on the record's size. For a declaration, that is in its definition.
    if (type.kind == Type::Struct || type.kind == Type::Union) {
        if (is_declaration(die) && type.size == 0)
            type.incomplete = true; // until complete() finds the definition
    }
    return &type;
}

bool TypeReader::die_of(const Type* type, Dwarf_Die* die) const {
    auto found = dies_.find(type);
    if (found == dies_.end())
        return false;
    *die = found->second;
    return true;
}

void TypeReader::make_array(Dwarf_Die& die, Type& type) {
    type.kind = Type::Array;
    struct Dimension {
        std::optional<uint64_t> count;
        std::optional<std::vector<ArrayStep>> stride;
    };
    std::vector<Dimension> dimensions;
    for_each_child(die, [&](Dwarf_Die& child) {
        int child_tag = dwarf_tag(&child);
        if (child_tag == DW_TAG_subrange_type || child_tag == DW_TAG_enumeration_type)
            dimensions.push_back({dimension_count(child), array_steps(child, DW_AT_byte_stride)});
        return dimensions.size() < 32;
    });
    if (dimensions.empty())
        dimensions.emplace_back(std::nullopt, std::vector<ArrayStep>());
    // In Fortran, the elements of the first dimension are adjacent.
    if (number_attribute(die, DW_AT_ordering).value_or(DW_ORD_row_major) == DW_ORD_col_major)
        std::ranges::reverse(dimensions);
    std::optional<std::vector<ArrayStep>> elements = array_steps(die, DW_AT_data_location);
    std::optional<std::vector<ArrayStep>> stride = array_steps(die, DW_AT_byte_stride);
    if (stride && !stride->empty())
        dimensions.back().stride = stride;
    // An array of bit fields, or with an expression that cannot be evaluated in a handler. Printing wrong elements
    // would be worse than an error.
    const bool is_packed = dwarf_hasattr(&die, DW_AT_bit_stride);
    if (!elements || !stride || is_packed ||
        std::ranges::any_of(dimensions, [](const Dimension& one) { return !one.stride; })) {
        type.kind = Type::Unknown;
        type.name = "array with a layout that is not known";
        return;
    }
    // `int a[2][3]` consists of two array types: this DIE's type is the outer one, and the inner ones are created.
    const Type* element = type_of(die);
    for (size_t i = dimensions.size(); i-- > 0;) {
        Type& dimension = i == 0 ? type : types_.emplace_back();
        dimension.kind = Type::Array;
        dimension.target = element;
        dimension.count = dimensions[i].count;
        dimension.stride = *std::move(dimensions[i].stride);
        uint64_t bytes = 0;
        uint64_t element_size = element ? element->size : 0;
        if (i == 0)
            type.elements = *elements;
        if (i == 0 && type.size != 0)
            break;
        if (dimension.count && dimension.stride.empty() &&
            !__builtin_mul_overflow(element_size, *dimension.count, &bytes))
            dimension.size = bytes;
        element = &dimension;
    }
}

// Pointers to members in the Itanium C++ ABI (section 2.3): for a data member its offset in the object, or -1 for null;
// for a function a pair of words.
void TypeReader::make_member_pointer(Dwarf_Die& die, Type& type) {
    const Type* target = type_of(die);
    Dwarf_Attribute attribute;
    Dwarf_Die owner;
    const bool is_known = dwarf_attr(&die, DW_AT_containing_type, &attribute) && dwarf_formref_die(&attribute, &owner);
    const char* name = is_known ? dwarf_diename(&owner) : nullptr;
    const std::string star = fmt::format("{}::*", name ? name : "");
    const uint64_t word = file_.is_32_bit() ? 4 : 8;
    const Type* function = strip(target);
    if (!function || function->kind != Type::Function) {
        type = integer_type(fmt::format("{} {}", type_name(target), star), word, true);
        return;
    }
    Type& code = types_.emplace_back();
    code.kind = Type::Pointer;
    code.size = word;
    Type& number = types_.emplace_back(integer_type("long", word, true));
    type.kind = Type::Struct;
    type.name = fmt::format("{} ({})()", type_name(function->target), star);
    type.size = 2 * word;
    type.members = {{.name = "__pfn", .type = &code}, {.name = "__delta", .type = &number, .byte_offset = word}};
}

void TypeReader::complete(Type& record) {
    Dwarf_Die die;
    if (!die_of(&record, &die))
        return;
    if (is_declaration(die)) {
        Dwarf_Die definition;
        if (definitions_.find(die, &definition)) {
            die = definition;
            dies_[&record] = die;
            record.size = number_attribute(die, DW_AT_byte_size).value_or(0);
            record.incomplete = false;
        } else {
            record.scope = definitions_.scope_of(die);
            record.incomplete = file_.is_32_bit() || !describe_library_string(*this, record);
            return;
        }
    }
    record.scope = definitions_.scope_of(die);
    add_members(die, record, 0);
    // Read a member's type together with the member. Records in it, and records that its pointers lead to, can then be
    // completed without another lookup.
    for (const TypeMember& member : record.members) {
        const Type* inner = strip(member.type);
        for (int depth = 0; inner && inner->kind == Type::Array && depth < max_die_depth; depth++)
            inner = strip(inner->target);
        if (depth_ < max_die_depth) {
            depth_++;
            sonde::complete(inner);
            depth_--;
        }
    }
}

void complete_deep(const Type* type) {
    const Type* inner = strip(type);
    for (int depth = 0; inner && depth < max_die_depth; depth++) {
        if (inner->kind != Type::Pointer && inner->kind != Type::Reference && inner->kind != Type::Array)
            break;
        inner = strip(inner->target);
    }
    sonde::complete(inner);
}

// Adds the members of a record, its base classes, its template arguments and its variants. `depth` is the nesting of
// template parameter packs.
void TypeReader::add_members(Dwarf_Die& record, Type& type, int depth) {
    constexpr size_t max_members = 1 << 16;
    for_each_child(record, [&](Dwarf_Die& child) {
        switch (dwarf_tag(&child)) {
        case DW_TAG_member:
            // A static member is not part of the object.
            if (!flag_attribute(child, DW_AT_external) && !flag_attribute(child, DW_AT_declaration))
                add_member(child, type, false);
            break;
        case DW_TAG_inheritance:
            add_member(child, type, true);
            break;
        case DW_TAG_template_type_parameter:
            type.arguments.push_back(type_of(child));
            break;
        case DW_TAG_GNU_template_parameter_pack:
            if (depth < 4)
                add_members(child, type, depth + 1);
            break;
        case DW_TAG_variant_part:
            add_variants(child, type);
            break;
        case DW_TAG_enumeration_type:
            if (!flag_attribute(child, DW_AT_enum_class))
                add_enumerators(child, is_signed_enum(child), type.enumerators);
            break;
        default:
            break;
        }
        return type.members.size() < max_members;
    });
}

namespace {

// Returns the value of a tag. A tag of 16 bytes is encoded as a block; returns nullopt if the upper half is not just
// the extension of the lower half.
std::optional<int64_t> tag_value(Dwarf_Attribute& attribute, bool is_signed) {
    Dwarf_Sword number = 0;
    Dwarf_Word bits = 0;
    if (is_signed && dwarf_formsdata(&attribute, &number) == 0)
        return number;
    if (dwarf_formudata(&attribute, &bits) == 0)
        return static_cast<int64_t>(bits);
    Dwarf_Block block;
    int64_t halves[2] = {};
    if (dwarf_formblock(&attribute, &block) != 0 || block.length > sizeof halves)
        return std::nullopt;
    memcpy(halves, block.data, block.length);
    const int64_t extension = is_signed && halves[0] < 0 ? -1 : 0;
    return halves[1] == extension ? std::optional(halves[0]) : std::nullopt;
}

} // namespace

// The members of all variants overlap, as in a union.
// A part with variants has a discriminant (the tag) and one DW_TAG_variant for each form (DWARF 5, section 5.7.10). If
// the tag's values cannot be read, no variant is used: choosing a wrong one would show garbage.
void TypeReader::add_variants(Dwarf_Die& part, Type& type) {
    Dwarf_Attribute attribute;
    Dwarf_Die tag;
    if (dwarf_attr(&part, DW_AT_discr, &attribute) && dwarf_formref_die(&attribute, &tag)) {
        Type holder;
        add_member(tag, holder, false);
        if (!holder.members.empty())
            type.tag = holder.members[0];
    }
    bool is_signed = type.tag && strip(type.tag->type) && strip(type.tag->type)->is_signed;
    bool readable = true;
    for_each_child(part, [&](Dwarf_Die& form) {
        if (dwarf_tag(&form) != DW_TAG_variant)
            return true;
        TypeVariant variant;
        variant.member = type.members.size();
        if (dwarf_attr(&form, DW_AT_discr_value, &attribute)) {
            variant.tag = tag_value(attribute, is_signed);
            readable = readable && variant.tag;
        }
        for_each_child(form, [&](Dwarf_Die& child) {
            if (dwarf_tag(&child) == DW_TAG_member)
                add_member(child, type, false);
            return true;
        });
        if (type.members.size() > variant.member)
            type.variants.push_back(variant);
        return true;
    });
    if (!readable)
        type.variants.clear();
    else if (type.variants.empty() && type.members.empty())
        type.tag.emplace(); // a tag without a type: no value has any variant
}

// Adds a member or base class. If its place is not known at compile time, it is left out.
void TypeReader::add_member(Dwarf_Die& die, Type& type, bool base) {
    std::optional<uint64_t> offset = member_offset(die);
    TypeMember member;
    if (!offset && base && !file_.is_32_bit() && (member.in_vtable = offset_in_vtable(die)))
        offset = 0;
    if (!offset)
        return;
    constexpr unsigned go_embedded_attribute = 0x2903;
    member.is_embedded = flag_attribute(die, go_embedded_attribute);
    member.type = type_of(die);
    member.byte_offset = *offset;
    member.is_base = base;
    const char* name = dwarf_diename(&die);
    if (base)
        member.name = strip(member.type) ? strip(member.type)->name : "";
    else if (name)
        member.name = name;
    std::optional<uint64_t> bits = number_attribute(die, DW_AT_bit_size);
    if (bits && *bits > 0 && *bits <= 64 && strip(member.type)) {
        uint64_t size = strip(member.type)->size;
        uint64_t position = 0; // of the lowest bit, counted from the record's beginning
        Dwarf_Attribute attribute;
        Dwarf_Sword from_top = 0;
        if (std::optional<uint64_t> position_attribute = number_attribute(die, DW_AT_data_bit_offset)) {
            position = *offset * 8 + *position_attribute;
        } else if (dwarf_attr(&die, DW_AT_bit_offset, &attribute) && dwarf_formsdata(&attribute, &from_top) == 0) {
            // DWARF 2 and 3 count from the most significant bit of a storage unit (DWARF 3, section 5.6.6).
            uint64_t unit = number_attribute(die, DW_AT_byte_size).value_or(size);
            position = *offset * 8 + unit * 8 - static_cast<uint64_t>(from_top) - *bits;
        } else {
            position = *offset * 8;
        }
        if (size == 0 || size > 8)
            size = 8;
        member.bit_size = static_cast<uint32_t>(*bits);
        member.byte_offset = position / (size * 8) * size;
        member.bit_offset = static_cast<uint32_t>(position - member.byte_offset * 8);
        if (member.bit_offset + *bits > size * 8) {
            // A packed field that spans two units: begin at its own byte.
            member.byte_offset = position / 8;
            member.bit_offset = static_cast<uint32_t>(position % 8);
        }
    }
    type.members.push_back(std::move(member));
}

void TypeReader::forget() {
    by_die_.clear();
    dies_.clear();
    types_.clear();
}

} // namespace sonde
