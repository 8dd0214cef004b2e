// The files and the kernel for which a plan was translated, as they were then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sonde {
enum class Hazard : uint8_t; // arch/instruction_hazards.h; 0 is None
}

namespace sonde::plan {

// The bytes of a probed file at a point: the instruction and the bytes after it, or the semaphore of a USDT probe.
struct ProbedCode {
    uint64_t offset = 0; // in the file
    std::string bytes;   // probed_bytes, or fewer at the end of the file
    // The length of the instruction, and a number that identifies its prefixes and opcode. Both are 0 if the point is
    // not an instruction.
    uint8_t length = 0;
    uint64_t encoding = 0;
    // How a kernel's uprobes may fail at the instruction. If they may, `instead` is the file offset of another
    // instruction that is executed as often and at which a handler sees the same values; 0: none exists.
    Hazard hazard{};
    uint64_t instead = 0;
    uint64_t nearest = 0; // linked address of the next instruction without a hazard, for messages; 0: none
};
constexpr size_t probed_bytes = 16; // at least Architecture::longest_instruction()

// A module of the kernel whose types the handlers use. `fingerprint` identifies the module's build.
struct ModuleTypes {
    std::string name;
    uint64_t fingerprint = 0;
};
// The kernel for whose types the handlers were translated. `release` is empty if they use none.
struct KernelBuild {
    std::string release;
    uint64_t types = 0;               // identifies the build
    std::vector<ModuleTypes> modules; // modules whose types the handlers use, sorted by name
};

// A file that the plan probes, as it was during translation.
struct ProbedFile {
    std::string path; // as in Point::path
    // As in base/program_identity.h.
    std::string build_id;
    uint64_t size = 0, hash = 0;
    bool may_move = false;        // a program that changes mappings, so it may move, copy or drop its own code
    std::vector<ProbedCode> code; // sorted by offset, without duplicates
};

} // namespace sonde::plan
