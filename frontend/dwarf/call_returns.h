// Finds the addresses to which calls of another module's function return, that is the addresses after the calls of a
// PLT entry.
//
// A probe at these addresses traces the calls' returns without changing the stack:
//
//     call  write@plt
//     test  %rax,%rax        <- probe here: write() has just returned, and its result is in rax
//
// Such probes must be hit by each return, and by nothing else. So the whole code of the module is searched for calls of
// the entry. The search fails if the entry is also reached by a jump (a tail call), because then the return address is
// in another function. It also fails if control can reach one of the addresses in another way: by a jump, through a
// switch, or because an exception is caught there.
#pragma once

#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "frontend/dwarf/module_data.h"

namespace sonde {

class CodeLayout;
class Frames;
class ProgramFile;
class UnwindTable;
struct PltEntry;
struct Stretch;

class CallReturns {
  public:
    CallReturns(ProgramFile& file, UnwindTable& unwind, CodeLayout& code, Frames& frames)
        : file_(file), unwind_(unwind), code_(code), frames_(frames) {}

    // Returns the addresses after all calls of the entry, which must be one of the file's. Fails if nothing calls it,
    // or with the error number `unsafe_return`.
    Result<std::vector<Address>> find(const PltEntry& entry);

    // The functions at return addresses.
    Frames& frames() const { return frames_; }

  private:
    // The direct calls of an entry, and the jumps to it.
    struct Uses {
        std::vector<Address> calls, jumps; // the addresses of their 4-byte distances
    };
    // A function's code, and the places that control can reach other than by a return.
    struct Function {
        std::map<Address, Address> instructions; // beginning -> end
        std::set<Address> behind_calls, behind_jumps;
        std::set<Address> targets;
        std::string problem; // why `targets` may be incomplete

        // Whether the byte is inside an instruction that begins before it.
        bool is_inside(Address address) const {
            auto after = instructions.lower_bound(address);
            return after != instructions.begin() && std::prev(after)->second > address;
        }
    };

    const std::map<Address, Uses>& uses();
    const Function& function_at(Address address);
    bool add_flow(Function& function, const Stretch& stretch, const std::string& bytes);
    std::string why_not(const PltEntry& entry, const Function& function, Address behind);

    ProgramFile& file_;
    UnwindTable& unwind_;
    CodeLayout& code_;
    Frames& frames_;
    bool searched_ = false;                       // some code was searched
    std::optional<std::map<Address, Uses>> uses_; // by the entries' addresses
    std::map<Address, Function> functions_;       // functions with calls, by their beginnings
};

} // namespace sonde
