// The session's end of --editable: it passes requests to the editor, a process that translates added probes and runs
// each of them in a process of its own (driver/repl/editor_process.h).
//
// A change takes as long as a translation, so the session does not wait for it. It sends the text and goes on with its
// loop. The answer arrives as a packet (runtime/engine/editor_channel.h).
#pragma once

#include <poll.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "runtime/attach/attach.h"
#include "runtime/engine/editor_channel.h"
#include "runtime/engine/session_state.h"
#include "runtime/engine/shared_session.h"
#include "runtime/values/probe_editor.h"

namespace sonde {

class AddedProbes final : public ProbeEditor {
  public:
    // All must outlive the object.
    AddedProbes(Session& session, Attachments& attachments, const SharedSession& shared);
    AddedProbes(const AddedProbes&) = delete;
    AddedProbes& operator=(const AddedProbes&) = delete;

    void ask(Verb verb, const std::string& text, bool is_whole, Answered answered) override;

    // Adds the descriptors that are readable when serve() has work to do.
    void add_descriptors(std::vector<pollfd>& fds) const;
    // Takes over what the editor and the added probes have sent. May set Session::exiting.
    void serve();
    // Ends all added probes: their handlers stop, and their `end` handlers run. Waits for the end, for some seconds at
    // most.
    void end_all();
    // After end_all(): whether an added probe has lost data; whether one has ended by errors.
    bool is_lossy() const { return is_lossy_; }
    bool has_failed() const { return has_failed_; }

  private:
    // The output of an added probe.
    struct Output {
        Fd reader;
        std::string rest; // of an incomplete line
    };
    void take_packets();
    void take(const EditorPacket& packet, const std::string& text, std::vector<Fd>& descriptors);
    void take_output(Output& output);
    void add_global(const std::string& bytes, std::vector<Fd>& descriptors);
    // Removes a probe of the script.
    void disarm(size_t number);
    // A line for each probe of the script that is still armed.
    std::string list() const;
    void lose_editor();

    Session& session_;
    Attachments& attachments_;
    const SharedSession& shared_;
    const std::vector<ScriptProbe> own_;
    std::vector<bool> is_removed_; // by index of own_
    std::map<uint64_t, Answered> asked_;
    uint64_t next_ = 1;
    std::vector<Output> outputs_;
    std::vector<Fd> maps_; // of added arrays
    bool has_editor_ = true, has_ended_ = false;
    bool is_lossy_ = false, has_failed_ = false;
};

} // namespace sonde
