// Everything that sonde knows about a processor.
//
// Each architecture is a folder beside this file and implements this interface. No other code knows instruction
// encodings, register numbers or calling conventions. arch/host/ lists the architectures and chooses the one of the
// build. So a new architecture is a new folder, and a line in each file of arch/host/. A mode of a processor with its
// own encoding is an architecture too: i386 programs, which run on x86-64 kernels, have one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/frame_code.h"
#include "arch/instruction.h"
#include "arch/instruction_hazards.h"
#include "arch/operand.h"
#include "arch/registers.h"
#include "arch/relocations.h"
#include "arch/system_calls.h"
#include "arch/unwinding.h"
#include "arch/value_passing.h"
#include "base/library_search.h"
#include "base/linked_object.h"

namespace sonde {

// A section with entries of the procedure linkage table. Entries begin at multiples of `alignment`.
struct PltSection {
    const char* name;
    size_t alignment;
    size_t least_size; // of an entry
};

// The code of a function that returns the second word of a descriptor (DynamicRelocation::ThreadDescriptor): the first
// 8 bytes with this mask, as a little-endian number. An instruction of 4 bytes may precede them: a landing pad, or one
// that does nothing in its place.
struct DescriptorCode {
    uint32_t first, first_mask;
    uint64_t code, mask;
};

// Where thread-local variables are (Drepper, "ELF Handling for Thread-Local Storage", section 3), in bytes.
struct ThreadStorage {
    // Variant I: the block of the program begins after this space at the thread pointer. Variant II: 0, and the block
    // ends at the thread pointer.
    uint64_t space;
    // From the thread pointer to the pointer to the thread's table of blocks ("dtv"), in glibc.
    int64_t table;
    // The function of a descriptor whose second word is the distance from the thread pointer to the variable.
    DescriptorCode descriptor;
};

class Architecture {
  public:
    Architecture() = default;
    Architecture(const Architecture&) = delete;
    Architecture& operator=(const Architecture&) = delete;
    virtual ~Architecture() = default;

    // The name in messages.
    virtual const char* name() const = 0;
    // `e_machine` in the ELF headers of its programs (EM_*).
    virtual uint16_t machine() const = 0;
    // Its names on the command line. The first is the value of `arch` in a script.
    virtual std::span<const std::string_view> names() const = 0;
    // The architecture of 32-bit programs that the same kernel runs. Null if there is none.
    virtual const Architecture* narrow() const = 0;
    // Whether the kernel of a machine of this architecture runs programs of the other one.
    bool runs(const Architecture& other) const { return &other == this || &other == narrow(); }
    // The size of an address in bytes.
    virtual int word_size() const = 0;
    virtual const RegisterFile& registers() const = 0;
    virtual const GoConvention& go() const = 0;
    // Converts a register number in a program's debug information to that of registers(). Registers that a probe cannot
    // read keep numbers of their own, for unreadable_register().
    virtual uint64_t register_of(uint64_t dwarf_number) const = 0;
    // Says why a probe cannot read a variable in the register: "is in ...".
    virtual std::string unreadable_register(uint64_t number) const = 0;
    // How C and C++ pass and return a value. 32-bit programs have another convention.
    virtual PassedValue passed(const ValueShape& shape) const = 0;
    // Numbers in the program's unwinding tables.
    virtual UnwindColumns unwind_columns() const = 0;

    // ---- the kernel's interface

    virtual const SystemCalls& system_calls() const = 0;
    // Whether the address is in the kernel's direct map of physical memory, in any configuration.
    virtual bool is_in_direct_map(uint64_t address) const = 0;

    // ---- instructions

    // The length of the longest instruction.
    virtual size_t longest_instruction() const = 0;
    // Decodes the instruction at the beginning of `code`. Returns nullopt if it is unknown or cut off.
    virtual std::optional<Instruction> decode(std::string_view code) const = 0;
    // Also finds the instruction's changes of registers and of the frame. This is slower.
    virtual std::optional<AnalyzedInstruction> analyze(std::string_view code) const = 0;
    // The same as AnalyzedInstruction::result_use, for the second register in which functions return integers. Returns
    // End if the instruction is unknown.
    virtual ResultUse use_of_second_result(std::string_view code) const = 0;
    // Instructions begin at multiples of this number.
    virtual size_t instruction_alignment() const = 0;
    // The instruction with which compilers fill gaps between functions, and which traps.
    virtual std::string_view padding() const = 0;

    // Returns the class of an instruction that the kernel's uprobes may execute wrongly. Returns Hazard::Unknown if the
    // instruction is unknown.
    virtual Hazard hazard(std::string_view code) const = 0;
    // The same for the instruction at the offset `at`, by the code around it too. Some instructions must not be
    // interrupted between two others. hazard_context() is the number of bytes before and after that matter.
    virtual size_t hazard_context() const = 0;
    virtual Hazard hazard_within(std::string_view code, size_t at) const = 0;
    // The facts about all classes of hazard(), by number: first those that each architecture has, then its own.
    virtual std::span<const HazardTraits> hazards() const = 0;
    const HazardTraits& traits(Hazard hazard) const { return hazards()[static_cast<size_t>(hazard)]; }
    // Whether the instruction leaves everything that a handler can read unchanged (general registers, flags, memory and
    // stack), and continues with the next instruction. Returns false in doubt.
    virtual bool leaves_state(std::string_view code) const = 0;
    // Returns a hash of everything by which kernels decide how to execute a probed instruction: instructions with equal
    // hashes differ in operands only. Returns 0 if the instruction is unknown.
    virtual uint64_t encoding(std::string_view code) const = 0;

    // Direct calls reach addresses that are at most so many bytes away. Linkers redirect others to code of their own
    // (veneers), which calls the function.
    virtual uint64_t branch_distance() const = 0;

    // The instruction that the kernel's uprobes write over a probed one.
    virtual std::string_view uprobe_breakpoint() const = 0;
    // Whether the kernel copies a probed instruction and single-steps the copy, which takes longer than emulating it.
    virtual bool is_single_stepped(std::string_view code) const = 0;
    // Parses an operand in the syntax of the GNU assembler.
    virtual AssemblyOperand parse_operand(std::string_view text, const FindSymbol& symbol) const = 0;

    // Finds all bytes that can be a direct jump or call with the longest distance, without decoding the code: this is
    // fast, and misses none. A match may be a part of another instruction.
    virtual void find_branches(std::string_view code,
                               const std::function<void(const PossibleBranch&)>& visit) const = 0;

    // ---- code of frames

    virtual const UnwindTraits& unwind_traits() const = 0;
    // Returns rows for a section with entries of the procedure linkage table, and the names of such sections.
    virtual std::vector<FrameRow> stub_frames(std::string_view code) const = 0;
    virtual std::span<const char* const> stub_sections() const = 0;
    // Whether signal handlers return to this code (SA_RESTORER in sigaction(2)). False if the frame of the handler's
    // caller is not as in UnwindTraits::signal_frame.
    virtual bool is_signal_return(std::string_view code) const = 0;
    // The instruction for system calls, and the one behind it in glibc's clone(), which checks the result. Empty if
    // nothing needs them.
    virtual std::string_view clone_call() const = 0;

    // ---- files

    // Empty if entries of the procedure linkage table cannot be found.
    virtual std::span<const PltSection> plt_sections() const = 0;
    // Returns the address of the slot through which an entry at `address` jumps. Returns nullopt if `code` does not
    // begin with an entry.
    virtual std::optional<uint64_t> plt_slot(std::string_view code, uint64_t address) const = 0;
    virtual LibrarySearch library_search() const = 0;
    virtual ThreadStorage thread_storage() const = 0;
    virtual DynamicRelocation dynamic_relocation(uint32_t type) const = 0;
    // A relocation in the debug information of an object file.
    virtual ObjectRelocation object_relocation(uint32_t type) const = 0;
    // Applies a relocation of an object file.
    virtual Relocated relocate(const CodeRelocation& relocation) const = 0;
    // A stub is code that jumps to any address, for calls whose instruction does not reach that far. The size is 0 if
    // all calls reach everything.
    virtual size_t call_stub_size() const = 0;
    virtual void write_call_stub(uint8_t* place, uint64_t target) const = 0;
    // LLVM's names for the processor, for host code.
    virtual const char* llvm_triple() const = 0;
    virtual const char* llvm_processor() const = 0;
};

// The architecture of this build, whose programs the running kernel executes.
const Architecture& host_architecture();
// The architecture of a program, by `e_machine` and `EI_CLASS` of its ELF header. Null if sonde does not know it.
const Architecture* architecture_of(uint16_t machine, bool is_32_bit);
// The architectures of the machines on which sonde runs, so those for which it can translate a script.
std::span<const Architecture* const> machines();
// The one with this name on the command line (Architecture::names()). Null if there is none.
const Architecture* find_machine(std::string_view name);

// Facts about a class, which the hazard() of any program's architecture on this machine returned.
inline const HazardTraits& traits_of(Hazard hazard) { return host_architecture().traits(hazard); }
// Whether the session can test that the running kernel executes such instructions correctly.
inline bool is_tried_out(Hazard hazard) { return traits_of(hazard).trial == HazardTrial::TriedOut; }

} // namespace sonde
