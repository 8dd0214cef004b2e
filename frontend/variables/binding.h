// How `$x->y` becomes HIR: a Place is where a value is, and components walk from place to place. Private to
// frontend/variables.
#pragma once

#include "frontend/points/debug_problems.h"
#include "frontend/variables/variables.h"

namespace sonde {

// Some bytes of a value that is not (all) in memory.
struct PlacePart {
    uint64_t offset = 0; // in the whole value
    uint64_t size = 0;
    enum Kind { Memory, Value, Missing } kind = Missing;
    hir::Expr* expr = nullptr; // Memory: the address; Value: the bytes, lowest first
    std::string why;           // Missing
};

// Where a value of `type` is.
struct Place {
    const Type* type = nullptr;
    hir::Expr* address = nullptr; // in memory; else `parts`
    std::vector<PlacePart> parts; // not in memory: the whole variable
    uint64_t offset = 0;          // of this value in `parts`
    uint32_t bit_offset = 0;      // a bitfield's lowest bit in the unit of the type's size
    uint32_t bit_size = 0;        // 0: no bitfield
    bool at_entry = false;        // expressions hold at the function's entry: what is loaded must be saved there
    bool kernel = false;          // what it is in or points to is the kernel's memory
};

// What a kernel function or tracepoint gets.
struct KernelVariable {
    std::string name; // without `$`; "arg1" if the kernel does not say
    const Type* type;
    int number; // hir::Argument
};
std::vector<KernelVariable> kernel_variables(const ResolvedPoint& point);

// What a system call gets.
struct SyscallVariable {
    std::string name;
    const Type* type;
    bool is_text; // a string, as far as its declaration says
};
std::vector<SyscallVariable> syscall_variables(const ResolvedPoint& point);
// `$variables` of a process's system call.
std::vector<std::string> process_syscall_variables(plan::ProbeKind kind);

// Binds one target expression. Functions that give a pointer or an optional report before they give nothing.
class TargetBinder {
  public:
    TargetBinder(const ast::TargetExpr& expr, const ResolvedPoint& point, Binder& binder)
        : expr_(expr), point_(point), binder_(binder) {}

    hir::Expr* value();
    hir::Expr* address();
    hir::Expr* store(const Assignment& assignment);
    hir::Expr* return_address();

  private:
    // bind.cc: what stands before the components
    bool has_module();    // with debug information
    bool has_variables(); // and the probed function has it too
    std::vector<Variable> visible(bool globals);
    hir::Expr* plt_summary();
    std::optional<Place> base();
    std::optional<Place> variable(const std::string& name);
    Place constant_place(int64_t value);
    std::optional<Place> result(size_t index);
    std::optional<Place> place_of_result(const Variable& variable);
    std::optional<Place> place_of(const Variable& variable);
    // Notes that `value` is the address of a `target`.
    void note_pointer(const hir::Expr* value, const Type* target);
    Range base_range() const;
    Address evaluation_address() const { return point_.is_return ? point_.entry_address : point_.address; }
    // Where the program counter is then, as linked.
    Address counter_address() const { return point_.jump.value_or(evaluation_address()); }
    // The expression up to (without) component `end`, as written.
    std::string text(size_t end = SIZE_MAX) const;
    std::nullptr_t fail(DiagId id, Range range, const std::string& message, const std::string& help = "");

    // bind_global.cc
    // Where `@cast` looks for types.
    struct TypeScope {
        std::function<const Type*(const std::string&)> find;
        std::function<std::vector<std::string>()> names;
        std::string where; // for messages
    };
    std::optional<TypeScope> type_scope(); // reports
    bool is_kernels() const;
    std::vector<DwarfModule*> modules();
    // The program or library of that name; null if it has no debug information, and `why` is the reason.
    DwarfModule* named_module(const std::string& name, std::string& why);
    TypeScope types_of(DwarfModule& module);
    std::optional<Place> cast();
    std::optional<Place> pointer(); // a script's value
    // A place of that type at `address`, or with the value `address` if that is a pointer.
    std::optional<Place> place_of_value(hir::Expr* address, const Type* type, bool kernel);
    std::optional<Place> global();
    std::optional<Place> place_of_global(DwarfModule& module, const Variable& variable);
    std::optional<Place> place_in_kernel(const std::string& name);
    std::optional<Place> untyped_in_kernel(const std::string& name, const std::string& why);
    bool wants_address_ = false; // and no more, so that the type does not matter

    // bind_errno.cc
    // `@var("errno")` in a program or library that has no variable of its own with that name.
    bool is_errno();
    std::optional<Place> errno_place();
    hir::Expr* load_base(); // what was added to the module's link-time addresses

    // bind_mark.cc
    std::optional<Place> mark_variable();
    std::optional<Place> mark_argument(size_t index);
    hir::Expr* mark_summary();

    // bind_process_syscall.cc
    std::optional<Place> process_syscall_variable();

    // bind_result.cc: what is the handler's own, and not in a program's or the kernel's memory
    bool is_file_value() const; // `$value`
    hir::Expr* file_value();
    std::optional<Place> hook_variable(); // Netfilter

    // bind_kernel.cc
    // A point in the kernel whose variables are what its prototype says; else debug information tells of them.
    bool is_by_prototype() const { return point_.kernel && !point_.module; }
    // Of a variable at that link-time address; null after a report.
    // Of what the kernel's debug information has at `linked`.
    hir::Expr* kernel_address(DwarfModule& module, Address linked);
    hir::Expr* per_cpu_address(uint64_t offset);
    std::optional<Place> kernel_variable();
    std::optional<Place> kernel_place(const KernelVariable& variable);
    hir::Expr* kernel_summary();

    // bind_syscall.cc
    std::optional<Place> syscall_variable();
    hir::Expr* syscall_register(size_t index);
    std::optional<Place> syscall_argument(const SyscallVariable& variable, size_t index);
    std::optional<Place> syscall_result();
    hir::Expr* syscall_summary();

    // bind_location.cc: reading
    hir::Expr* evaluate(const std::vector<LocationOp>& ops);
    // `why` gets the reason when there is no place.
    std::optional<Place> place_at(const Location& location, const Type* type, std::string& why);
    void add_parts(const Location& location, uint64_t offset, uint64_t size, std::vector<PlacePart>& parts);
    hir::Expr* read_parts(const Place& place, uint64_t size, Range range);
    hir::Load* read(const Place& place, Range range, hir::Expr* address, uint64_t size, bool is_signed);
    // A scalar's value.
    hir::Expr* load(const Place& place, Range range);
    hir::Expr* saved(hir::Expr* expr, bool at_entry);
    hir::Expr* plus(hir::Expr* expr, int64_t offset);
    hir::Expr* binary(hir::BinaryOp op, hir::Expr* left, hir::Expr* right);
    hir::Expr* number(int64_t value);
    std::vector<PlacePart>::const_iterator part_at(const Place& place, uint64_t offset) const;

    // bind_store.cc: writing
    bool is_assignable();
    hir::Expr* address_to_write(const Place& place, uint64_t size);
    std::nullptr_t refuse_store(const Place& place);
    hir::Expr* store_at(const Place& place, hir::Expr* address, hir::Expr* value);

    // bind_members.cc: components
    std::optional<Place> walk(Place place, size_t end);
    std::optional<Place> member(Place place, size_t index);
    std::optional<Place> element(Place place, size_t index);
    // What a pointer (or array of one dimension less) leads to.
    std::optional<Place> pointed_to(const Place& place, Range range);
    std::optional<Place> without_references(Place place, Range range);
    // Where the whole expression's value is, behind references.
    std::optional<Place> referenced_place();
    // A floating point value as the bits of a double.
    hir::Expr* double_bits(const Place& place, Range range);
    // The value of the whole expression as a long.
    hir::Expr* to_long(const Place& place, Range range);
    // The place's own address; null without a report if it has none.
    hir::Expr* address_of(const Place& place);

    // bind_vars.cc: strings
    struct Text { // a sprintf in the making
        plan::Format format;
        std::vector<hir::Expr*> args;
        void literal(const std::string& text);
        bool full() const { return args.size() >= 64; }
    };
    hir::Expr* all_variables();
    void add_variable(Text& text, const std::string& name, const std::function<std::optional<Place>()>& find);
    hir::Expr* finish(Text text);
    // The same, or a `?` where memory that it reads cannot be read.
    hir::Expr* finish_guarded(Text text);
    // bind_pretty.cc
    hir::Expr* pretty();
    void add_pretty(Text& text, const Place& place, bool deep, int depth);
    void add_record(Text& text, const Place& place, bool deep, int depth);
    void add_array(Text& text, const Place& place, bool deep, int depth);
    void add_string(Text& text, const Place& place, hir::Expr* address, int64_t limit);
    void add_character(Text& text, hir::Expr* value, uint64_t size);
    hir::Expr* wide_string(const Place& place, hir::Expr* address);
    void add_user_text(Text& text, hir::Expr* address);
    bool add_by_letter(Text& text, char letter, hir::Expr* value);
    void add_syscall_text(Text& text);
    void add_arguments_by_type(Text& text);
    void add_integer(Text& text, hir::Expr* value, char conversion, char flag);
    // bind_go.cc: strings, slices and interfaces; false for anything else.
    bool add_go(Text& text, const Place& place);
    // A place's text, saved at the function's entry if it holds only there.
    void add_value(Text& text, Place place, bool deep);

    // bind_values.cc: what library types have in common. Functions that give a bool add nothing where they give false:
    // the type is not laid out as expected, and is shown as any other.
    bool add_known(Text& text, const Place& place, bool deep, int depth);
    // `path` is members' names with dots between them. None if there is no such member; no report.
    std::optional<Place> field(Place place, std::string_view path);
    hir::Expr* field_value(const Place& place, std::string_view path); // null where that is no number
    Place inside(const Place& record, const TypeMember& member);
    Place object_at(hir::Expr* address, const Type* type);
    hir::Expr* text_of(const Place& place, bool deep, int depth);
    void add_text(Text& text, hir::Expr* value); // a string
    bool add_bytes(Text& text, hir::Expr* address, hir::Expr* count);
    bool add_sequence(Text& text, hir::Expr* first, hir::Expr* count, const Type* element, bool deep, int depth);
    bool add_optional(Text& text, hir::Expr* condition, const Place& value, bool deep, int depth);
    hir::Expr* element_text(const Place& element, bool is_map, bool deep, int depth);

    // A loop over elements. Its state: `at` is where it is, `index` the elements before; the others are the walk's own.
    struct Cursor {
        hir::Local *at, *index, *other, *steps;
        std::vector<hir::Local*> more;
        hir::Block& body;
    };
    struct Walk {
        std::string open = "[", close = "]";
        hir::Expr* first = nullptr; // `at` in the beginning
        hir::Expr* count = nullptr; // elements
        std::vector<hir::Expr*> more;
        std::function<hir::Expr*(const Cursor&)> element; // its text
        std::function<void(const Cursor&)> step;          // adds the statements that go to the next one
    };
    bool add_walk(Text& text, const Walk& walk, bool deep, int depth);
    hir::Expr* walk_text(const Walk& walk);
    hir::Expr* enumerator_text(const Type* type, hir::Expr* value); // the number where it has no name
    hir::Expr* bytes_text(hir::Expr* address, hir::Expr* count);
    hir::Function* begin_function(Range range);
    hir::Expr* get(hir::Local* local);
    hir::Stmt* set(hir::Local* local, hir::Expr* value, bool append = false);
    hir::Expr* string(const std::string& value);

    // bind_cxx.cc
    bool add_cxx(Text& text, const Place& place, const std::string& name, bool deep, int depth);
    bool add_cxx_string(Text& text, const Place& place, bool deep, int depth);
    bool add_cxx_vector(Text& text, const Place& place, bool deep, int depth);
    bool add_cxx_array(Text& text, const Place& place, bool deep, int depth);
    bool add_cxx_span(Text& text, const Place& place, bool deep, int depth);
    bool add_cxx_deque(Text& text, const Place& place, bool deep, int depth);
    bool add_cxx_list(Text& text, const Place& place, bool deep, int depth);
    bool add_cxx_hash(Text& text, const Place& place, bool is_map, bool deep, int depth);
    bool add_cxx_tree(Text& text, const Place& place, bool is_map, bool deep, int depth);
    // A container's nodes: the first one, how many there are, and where in a node its value and its links are.
    struct Nodes {
        hir::Expr *first = nullptr, *count = nullptr;
        const Type* element = nullptr;
        int64_t value = 0, next = -1, left = -1, right = -1, parent = -1;
    };
    std::optional<Nodes> cxx_chain(const Place& first, std::string_view next_member, hir::Expr* count,
                                   const Type* element);
    bool add_cxx_chain(Text& text, const Nodes& nodes, bool is_list, bool is_map, bool deep, int depth);
    bool add_cxx_nodes(Text& text, const Nodes& nodes, bool is_map, bool deep, int depth);
    bool add_libcxx(Text& text, const Place& place, const std::string& name, bool deep, int depth);
    bool add_libcxx_string(Text& text, const Place& place);
    bool add_libcxx_tree(Text& text, const Place& place, bool is_map, bool deep, int depth);
    bool add_libcxx_hash(Text& text, const Place& place, bool is_map, bool deep, int depth);
    bool add_libcxx_pointer(Text& text, const Place& place, bool deep, int depth);
    // `allocators`, `first`, `count`: names of the container's members.
    std::optional<Nodes> libcxx_nodes(const Place& place, const char* allocators, const char* first, const char* count,
                                      bool is_map);
    bool add_cxx_pair(Text& text, const Place& place, bool deep, int depth);
    bool add_cxx_tuple(Text& text, const Place& place, bool deep, int depth);
    bool add_cxx_optional(Text& text, const Place& place, bool deep, int depth);
    bool add_cxx_variant(Text& text, const Place& place, bool deep, int depth);
    bool add_cxx_pointer(Text& text, const Place& place, bool deep, int depth);
    std::vector<Place> tuple_elements(const Place& place);

    // bind_rust.cc
    bool add_rust(Text& text, const Place& place, const std::string& name, bool deep, int depth);
    bool add_rust_enum(Text& text, const Place& place, bool deep, int depth);
    bool add_rust_tuple(Text& text, const Place& place, bool deep, int depth);
    bool add_rust_slice(Text& text, const Place& place, bool deep, int depth);
    bool add_rust_vector(Text& text, const Place& place, bool is_text, bool deep, int depth);
    bool add_rust_shared(Text& text, const Place& place, bool deep, int depth);
    bool add_rust_hash(Text& text, const Place& place, bool is_map, bool deep, int depth);
    bool add_rust_reference(Text& text, const Type* pointer, hir::Expr* address, bool deep, int depth);
    hir::Expr* character_text(hir::Expr* value);
    std::optional<Place> first_pointer(const Place& place, int depth = 0);

    // 0: no trailing `$`; 1: `$`; 2: `$$`
    int pretty_depth() const;

    template <typename T, typename... Args> T* make(Args&&... args) {
        return binder_.arena.make<T>(std::forward<Args>(args)...);
    }

    const ast::TargetExpr& expr_;
    const ResolvedPoint& point_;
    Binder& binder_;
    int loops_ = 0;             // around what is bound now
    hir::Expr* held_ = nullptr; // to be evaluated before everything else
};

// An owning pointer inside of a value counts as that many levels, so that a chain or tree of them ends soon.
constexpr int levels_of_a_pointer = 8;

// In bytes; 0 if unknown.
uint64_t size_of(const Type* type);
// char, signed or not, of one byte.
bool is_char(const Type* type);
bool is_record(const Type* type);
// What its address is a multiple of.
uint64_t alignment_of(const Type* type, int depth = 0);
// The member at `place.offset` etc. of the record in `place`.
Place member_place(const Place& record, const TypeMember& member);

} // namespace sonde
