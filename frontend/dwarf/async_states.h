// The state machines of async functions in Rust and of coroutines in C++: the objects in which a task waits, and how
// they refer to each other.
//
// In Rust, a suspended function is an enum. Its tag tells at which `.await` it is, and the variant for this place
// contains the awaited future. In C++, a suspended function is a frame in memory. The frame begins with the addresses
// of the functions that resume and destroy it, and contains the promise, an object of a class of the program. That
// object has the handle of the coroutine to continue with.
//
// The rows describe the way from one object to the next. They are made for the objects that somebody asks for, and stay
// valid as long as the module.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/dwarf/module_data.h"
#include "frontend/dwarf/unit.h"

namespace sonde {

class DebugFiles;
class LineTables;
class ProgramFile;
class Statements;
class SymbolTables;
class TypeReader;
class UnitIndex;

// A step to the next object: a line of the output is printed for this one, the address moves, and a row describes the
// next object. Line 0: nothing is printed. Row 0: the chain ends.
struct AsyncStep {
    uint32_t line = 0;
    int64_t offset = 0;
    uint32_t next = 0;
};
struct AsyncVariant {
    uint64_t tag = 0;
    AsyncStep step;
};
struct AsyncRow {
    enum Kind : uint8_t {
        End,       // only step.line
        Record,    // step
        Pointer,   // the object contains the address of the next one; step.line is for null
        Dyn,       // it contains the addresses of the next one and of its virtual table, at `first` and `second`
        Tagged,    // a tag at `first` of `second` bytes chooses one of the variants, or else `step`
        Frame,     // a coroutine's frame: its functions are in `places`
        Coroutine, // a known coroutine's frame; step.offset: the address of the frame to continue with
    } kind = End;
    AsyncStep step = {};
    int64_t first = 0, second = 0;
    std::vector<AsyncVariant> variants = {};
    // Coroutine: the place of suspension has `second` bytes at `first`. The lines for the places 0 to `lines` - 1, and
    // those for others and for a finished coroutine.
    uint32_t first_line = 0, lines = 0, other_line = 0, finished_line = 0;
};

class AsyncStates {
  public:
    AsyncStates(const ProgramFile& file, DebugFiles& debug, SymbolTables& symbols, UnitIndex& units, LineTables& lines,
                TypeReader& types, Statements& statements)
        : file_(file), debug_(debug), symbols_(symbols), units_(units), line_tables_(lines), types_(types),
          statements_(statements) {}

    // The language of a function, of the two that have async functions.
    enum class Language : uint8_t { Other, Rust, Cxx };
    Language language_of(const FunctionInstance& function);

    // Returns the row for an object of a type of Rust. nullopt unless the type is a state machine, or leads to one.
    std::optional<uint32_t> future(const Type* type);

    // Returns the row for a coroutine's frame.
    uint32_t frame();
    // Whether the type is that of a coroutine's frame.
    static bool is_frame(const Type* type);
    // Returns the row for a coroutine that is running at a place ("file.cc:12"): for its frame, by the type of the
    // frame, or for its promise, by the type of the promise.
    uint32_t running_coroutine(const Type* frame, const std::string& place);
    uint32_t running_promise(const Type* promise, const std::string& name, const std::string& place);
    // Returns the row for an object that is a std::coroutine_handle or contains one, by itself, in a base or in a
    // member. nullopt if it contains none or several; `count` is their number.
    std::optional<uint32_t> handle(const Type* type, size_t& count);
    // Whether the module has coroutines that can be recognized.
    bool has_coroutines();

    const std::vector<AsyncRow>& rows() const { return rows_; }
    // The lines of the output, without ends of lines. Line 0 is empty.
    const std::vector<std::string>& lines() const { return lines_; }
    // Addresses as linked, of functions and virtual tables, with the row of the object.
    const std::map<Address, uint32_t>& places() const { return places_; }
    // Adds a line, or finds it.
    uint32_t line(const std::string& text);

  private:
    // What a type means for a chain.
    struct Shape {
        enum Kind : uint8_t { Leaf, Machine, Pointer, Dyn, Wrapper, Choice, Several } kind = Leaf;
        int64_t offset = 0;            // Wrapper: of the future
        const Type* inner = nullptr;   // Wrapper: its type
        int64_t first = 0, second = 0; // Dyn
        size_t count = 0;              // Several: the futures
    };
    uint32_t add(AsyncRow row);
    const Shape& shape_of(const Type* type, int depth = 0);
    Shape find_shape(const Type* type, int depth);
    uint32_t row_of(const Type* type);
    void fill_row(uint32_t row, const Type* type);
    void fill_machine(uint32_t row, const Type* machine);
    void fill_choice(uint32_t row, const Type* type);
    void add_virtual_tables();

    void find_coroutines();
    // A promise, and its offset in the frame.
    struct Promise {
        const Type* type = nullptr;
        int64_t offset = 0;
    };
    const Type* frame_type(const std::string& symbol, Address code);
    static Promise promise_of(const Type* frame);
    Promise promise_at(Address code);
    uint32_t coroutine(const std::string& symbol, const Type* frame, Promise promise);
    AsyncStep continuation(const Promise& promise, uint32_t line);
    // Lines of the places of suspension, by number; "": several lines.
    std::map<uint64_t, std::string> places_of_suspension(const std::string& symbol, bool is_gcc, int64_t offset,
                                                         uint64_t size);
    void add_places(AsyncRow& row, bool is_gcc, const std::string& name, const std::string& own_place,
                    const std::map<uint64_t, std::string>& places);

    const ProgramFile& file_;
    DebugFiles& debug_;
    SymbolTables& symbols_;
    UnitIndex& units_;
    LineTables& line_tables_;
    TypeReader& types_;
    Statements& statements_;

    std::vector<AsyncRow> rows_ = {{}};
    std::vector<std::string> lines_ = {""};
    std::unordered_map<std::string, uint32_t> line_numbers_;
    std::map<Address, uint32_t> places_;
    std::unordered_map<const Type*, Shape> shapes_;
    std::unordered_map<const Type*, uint32_t> type_rows_;
    bool has_tables_ = false, has_searched_coroutines_ = false;
    uint32_t frame_row_ = 0;
    // By the coroutine's symbol: types of frames, only during the search; and functions.
    std::map<std::string, std::vector<std::pair<Unit*, Dwarf_Off>>> frames_;
    std::map<std::string, std::vector<Address>> frame_code_;
    std::map<std::pair<std::string, const Type*>, uint32_t> coroutine_rows_; // by symbol and promise
};

} // namespace sonde
