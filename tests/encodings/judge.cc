// Asks sonde about instructions, for tests/instructions: whether it would probe them on the running kernel.
//
//   judge ENCODINGS
//
// `generate` prints the list of encodings. For each one this program prints a line: its number, the class that sonde
// sorts it into (Architecture::hazards(); `None`: a safe one), `refused` or `probed`, and the length that sonde's
// decoder finds (0: unknown). A refused instruction is one that sonde does not probe: it takes another place, or
// reports an error. As in a session, the running kernel decides: samples of each class are tried out.
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include "arch/architecture.h"
#include "runtime/attach/instruction_trial.h"

namespace {

std::string unhex(std::string_view text) {
    std::string bytes;
    for (size_t at = 0; at + 1 < text.size(); at += 2)
        bytes += static_cast<char>(std::stoi(std::string(text.substr(at, 2)), nullptr, 16));
    return bytes;
}

// The classes that this kernel executes wrongly, and those that cannot be tested.
std::set<sonde::Hazard> find_unsound() {
    std::set<sonde::Hazard> tried, unsound;
    for (size_t number = 1; number < sonde::host_architecture().hazards().size(); ++number) {
        const auto hazard = static_cast<sonde::Hazard>(number);
        (sonde::is_tried_out(hazard) ? tried : unsound).insert(hazard);
    }
    unsound.merge(sonde::try_hazards(tried));
    return unsound;
}

} // namespace

int main(int count, char** arguments) {
    std::ifstream input(count == 2 ? arguments[1] : "");
    if (!input) {
        fprintf(stderr, "usage: judge ENCODINGS\n");
        return 2;
    }
    const std::set<sonde::Hazard> unsound = find_unsound();
    std::string line;
    for (size_t number = 0; std::getline(input, line); ++number) {
        const std::string bytes = unhex(std::string_view(line).substr(0, line.find('\t')));
        const auto instruction = sonde::host_architecture().decode(bytes);
        const sonde::Hazard hazard = sonde::host_architecture().hazard(bytes);
        printf("%zu\t%s\t%s\t%zu\n", number, sonde::traits_of(hazard).name,
               unsound.contains(hazard) ? "refused" : "probed", instruction ? instruction->length : 0);
    }
    return 0;
}
