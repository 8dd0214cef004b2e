// Where to probe the calls, returns and exceptions of Python functions.
//
// The problem (3.11 and later): if a Python function calls another one, the interpreter does not call the loop again.
// The loop only changes to another frame, and continues with the function's first instruction, RESUME. So the handler
// of RESUME must be probed. It has no symbol, and the frame is in a register that the compiler has chosen.
//
// The idea: the table of handlers gives the address. Each handler first stores the position in the bytecode in the
// frame (`frame->instr_ptr = next_instr`). This store shows which register has the frame:
//
//     mov    %r15,0x38(%rbp)        the frame is in rbp; 0x38 is the member's offset
//     mov    (%rsp),%rax
//     cmp    ...
//     jne    ...                    the probe: kernels emulate jumps, which is ten times faster than single-stepping
//
// From the store on, the code is followed in a straight line to the first instruction that the kernel emulates. The
// frame may be copied to other registers on the way. The handler of a return also has to load the result from the top
// of the interpreter's stack, the word before a register.
//
// What would break this: an instruction that is reached by a jump from elsewhere. RESUME_CHECK jumps into the handler
// of RESUME, so one call can pass two places. So handlers of probes compare the opcode in memory with that of the
// place.
//
// Exceptions are simpler. The loop calls the exported function PyTraceBack_Here() for each function that an exception
// passes. The argument is a frame object. C code calls the function, too, with frames that it has made only for a
// traceback. Handlers ignore these frames, because the interpreter does not execute them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "arch/architecture.h"
#include "base/result.h"
#include "languages/python/interpreter.h"

namespace sonde {

struct PythonPlace {
    uint64_t address = 0; // as linked
    unsigned opcode = 0;  // of the instruction in whose handler it is; 0 before 3.11
    unsigned also = 0;    // 3.11: while sys.settrace() is used, this instruction is executed there, too; 0: none
    int frame = -1;       // the register with the frame, as numbered in DWARF
    // From 3.12 on, RESUME may first have to adapt the function to tools that trace the program (sys.monitoring). Then
    // it is executed again, and only that counts: when the jump at `address` would have this condition, or when the
    // thread in this register says so (sonde_python::thread_tools). Empty and -1: it is always executed once.
    std::optional<JumpCondition> settled = std::nullopt;
    int thread = -1;
    int result = -1; // the register with the result; -1: a constant of the function (see python_opcodes())
};

// Places that all calls pass, or all returns. Before 3.11: the entry of the loop, and nothing for returns.
// Fails if one of the handlers is not as described above.
Result<std::vector<PythonPlace>> python_calls(const ElfFile& file, const Architecture& architecture,
                                              const PythonInterpreter& python);
Result<std::vector<PythonPlace>> python_returns(const ElfFile& file, const Architecture& architecture,
                                                const PythonInterpreter& python);

// The place that all exceptions pass. `stubs`: addresses through which the file may call PyTraceBack_Here().
// Fails if the loop does not call the function, because a compiler has copied it into the loop.
Result<std::vector<PythonPlace>> python_exceptions(const ElfFile& file, const Architecture& architecture,
                                                   const PythonInterpreter& python, std::span<const uint64_t> stubs);

} // namespace sonde
