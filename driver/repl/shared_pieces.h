// What a prompt and an editor have in common: pieces that share the globals of a session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/repl/piece_process.h"
#include "driver/repl/script.h"
#include "runtime/load/shared_maps.h"
#include "runtime/plan/plan.h"

namespace sonde::repl {

// A piece that was asked to end is killed after this time.
constexpr int64_t end_within_ns = 10'000'000'000;

// Creates the maps of a piece's new globals. Errors: a map cannot be created; nothing is changed then.
Result<void> make_room(const Piece& piece, const Script& script, SharedMaps& maps);
// Undoes make_room().
void take_back(const Piece& piece, const Script& script, SharedMaps& maps);

// Whether all handlers run once, when the piece starts: `probe begin`.
bool runs_once(const plan::Plan& plan);
// Whether there is nothing but `end` and `error`.
bool runs_only_at_end(const plan::Plan& plan);

// `3  probe POINT { ... }   # 5 hits, 700 ns each`
std::string probe_line(int number, const std::string& text, const PieceCounts& counts);
// "probe 3 has ended by signal 9: probe POINT { ... }"
std::string ended_line(int number, const std::string& text, int status);

// Text on one line.
std::string one_line(const std::string& text);
// "1 point", "2 points"
std::string counted(size_t count, const std::string& what);
std::optional<uint64_t> read_number(const std::string& text);
// The words between blanks.
std::vector<std::string> split(const std::string& text);

} // namespace sonde::repl
