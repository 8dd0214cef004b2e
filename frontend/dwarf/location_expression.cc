// Translates DWARF expressions. For example, the location of a local at -20 from the frame base
//
//     DW_OP_fbreg(-20), and the frame base is DW_OP_call_frame_cfa, and the CFA here is rsp+16
//
// becomes {Register rsp, Constant -4, Add}: the address of the variable, in terms of what a handler can read.
// Everything that is constant at the probe's address is evaluated now, because a BPF program has few instructions and
// cannot read DWARF.
//
// The CFA differs from instruction to instruction, so a translated location is valid at one address only.
#include "frontend/dwarf/location_expression.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include <dwarf.h>
#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/debug/die.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/function_instances.h"
#include "frontend/dwarf/program_file.h"

namespace sonde {
namespace {

constexpr size_t max_operations = 1024;

// Whether a probe can read the register.
bool is_readable(const Architecture& architecture, uint64_t reg) {
    return reg < static_cast<uint64_t>(architecture.registers().count());
}

constexpr const char* optimized_out_here = "was optimized out at this address";

// Collects the pieces of a location, in whole bytes. A byte that consists of several bit pieces gets no location.
class PieceList {
  public:
    bool is_empty() const { return pieces_.empty() && bits_ == 0; }

    // Appends `size` bits that are at `place`, beginning with its bit `offset`. Returns false if the size is not
    // plausible.
    bool add(uint64_t size, uint64_t offset, Location place) {
        constexpr size_t most = 256;
        if (size / 8 > UINT32_MAX || pieces_.size() >= most)
            return false;
        const bool whole = bits_ % 8 == 0 && bits_ == done_ * 8 && size % 8 == 0 && offset == 0;
        bits_ += size;
        if (whole)
            push(std::move(place));
        else if (bits_ % 8 == 0)
            push(unavailable(why_));
        return true;
    }

    Location finish() && {
        bits_ = (bits_ + 7) / 8 * 8;
        if (bits_ != done_ * 8)
            push(unavailable(why_));
        Location whole;
        whole.kind = Location::Pieces;
        whole.pieces = std::move(pieces_);
        bool any = std::any_of(whole.pieces.begin(), whole.pieces.end(),
                               [](const Location::Piece& piece) { return piece.place.kind != Location::Unavailable; });
        return any ? whole : whole.pieces.front().place;
    }

  private:
    // Appends the bytes described since the last piece.
    void push(Location place) {
        pieces_.push_back({static_cast<uint32_t>(bits_ / 8 - done_), std::move(place)});
        done_ = bits_ / 8;
    }

    static constexpr const char* why_ = "consists of single bits";
    std::vector<Location::Piece> pieces_;
    uint64_t bits_ = 0; // number of bits described so far
    uint64_t done_ = 0; // number of bytes in pieces_
};

// Translates the expressions of one variable's location.
class LocationTranslator {
  public:
    LocationTranslator(const ExpressionContext& context, Address address, FunctionRef subprogram, int depth)
        : context_(context), address_(address), subprogram_(subprogram), pointers_(depth) {}

    // `attribute` contains the expression; it is null for expressions from call frame information.
    Location translate(Dwarf_Attribute* attribute, const Dwarf_Op* ops, size_t count) {
        PieceList pieces;
        reset();
        if (count == 0)
            return unavailable(optimized_out_here);
        std::optional<Location> failed; // the reason why the part since the last piece cannot be read
        for (size_t i = 0; i < count; i++) {
            const Dwarf_Op& op = ops[i];
            if (op.atom == DW_OP_piece || op.atom == DW_OP_bit_piece) {
                const bool by_bits = op.atom == DW_OP_bit_piece;
                Location piece = failed ? *std::move(failed) : finish(true);
                if (!pieces.add(by_bits ? op.number : op.number * 8, by_bits ? op.number2 : 0, std::move(piece)))
                    return unavailable("has a corrupt location");
                failed = std::nullopt;
                reset();
                continue;
            }
            if (failed || op.atom == DW_OP_nop || op.atom == DW_OP_GNU_uninit)
                continue; // DW_OP_GNU_uninit follows a register whose variable has no value yet
            if (done_)
                return unavailable("has a corrupt location");
            // Other pieces may still be readable.
            if (!step(attribute, op))
                failed = unavailable(why_);
        }
        if (pieces.is_empty())
            return failed ? *std::move(failed) : finish(false);
        return std::move(pieces).finish();
    }

    // Evaluates an expression that computes a value (the CFA or the frame base, not a location), and leaves the value
    // on the stack.
    bool push_value(Dwarf_Attribute* attribute, const Dwarf_Op* ops, size_t count) {
        if (++depth_ > 8 || count == 0)
            return fail("has a location that refers to itself");
        for (size_t i = 0; i < count; i++) {
            // A register as the frame base means the content of the register (DWARF 5, section 3.3.5).
            if (count == 1 &&
                (ops[i].atom == DW_OP_regx || (ops[i].atom >= DW_OP_reg0 && ops[i].atom <= DW_OP_reg31))) {
                depth_--;
                return push_register(ops[i].atom == DW_OP_regx ? ops[i].number : ops[i].atom - DW_OP_reg0, 0);
            }
            if (!step(attribute, ops[i]))
                return false;
            if (done_ && i + 1 != count)
                return fail("has a corrupt location");
        }
        bool is_value = !done_ || result_.kind == Location::Value;
        done_ = false;
        result_ = {};
        depth_--;
        return is_value ? true : fail("has a location that a probe cannot evaluate");
    }

  private:
    using Code = LocationOp::Code;
    static constexpr int64_t word_size = 8; // thread-local variables of 32-bit programs are not supported

    void reset() {
        ops_.clear();
        result_ = {};
        done_ = false;
    }

    // Returns the location described by the operations since the last piece.
    Location finish(bool piece) {
        if (done_) {
            if (result_.kind == Location::Value)
                result_.ops = std::move(ops_);
            return std::move(result_);
        }
        if (ops_.empty())
            return unavailable(piece ? "was optimized out in this part" : optimized_out_here);
        Location memory;
        memory.kind = Location::Memory;
        memory.ops = std::move(ops_);
        return memory;
    }

    bool fail(std::string why) {
        why_ = std::move(why);
        return false;
    }

    bool push(Code code, int64_t operand = 0) {
        if (ops_.size() >= max_operations)
            return fail("has a location that is too long");
        ops_.push_back({code, operand});
        return true;
    }

    bool push_register(uint64_t reg, int64_t offset) {
        const Architecture& architecture = context_.file.architecture();
        reg = architecture.register_of(reg);
        if (!is_readable(architecture, reg))
            return fail(architecture.unreadable_register(reg));
        return push(LocationOp::Register, static_cast<int64_t>(reg)) && add(offset);
    }

    // Adds a constant. Merges it with a constant that was added just before, such as a frame base and an offset.
    bool add(int64_t value) {
        size_t size = ops_.size();
        if (size >= 2 && ops_[size - 1].code == LocationOp::Add && ops_[size - 2].code == LocationOp::Constant) {
            uint64_t sum = static_cast<uint64_t>(ops_[size - 2].operand) + static_cast<uint64_t>(value);
            ops_[size - 2].operand = static_cast<int64_t>(sum);
            if (sum == 0)
                ops_.resize(size - 2);
            return true;
        }
        if (value == 0)
            return true;
        return push(LocationOp::Constant, value) && push(LocationOp::Add);
    }

    bool finish_with(Location::Kind kind) {
        result_.kind = kind;
        done_ = true;
        return true;
    }

    bool finish_in_register(uint64_t reg) {
        if (!ops_.empty())
            return fail("has a corrupt location");
        const Architecture& architecture = context_.file.architecture();
        reg = architecture.register_of(reg);
        done_ = true;
        if (is_readable(architecture, reg)) {
            result_.kind = Location::Register;
            result_.reg = static_cast<int>(reg);
        } else {
            result_ = unavailable(architecture.unreadable_register(reg)); // other pieces may still be readable
        }
        return true;
    }

    bool push_frame_base(int64_t offset) {
        Dwarf_Die die;
        Dwarf_Attribute attribute;
        if (!die_of(subprogram_, &die) || !location_attribute(die, DW_AT_frame_base, &attribute))
            return fail("is relative to a frame base without a description");
        Dwarf_Op* expression = nullptr;
        size_t length = 0;
        if (dwarf_getlocation_addr(&attribute, address_, &expression, &length, 1) != 1)
            return fail("is relative to a frame base without a description at this address");
        return push_value(&attribute, expression, length) && add(offset);
    }

    // The CFA at the probe's address. The program's .eh_frame comes first: .debug_frame is often missing or stripped.
    bool push_cfa() {
        Dwarf_CFI* tables[] = {context_.debug.eh_frame(), context_.debug.debug_frame()};
        for (Dwarf_CFI* table : tables) {
            Dwarf_Frame* frame = nullptr;
            if (!table || dwarf_cfi_addrframe(table, address_, &frame) != 0)
                continue;
            Dwarf_Op* expression = nullptr;
            size_t length = 0;
            bool found = dwarf_frame_cfa(frame, &expression, &length) == 0 && length > 0;
            bool pushed = found && push_value(nullptr, expression, length);
            free(frame);
            if (found)
                return pushed;
        }
        return fail("is relative to the frame, but this address has no call frame information");
    }

    int64_t counter() const { return context_.file.architecture().registers().instruction_pointer; }

    // Pushes an address in the module.
    bool push_address(Address address) {
        if (!context_.file.is_in_section(address))
            return fail("was removed by the linker");
        if (!context_.file.position_independent())
            return push(LocationOp::Constant, static_cast<int64_t>(address));
        // The program counter tells where the module is loaded.
        return push(LocationOp::Register, counter()) &&
               push(LocationOp::Constant, static_cast<int64_t>(address - address_)) && push(LocationOp::Add);
    }

    // Converts the offset in the module's thread-local block, on top of the stack, to an address.
    bool push_thread_local() {
        // gcc writes an address instead of an offset with -gsplit-dwarf.
        const bool is_outside = !ops_.empty() && ops_.back().code == LocationOp::Constant &&
                                static_cast<uint64_t>(ops_.back().operand) >= context_.file.thread_block_size();
        if (is_outside && !context_.file.is_32_bit())
            return fail("has a location outside of the thread-local variables, as gcc writes with -gsplit-dwarf; "
                        "compile without it");
        if (std::optional<int64_t> bias = context_.file.thread_distance())
            return push(LocationOp::ThreadBase) && push(LocationOp::Add) && add(*bias);
        if (context_.file.is_32_bit())
            return fail("is a thread-local variable of a 32-bit program");
        const std::optional<ThreadSlot>& slot = context_.file.thread_slot();
        if (!slot)
            return fail("is a thread-local variable of a shared library whose block has an unknown place");
        return push_block(*slot) && push(LocationOp::Add);
    }

    // Pushes the address of the library's block.
    bool push_block(const ThreadSlot& slot) {
        switch (slot.kind) {
        case ThreadSlot::Distance:
            return push_block_at_distance(slot.address, slot.offset);
        case ThreadSlot::Module:
            return push_block_in_table([&] { return push_word(slot.address); });
        case ThreadSlot::Descriptor:
            return push_block_of_descriptor(slot);
        }
        return false;
    }

    // Pushes 8 bytes at an address in the module.
    bool push_word(Address address) { return push_address(address) && push(LocationOp::Deref, word_size); }

    // `word`: contains the distance from the thread pointer to the variable at `offset`.
    bool push_block_at_distance(Address word, int64_t offset) {
        return push(LocationOp::ThreadBase) && push_word(word) && push(LocationOp::Add) && add(-offset);
    }

    // Pushes the address of the thread's table of blocks.
    bool push_block_table() {
        return push(LocationOp::ThreadBase) && add(context_.file.architecture().thread_storage().table) &&
               push(LocationOp::Deref, word_size);
    }

    // `push_module`: pushes the library's index.
    template <typename Push> bool push_block_in_table(Push push_module) {
        constexpr int64_t entry_size = 16;
        return push_block_table() && push_module() && push(LocationOp::Constant, entry_size) && push(LocationOp::Mul) &&
               push(LocationOp::Add) && push(LocationOp::Deref, word_size);
    }

    // A descriptor has two words: a function and its argument. The meaning of the argument follows from the function's
    // code.
    //
    // If the function returns its argument, this is the distance from the thread pointer to the variable. Otherwise
    // the function searches the thread's table, and the argument is the address of `struct tlsdesc_dynamic_arg` in
    // glibc. This has three words: the library's index, the variable's offset in the block, and a generation. If the
    // generation in the table's first word is older, the entry may be that of a library that was unloaded.
    //
    // Another function, such as one that binds the descriptor when it is first used, has another argument. Then the
    // second word is not the variable's offset, which is known here. In this case, and if the thread has no block yet,
    // the result is a read fault.
    bool push_block_of_descriptor(const ThreadSlot& slot) {
        const DescriptorCode& expected = context_.file.architecture().thread_storage().descriptor;
        constexpr int64_t first_size = sizeof expected.first, no_block = -1;
        auto push_argument = [&](int64_t offset) {
            return push_word(slot.address + word_size) && add(offset) && push(LocationOp::Deref, word_size);
        };
        auto push_entry = [&] { return push_block_in_table([&] { return push_argument(0); }); };
        auto push_fault = [&] { return push(LocationOp::Constant, 0) && push(LocationOp::Deref, word_size); };
        auto apply = [&](Code code, uint64_t number) {
            return push(LocationOp::Constant, static_cast<int64_t>(number)) && push(code);
        };
        // Whether the function returns its argument.
        const bool is_pushed = push_word(slot.address) && push_word(slot.address) &&
                               push(LocationOp::Deref, first_size) && apply(LocationOp::And, expected.first_mask) &&
                               apply(LocationOp::Eq, expected.first) && push(LocationOp::Constant, first_size) &&
                               push(LocationOp::Mul) && push(LocationOp::Add) && push(LocationOp::Deref, word_size) &&
                               apply(LocationOp::And, expected.mask) && apply(LocationOp::Eq, expected.code) &&
                               push_block_at_distance(slot.address + word_size, slot.offset);
        if (!is_pushed || !slot.has_glibc_table)
            return is_pushed && push_fault() && push(LocationOp::Choose);
        return push_argument(word_size) && apply(LocationOp::Eq, static_cast<uint64_t>(slot.offset)) &&
               push_block_table() && push(LocationOp::Deref, word_size) && push_argument(2 * word_size) &&
               push(LocationOp::Ge) && push(LocationOp::And) && push_entry() && apply(LocationOp::Ne, no_block) &&
               push(LocationOp::And) && push_entry() && push_fault() && push(LocationOp::Choose) &&
               push(LocationOp::Choose);
    }

    // DW_OP_implicit_pointer: the location of the object that the pointer would point to; null if the object is not
    // known here.
    std::shared_ptr<const Location> pointee(Dwarf_Attribute* attribute, const Dwarf_Op& op) {
        constexpr int most = 4; // pointers to pointers
        Dwarf_Die object;
        Dwarf_Attribute inner;
        Dwarf_Op* expression = nullptr;
        size_t length = 0;
        if (pointers_ == most || !attribute || dwarf_getlocation_die(attribute, &op, &object) != 0 ||
            !location_attribute(object, DW_AT_location, &inner) ||
            dwarf_getlocation_addr(&inner, address_, &expression, &length, 1) != 1 || length == 0)
            return nullptr;
        Location found =
            translate_expression(context_, address_, subprogram_, &inner, expression, length, pointers_ + 1);
        const bool is_known = found.kind != Location::Unavailable || found.pointee;
        return is_known ? std::make_shared<const Location>(std::move(found)) : nullptr;
    }

    // DW_OP_entry_value: the value that a register had when the function was entered. It is the register's value now if
    // the probe is at the entry. At any other address it is lost, unless the caller of this module can find it.
    bool push_entry_value(Dwarf_Attribute* attribute, const Dwarf_Op& op) {
        Dwarf_Attribute inner;
        Dwarf_Op* expression = nullptr;
        size_t length = 0;
        if (!attribute || dwarf_getlocation_attr(attribute, &op, &inner) != 0 ||
            dwarf_getlocation(&inner, &expression, &length) != 0)
            return fail("has a corrupt location");
        const FunctionInstance* function = context_.instances.of(subprogram_);
        if (function && function->entry == address_)
            return push_value(&inner, expression, length);
        const bool is_register = length == 1 && expression[0].atom >= DW_OP_reg0 && expression[0].atom <= DW_OP_reg31;
        if (!context_.accepts_entry_values || !is_register)
            return fail("is known only as the value that a register had when the function was entered");
        const Architecture& architecture = context_.file.architecture();
        const uint64_t reg = architecture.register_of(expression[0].atom - DW_OP_reg0);
        if (!is_readable(architecture, reg))
            return fail(architecture.unreadable_register(reg));
        return push(LocationOp::Register, first_entry_register + static_cast<int64_t>(reg));
    }

    // Converts the top of the stack to an integer type. Values are always extended to 64 bits, according to their type.
    bool convert(Dwarf_Attribute* attribute, const Dwarf_Op& op, bool generic_allowed) {
        if (generic_allowed && op.number == 0)
            return true; // to the generic type
        std::optional<std::pair<uint64_t, bool>> type = integer_type(attribute, op);
        if (!type)
            return fail("is computed with floating point numbers");
        return extend(type->first, type->second);
    }

    bool extend(uint64_t size, bool is_signed) {
        if (size >= 8) {
            unsigned_64_ = unsigned_64_ || !is_signed;
            return true;
        }
        if (!is_signed)
            return push(LocationOp::Constant, static_cast<int64_t>((uint64_t{1} << size * 8) - 1)) &&
                   push(LocationOp::And);
        int64_t shift = static_cast<int64_t>(64 - size * 8);
        return push(LocationOp::Constant, shift) && push(LocationOp::Shl) && push(LocationOp::Constant, shift) &&
               push(LocationOp::Sar);
    }

    // Returns the size and signedness of the base type that an operation names, or nullopt if it is not an integer of
    // up to 8 bytes.
    std::optional<std::pair<uint64_t, bool>> integer_type(Dwarf_Attribute* attribute, const Dwarf_Op& op) {
        Dwarf_Die die;
        if (!attribute || dwarf_getlocation_die(attribute, &op, &die) != 0)
            return std::nullopt;
        uint64_t encoding = number_attribute(die, DW_AT_encoding).value_or(0);
        uint64_t size = number_attribute(die, DW_AT_byte_size).value_or(0);
        switch (encoding) {
        case DW_ATE_signed:
        case DW_ATE_signed_char:
        case DW_ATE_unsigned:
        case DW_ATE_unsigned_char:
        case DW_ATE_boolean:
        case DW_ATE_address:
            break;
        default:
            return std::nullopt;
        }
        if (size == 0 || size > 8)
            return std::nullopt;
        return std::pair(size, encoding == DW_ATE_signed || encoding == DW_ATE_signed_char);
    }

    // The value has the size of its block. Extend it by its sign if the type is signed.
    bool push_typed_constant(Dwarf_Attribute* attribute, const Dwarf_Op& op) {
        std::optional<std::pair<uint64_t, bool>> type = integer_type(attribute, op);
        Dwarf_Attribute value;
        Dwarf_Block block;
        if (!type)
            return fail("is computed with floating point numbers");
        if (dwarf_getlocation_attr(attribute, &op, &value) != 0 || dwarf_formblock(&value, &block) != 0 ||
            block.length > 8 || block.length == 0)
            return fail("has a corrupt location");
        uint64_t bits = 0;
        memcpy(&bits, block.data, block.length);
        unsigned shift = static_cast<unsigned>(64 - block.length * 8);
        int64_t number = type->second ? static_cast<int64_t>(bits << shift) >> shift : static_cast<int64_t>(bits);
        return push(LocationOp::Constant, number);
    }

    bool dereference(uint64_t size) {
        if (size != 1 && size != 2 && size != 4 && size != 8)
            return fail("has a location that loads an odd number of bytes");
        return push(LocationOp::Deref, static_cast<int64_t>(size));
    }

    bool step(Dwarf_Attribute* attribute, const Dwarf_Op& op);

    const ExpressionContext& context_;
    Address address_;
    FunctionRef subprogram_;
    int pointers_; // implicit pointers that led here
    std::vector<LocationOp> ops_;
    Location result_; // set by an operation that ends a location
    bool done_ = false;
    bool unsigned_64_ = false; // a value may be an unsigned 64-bit number, for which a signed division would be wrong
    int depth_ = 0;
    std::string why_;
};

// Translates one operation. Returns false, with the reason in why_, if a probe cannot compute the result.
//
// If you add an operation, add it only if it has the same meaning at every probe hit. An operation that needs something
// which a BPF program cannot get (the caller's registers, floating-point registers, control flow) must fail here. A
// wrong location would give wrong values without any error.
bool LocationTranslator::step(Dwarf_Attribute* attribute, const Dwarf_Op& op) {
    unsigned atom = op.atom;
    if (const std::optional<int64_t> number = pushed_number(op))
        return push(LocationOp::Constant, *number);
    if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
        return push_register(atom - DW_OP_breg0, static_cast<int64_t>(op.number));
    if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31)
        return finish_in_register(atom - DW_OP_reg0);
    switch (atom) {
    case DW_OP_addr:
        return push_address(op.number);
    case DW_OP_addrx:
    case DW_OP_GNU_addr_index: {
        Dwarf_Attribute value;
        Dwarf_Addr address = 0;
        if (!attribute || dwarf_getlocation_attr(attribute, &op, &value) != 0 || dwarf_formaddr(&value, &address) != 0)
            return fail("has a corrupt location");
        return push_address(address);
    }
    case DW_OP_constx:
    case DW_OP_GNU_const_index: {
        // The operand of a thread-local variable in split debug information.
        Dwarf_Attribute value;
        Dwarf_Word number = 0;
        Dwarf_Addr address = 0;
        if (!attribute || dwarf_getlocation_attr(attribute, &op, &value) != 0)
            return fail("has a corrupt location");
        if (dwarf_formaddr(&value, &address) == 0)
            number = address;
        else if (dwarf_formudata(&value, &number) != 0)
            return fail("has a corrupt location");
        return push(LocationOp::Constant, static_cast<int64_t>(number));
    }
    case DW_OP_regx:
        return finish_in_register(op.number);
    case DW_OP_bregx:
        return push_register(op.number, static_cast<int64_t>(op.number2));
    case DW_OP_fbreg:
        return push_frame_base(static_cast<int64_t>(op.number));
    case DW_OP_call_frame_cfa:
        return push_cfa();
    case DW_OP_plus_uconst:
        return add(static_cast<int64_t>(op.number));
    case DW_OP_deref:
        return dereference(context_.file.architecture().word_size());
    case DW_OP_deref_size:
        return dereference(op.number);
    case DW_OP_dup:
        return push(LocationOp::Dup);
    case DW_OP_drop:
        return push(LocationOp::Drop);
    case DW_OP_over:
        return push(LocationOp::Over);
    case DW_OP_pick:
        return push(LocationOp::Pick, static_cast<int64_t>(op.number));
    case DW_OP_swap:
        return push(LocationOp::Swap);
    case DW_OP_rot:
        return push(LocationOp::Rot);
    case DW_OP_abs:
        return push(LocationOp::Abs);
    case DW_OP_neg:
        return push(LocationOp::Neg);
    case DW_OP_not:
        return push(LocationOp::Not);
    case DW_OP_and:
        return push(LocationOp::And);
    case DW_OP_or:
        return push(LocationOp::Or);
    case DW_OP_xor:
        return push(LocationOp::Xor);
    case DW_OP_plus:
        return push(LocationOp::Add);
    case DW_OP_minus:
        return push(LocationOp::Sub);
    case DW_OP_mul:
        return push(LocationOp::Mul);
    case DW_OP_div:
        if (unsigned_64_)
            return fail("is computed by an unsigned division");
        return push(LocationOp::Div);
    case DW_OP_mod:
        return push(LocationOp::Mod);
    case DW_OP_shl:
        return push(LocationOp::Shl);
    case DW_OP_shr:
        return push(LocationOp::Shr);
    case DW_OP_shra:
        return push(LocationOp::Sar);
    case DW_OP_eq:
        return push(LocationOp::Eq);
    case DW_OP_ne:
        return push(LocationOp::Ne);
    case DW_OP_lt:
        return push(LocationOp::Lt);
    case DW_OP_le:
        return push(LocationOp::Le);
    case DW_OP_gt:
        return push(LocationOp::Gt);
    case DW_OP_ge:
        return push(LocationOp::Ge);
    case DW_OP_nop:
    case DW_OP_GNU_uninit:
        return true;
    case DW_OP_stack_value:
        if (ops_.empty())
            return fail("has a corrupt location");
        return finish_with(Location::Value);
    case DW_OP_implicit_value: {
        Dwarf_Block block;
        if (!attribute || dwarf_getlocation_implicit_value(attribute, &op, &block) != 0 || block.length > (1 << 20))
            return fail("has a corrupt location");
        result_.bytes.assign(block.data, block.data + block.length);
        return finish_with(Location::Bytes);
    }
    case DW_OP_implicit_pointer:
    case DW_OP_GNU_implicit_pointer:
        done_ = true;
        result_ = unavailable("points to a value that was optimized out");
        result_.pointee = pointee(attribute, op);
        result_.pointee_offset = static_cast<int64_t>(op.number2);
        return true;
    case DW_OP_entry_value:
    case DW_OP_GNU_entry_value:
        return push_entry_value(attribute, op);
    case DW_OP_form_tls_address:
    case DW_OP_GNU_push_tls_address:
        return push_thread_local();
    case DW_OP_const_type:
    case DW_OP_GNU_const_type:
        return push_typed_constant(attribute, op);
    case DW_OP_regval_type:
    case DW_OP_GNU_regval_type: {
        std::optional<std::pair<uint64_t, bool>> type = integer_type(attribute, op);
        if (!type)
            return fail("is computed with floating point numbers");
        return push_register(op.number, 0) && extend(type->first, type->second);
    }
    case DW_OP_deref_type:
    case DW_OP_GNU_deref_type: {
        std::optional<std::pair<uint64_t, bool>> type = integer_type(attribute, op);
        if (!type)
            return fail("is computed with floating point numbers");
        return dereference(op.number) && extend(type->first, type->second);
    }
    case DW_OP_convert:
    case DW_OP_GNU_convert:
    case DW_OP_reinterpret:
    case DW_OP_GNU_reinterpret:
        return convert(attribute, op, true);
    case DW_OP_bra:
    case DW_OP_skip:
        return fail("has a location that depends on a condition");
    case DW_OP_GNU_parameter_ref:
        return fail("is known only from the caller's arguments");
    case DW_OP_push_object_address:
    case DW_OP_call2:
    case DW_OP_call4:
    case DW_OP_call_ref:
    case DW_OP_GNU_variable_value:
        return fail("has a location that refers to another variable");
    default:
        return fail(fmt::format("has a location with operation {:#x}, which is not supported", atom));
    }
}

} // namespace

// See the header. libdw has already decoded the operand.
std::optional<int64_t> pushed_number(const Dwarf_Op& op) {
    if (op.atom >= DW_OP_lit0 && op.atom <= DW_OP_lit31)
        return op.atom - DW_OP_lit0;
    switch (op.atom) {
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const8u:
    case DW_OP_const8s:
    case DW_OP_constu:
    case DW_OP_consts:
        return static_cast<int64_t>(op.number);
    default:
        return std::nullopt;
    }
}

// Go encodes expressions as blocks. In DWARF 4, a block is not an expression, so libdw does not accept it. A short
// block has the same bytes as an expression.
bool location_attribute(Dwarf_Die& die, unsigned name, Dwarf_Attribute* attribute) {
    if (!dwarf_attr_integrate(&die, name, attribute))
        return false;
    constexpr unsigned char first_long = 0x80;
    if (attribute->form == DW_FORM_block1 && *attribute->valp < first_long)
        attribute->form = DW_FORM_exprloc;
    return true;
}

Location translate_expression(const ExpressionContext& context, Address address, FunctionRef subprogram,
                              Dwarf_Attribute* attribute, const Dwarf_Op* ops, size_t count, int depth) {
    return LocationTranslator(context, address, subprogram, depth).translate(attribute, ops, count);
}

int64_t constants_added(const std::vector<LocationOp>& ops, size_t& at) {
    int64_t sum = 0;
    for (; at + 1 < ops.size() && ops[at].code == LocationOp::Constant; at += 2)
        if (ops[at + 1].code == LocationOp::Add)
            sum += ops[at].operand;
        else if (ops[at + 1].code == LocationOp::Sub)
            sum -= ops[at].operand;
        else
            break;
    return sum;
}

std::optional<RegisterOffset> register_offset(const Location& place) {
    if (place.kind != Location::Memory || place.ops.empty() || place.ops[0].code != LocationOp::Register)
        return std::nullopt;
    size_t next = 1;
    const int64_t bytes = constants_added(place.ops, next);
    if (next != place.ops.size())
        return std::nullopt;
    return RegisterOffset{.reg = place.ops[0].operand, .bytes = bytes};
}

Location above_return_address(const RegisterFile& registers, uint64_t offset, bool by_address) {
    Location location;
    location.kind = Location::Memory;
    location.ops = {{LocationOp::Register, registers.stack_pointer}};
    if (const int64_t distance = registers.call.pushed + static_cast<int64_t>(offset); distance != 0) {
        location.ops.push_back({LocationOp::Constant, distance});
        location.ops.push_back({LocationOp::Add});
    }
    if (by_address)
        location.ops.push_back({LocationOp::Deref, 8});
    return location;
}

} // namespace sonde
