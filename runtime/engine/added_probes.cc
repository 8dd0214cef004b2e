// Added probes write their output to pipes that the session reads, so that all output of the session goes the same way:
// to the terminal, to the file of -o, or to the screen of --live. Only complete lines are passed on, since several
// probes write at the same time.
#include "runtime/engine/added_probes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/terminal_text.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/shared_globals.h"
#include "runtime/text/messages.h"
#include "runtime/values/hit_report.h"

namespace sonde {
namespace {

constexpr size_t most_asked = 16;      // requests that wait for an answer
constexpr size_t most_taken = 1 << 20; // bytes of one probe's output in a turn of the session's loop
// How long the session waits for the end of added probes, and for an editor that translates another one.
constexpr int64_t end_within_ns = 15'000'000'000, translate_within_ns = 2'000'000'000;
constexpr const char* no_editor =
    "the process that adds and removes probes was killed; restart the session to change its probes\n";

} // namespace

AddedProbes::AddedProbes(Session& session, Attachments& attachments, const SharedSession& shared)
    : session_(session), attachments_(attachments), shared_(shared), own_(find_script_probes(session.plan)),
      is_removed_(own_.size()) {}

void AddedProbes::ask(Verb verb, const std::string& text, bool is_whole, Answered answered) {
    if (!has_editor_)
        return answered({EPIPE, no_editor});
    if (text.size() > most_editor_text)
        return answered(
            {EFBIG, fmt::format("the text has {} bytes; a change can have {}\n", text.size(), most_editor_text)});
    EditorPacket packet;
    packet.kind = EditorPacket::Ask;
    packet.verb = static_cast<uint32_t>(verb);
    packet.id = next_++;
    packet.target = static_cast<int64_t>(session_.data.words->target);
    packet.is_whole = is_whole;
    if (asked_.size() >= most_asked || !send_editor_packet(shared_.editor, packet, text, false))
        return answered({EBUSY, "earlier changes are not finished yet; try again later\n"});
    if (verb == Verb::List)
        answered = [this, answered = std::move(answered)](const Answer& answer) {
            const std::string own = list();
            answered({answer.error, own.empty() && answer.text.empty() ? "no probe is armed\n" : own + answer.text});
        };
    asked_[packet.id] = std::move(answered);
}

std::string AddedProbes::list() const {
    std::string out;
    for (size_t i = 0; i < own_.size(); i++) {
        if (is_removed_[i])
            continue;
        plan::ProbeTiming timing{};
        bool is_counted = false;
        for (const size_t index : own_[i].indexes)
            if (const plan::Probe& probe = session_.plan.probes[index]; probe.in_kernel && session_.data.kernel)
                for (const plan::Point& point : probe.points) {
                    add_timing(timing, timing_of(*session_.data.kernel, point.row));
                    is_counted = true;
                }
        std::string line =
            fmt::format("{:>3}  probe {}{}   # {}", i + 1, own_[i].point,
                        own_[i].points > 1 ? fmt::format(" ({} points)", own_[i].points) : "", own_[i].place);
        if (is_counted)
            line += fmt::format(", {} hit{}", timing.hits, timing.hits == 1 ? "" : "s");
        if (is_counted && timing.hits)
            line += fmt::format(", {} ns each", timing.total_ns / timing.hits);
        out += line + "\n";
    }
    return out;
}

void AddedProbes::disarm(size_t number) {
    const ScriptProbe& probe = own_.at(number - 1);
    is_removed_[number - 1] = true;
    for (const size_t index : probe.indexes) {
        session_.removed.insert(&session_.plan.probes[index]);
        for (const std::unique_ptr<Attachment>& attachment : attachments_)
            if (attachment->probe == index)
                session_.data.missed[attachment->probe] += attachment->missed();
        std::erase_if(attachments_, [&](const auto& attachment) { return attachment->probe == index; });
    }
}

void AddedProbes::add_global(const std::string& bytes, std::vector<Fd>& descriptors) {
    Result<plan::Global> global =
        plan::load_global(std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
    if (!global || (!global->keys.empty() && descriptors.size() != (global->wrap ? 2u : 1u)))
        return say("ERROR: internal: the editor has sent a global that is corrupt");
    // The plan that has created the global prints nothing at its end, because it ends when its probe is removed.
    global->auto_print = true;
    session_.data.added_globals.push_back(*std::move(global));
    const plan::Global& added = session_.data.added_globals.back();
    session_.data.arrays.push_back(added.keys.empty()
                                       ? nullptr
                                       : make_kernel_array(added, descriptors[0].get(), session_.data.words,
                                                           added.wrap ? descriptors[1].get() : -1));
    for (Fd& descriptor : descriptors)
        maps_.push_back(std::move(descriptor));
}

void AddedProbes::take(const EditorPacket& packet, const std::string& text, std::vector<Fd>& descriptors) {
    switch (packet.kind) {
    case EditorPacket::Answer:
        if (auto asked = asked_.extract(packet.id))
            asked.mapped()({packet.error, text});
        break;
    case EditorPacket::Output:
        if (!descriptors.empty()) {
            fcntl(descriptors[0].get(), F_SETFL, O_NONBLOCK);
            outputs_.push_back({std::move(descriptors[0]), ""});
        }
        break;
    case EditorPacket::Global:
        add_global(text, descriptors);
        break;
    case EditorPacket::Disarm:
        disarm(packet.number);
        break;
    case EditorPacket::Message:
        say(text);
        break;
    case EditorPacket::Exit:
        session_.exited = session_.exiting = true;
        break;
    case EditorPacket::Ended:
        has_ended_ = true;
        is_lossy_ |= packet.is_lossy;
        has_failed_ |= packet.has_failed;
        break;
    case EditorPacket::Ask:
    case EditorPacket::EndAll:
        break;
    }
}

void AddedProbes::lose_editor() {
    has_editor_ = false;
    has_failed_ = true;
    warn("the process that adds and removes probes was killed: the added probes have ended", Weight::Answer);
    for (auto& [id, answered] : std::exchange(asked_, {}))
        answered({EPIPE, no_editor});
}

void AddedProbes::take_packets() {
    EditorPacket packet;
    std::string text;
    std::vector<Fd> descriptors;
    while (has_editor_) {
        const PacketEnd end = receive_editor_packet(shared_.editor, packet, text, descriptors);
        if (end == PacketEnd::Nothing)
            return;
        if (end == PacketEnd::Closed)
            lose_editor();
        else
            take(packet, text, descriptors);
    }
}

void AddedProbes::take_output(Output& output) {
    char bytes[65536];
    for (size_t taken = 0; output.reader && taken < most_taken;) {
        const ssize_t got = read(output.reader.get(), bytes, sizeof bytes);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (got <= 0) {
            output.reader.reset();
            break;
        }
        output.rest.append(bytes, static_cast<size_t>(got));
        taken += static_cast<size_t>(got);
    }
    const size_t end = output.reader ? output.rest.rfind('\n') + 1 : output.rest.size();
    if (end == 0)
        return;
    const std::string text = output.rest.substr(0, end);
    output.rest.erase(0, end);
    session_.output.write(session_.output.is_terminal() && !session_.options.raw ? terminal_text(text) : text);
}

void AddedProbes::add_descriptors(std::vector<pollfd>& fds) const {
    if (has_editor_)
        fds.push_back({shared_.editor, POLLIN, 0});
    for (const Output& output : outputs_)
        fds.push_back({output.reader.get(), POLLIN, 0});
}

void AddedProbes::serve() {
    take_packets();
    for (Output& output : outputs_)
        take_output(output);
    std::erase_if(outputs_, [](const Output& output) { return !output.reader; });
}

void AddedProbes::end_all() {
    EditorPacket packet;
    packet.kind = EditorPacket::EndAll;
    if (has_editor_ && !send_editor_packet(shared_.editor, packet, "", true))
        lose_editor();
    const int64_t give_up_at = now_ns() + (asked_.empty() ? end_within_ns : translate_within_ns);
    while (has_editor_ && !has_ended_ && now_ns() < give_up_at) {
        std::vector<pollfd> fds;
        add_descriptors(fds);
        poll(fds.data(), fds.size(), 100);
        serve();
    }
    serve(); // what the probes have printed at their end
    if (has_editor_ && !has_ended_) {
        has_failed_ = true;
        warn("added probes do not end; their last output is lost", Weight::Answer);
    }
}

} // namespace sonde
