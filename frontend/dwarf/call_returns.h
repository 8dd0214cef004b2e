// Where calls of other modules' functions return to: behind the calls of an entry of the linkage table.
//
// A probe there sees the calls' returns without changing the stack. It must see all of them and nothing else. So all of
// the module's code is searched for calls of the entry, and there is no answer if the entry is jumped to as well, or if
// another way leads behind one of the calls: a jump, a switch, or an exception that is caught.
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
class ProgramFile;
class UnwindTable;
struct PltEntry;
struct Stretch;

class CallReturns {
  public:
    CallReturns(ProgramFile& file, UnwindTable& unwind, CodeLayout& code) : file_(file), unwind_(unwind), code_(code) {}

    // The addresses behind all calls of the entry, which is the file's. Errors: nothing calls it; `unsafe_return`.
    Result<std::vector<Address>> find(const PltEntry& entry);

  private:
    // What leads to an entry.
    struct Uses {
        std::vector<Address> calls, jumps; // where the distances in these are
    };
    // A function's code, and where ways other than a return lead to in it.
    struct Function {
        std::map<Address, Address> instructions; // from where they begin to where they end
        std::set<Address> behind_calls, behind_jumps;
        std::set<Address> targets;
        std::string problem; // some of these are not known

        // Whether the byte belongs to an instruction that begins before it.
        bool is_inside(Address address) const {
            auto after = instructions.lower_bound(address);
            return after != instructions.begin() && std::prev(after)->second > address;
        }
    };

    const std::map<Address, Uses>& uses();
    const Function& function_at(Address address);
    std::string why_not(const PltEntry& entry, const Function& function, Address behind);

    ProgramFile& file_;
    UnwindTable& unwind_;
    CodeLayout& code_;
    bool searched_ = false;                       // some code
    std::optional<std::map<Address, Uses>> uses_; // by entries' addresses
    std::map<Address, Function> functions_;       // with calls, by where they begin
};

} // namespace sonde
