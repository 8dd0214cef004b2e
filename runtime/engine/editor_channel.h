// The protocol between a session with --editable and its editor: the process that translates added probes and runs them
// (driver/repl/editor_process.h). Both ends are the same program, so the head of a packet is a plain struct.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/packets.h"
#include "runtime/plan/plan.h"

namespace sonde {

struct EditorPacket {
    enum Kind : uint32_t {
        // To the editor
        Ask,    // `verb`, `is_whole`, `target`; the text is the user's
        EndAll, // end all added probes; answered by Ended
        // To the session
        Answer,  // of the Ask with the same `id`: `error` and text as in ProbeEditor::Answer
        Output,  // one descriptor: the pipe from which the session reads the output of a new probe
        Global,  // a new global (plan::save_global()); descriptors of an array: its map, and the order of a map that
                 // wraps
        Disarm,  // the script's probe `number` must be removed
        Message, // the text is a message to the user
        Exit,    // an added probe has called exit()
        Ended,   // `is_lossy`, `has_failed`: how all added probes ended
    };
    Kind kind = Ask;
    uint32_t verb = 0; // ProbeEditor::Verb
    uint64_t id = 0;
    int64_t target = 0; // the process of -c or -x; 0: none
    int32_t error = 0;
    uint32_t number = 0;
    bool is_whole = false, is_lossy = false, has_failed = false;
};

// The longest text of a packet, in bytes. The socket's buffer must have room for it.
constexpr size_t most_editor_text = 64 << 10;

// Returns false if the other end has closed the socket or, without `waits`, if its buffer is full. A longer text is
// cut.
bool send_editor_packet(int socket, const EditorPacket& packet, const std::string& text, bool waits,
                        const std::vector<int>& descriptors = {});
PacketEnd receive_editor_packet(int socket, EditorPacket& packet, std::string& text, std::vector<Fd>& descriptors);

// A probe of the script, as users count them: all handlers that were made of one `probe` of the script.
struct ScriptProbe {
    std::string place;                // "file.stp:3:1"
    std::string point;                // its first point, as the script writes it
    size_t points = 0;                // of all handlers
    std::vector<size_t> indexes = {}; // into Plan::probes
    // False for task events, which share programs, and for watchpoints, which are added to new threads.
    bool is_removable = true;
};
// Returns the probes in the order of the script. Their numbers begin with 1.
std::vector<ScriptProbe> find_script_probes(const plan::Plan& plan);

} // namespace sonde
