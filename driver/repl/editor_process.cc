// The script's globals, functions and aliases are declared to a Script of the editor, as if the user of a prompt had
// typed them. So added probes use them, and their globals get the places that the running session already uses.
//
// Two kinds of messages arise while a probe is added, and both belong to the user who adds it:
//
// * of the translation: the editor's standard error is a file in memory, which is read after each request
// * of loading and attaching: each probe's standard error is a pipe. What arrives before the probe is armed is part of
//   the answer; later text is a message of the session.
#include "driver/repl/editor_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/processes.h"
#include "driver/pass.h"
#include "driver/repl/piece_process.h"
#include "driver/repl/script.h"
#include "driver/repl/shared_pieces.h"
#include "driver/repl/typed.h"
#include "runtime/engine/editor_channel.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/wrap.h"
#include "runtime/text/accounting.h"
#include "runtime/text/messages.h"
#include "runtime/values/probe_editor.h"

namespace sonde::repl {
namespace {

using Verb = ProbeEditor::Verb;
using Answer = ProbeEditor::Answer;

std::string read_available(int fd) {
    std::string out;
    char bytes[65536];
    for (ssize_t got = 0; (got = read(fd, bytes, sizeof bytes)) > 0;)
        out.append(bytes, static_cast<size_t>(got));
    return out;
}

// Returns blanks in place of a text, so that messages about what follows have its positions.
std::string blanks_for(std::string text) {
    std::ranges::replace_if(text, [](char c) { return c != '\n'; }, ' ');
    return text;
}

struct AddedProbe {
    int number = 0;
    std::string text;
    bool only_at_end = false;
    std::unique_ptr<PieceProcess> process;
    Fd errors; // the reading end of its standard error
};

// Script::open() parses the script of the options, but the editor declares the texts of the session instead: the file
// may have changed, and standard input is read already. The script's arguments stay.
Options without_script(Options options) {
    Translate& translate = options.translate;
    if (!translate.has_script && translate.tool.empty() && !translate.positional.empty())
        translate.positional.erase(translate.positional.begin());
    translate.has_script = true;
    translate.script = "probe never {}";
    translate.extras.clear();
    return options;
}

class Editor {
  public:
    Editor(const plan::Plan& plan, Options options, const Policies& policies, SharedMaps& maps, Fd socket)
        : options_(without_script(std::move(options))), policies_(policies), maps_(maps), socket_(std::move(socket)),
          script_probes_(find_script_probes(plan)), next_number_(static_cast<int>(script_probes_.size()) + 1) {}
    Editor(const Editor&) = delete;
    Editor& operator=(const Editor&) = delete;

    // Serves the session until it closes the socket.
    void run(const plan::Plan& plan, const std::vector<std::string>& texts);

  private:
    // Reads the library and the declarations of the session's script. Errors: as Script::open().
    Result<void> open(const plan::Plan& plan, const std::vector<std::string>& texts);
    void take_packets();
    Answer answer(Verb verb, const std::string& text, bool is_whole);
    Answer add(const std::string& text, bool is_whole);
    // Adds one probe; `said` gets lines about it. Returns false if it is wrong; the reason is on standard error.
    bool add_probe(const std::string& text, std::string& said);
    // Starts a piece and waits until it is armed, or with `until_end` until it has ended.
    std::unique_ptr<PieceProcess> start(const Piece& piece, const Options& options, bool until_end, Fd& errors);
    void send_globals(const Piece& piece);
    Answer remove(const std::string& text);
    bool remove_probe(const std::string& word, std::string& said);
    std::string list() const;
    void end(AddedProbe& probe, bool runs_end_handler);
    void end_all(bool runs_end_handlers);
    // Looks for news of the running probes.
    void look();
    // Waits for a request or for news of a probe, and handles it.
    void wait();
    // Returns what was written to the editor's standard error since the last call.
    std::string take_errors();

    void send(EditorPacket packet, const std::string& text = "", const std::vector<int>& descriptors = {}) {
        is_over_ |= !send_editor_packet(socket_.get(), packet, text, true, descriptors);
    }
    void send_message(const std::string& text) {
        EditorPacket packet;
        packet.kind = EditorPacket::Message;
        if (const size_t end = text.find_last_not_of('\n'); end != std::string::npos)
            send(packet, text.substr(0, end + 1));
    }

    Options options_;
    const Policies& policies_;
    SharedMaps& maps_;
    Fd socket_, messages_; // messages_: standard error
    std::unique_ptr<Script> script_;
    std::string why_not_; // no probe can be added
    const std::vector<ScriptProbe> script_probes_;
    std::vector<size_t> removed_; // numbers of script_probes_
    std::vector<AddedProbe> probes_;
    int next_number_;
    bool is_over_ = false, has_exited_ = false, is_lossy_ = false, has_failed_ = false;
};

Result<void> Editor::open(const plan::Plan& plan, const std::vector<std::string>& texts) {
    Result<std::unique_ptr<Script>> script = Script::open(options_, policies_);
    if (!script)
        return std::move(script).error();
    script_ = *std::move(script);
    std::vector<std::string> probes, said;
    for (const std::string& text : texts)
        if (!script_->declare(text, probes, said))
            return Error(take_errors());
    Piece piece;
    piece.plan.globals = plan.globals;
    piece.plan.max_string = plan.max_string;
    // The session prints them, and not each probe that uses them.
    for (plan::Global& global : piece.plan.globals)
        global.auto_print = false;
    script_->adopt(piece);
    return {};
}

void Editor::run(const plan::Plan& plan, const std::vector<std::string>& texts) {
    messages_.reset(memfd_create("messages", MFD_CLOEXEC));
    dup2(messages_.get(), STDERR_FILENO);
    const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    dup2(nothing.get(), STDIN_FILENO);
    dup2(nothing.get(), STDOUT_FILENO);
    prctl(PR_SET_NAME, "sonde-editor");
    // The session ends the editor. The probes ignore Ctrl-C by their own process groups.
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2})
        ::signal(number, SIG_IGN);
    if (Result<void> opened = open(plan, texts); !opened)
        why_not_ = opened.error().message;
    take_errors();
    while (!is_over_)
        wait();
    end_all(false);
}

std::string Editor::take_errors() {
    std::fflush(stderr);
    lseek(messages_.get(), 0, SEEK_SET);
    std::string out = read_available(messages_.get());
    static_cast<void>(ftruncate(messages_.get(), 0));
    lseek(messages_.get(), 0, SEEK_SET);
    return out;
}

// ---- requests

void Editor::take_packets() {
    EditorPacket packet;
    std::string text;
    std::vector<Fd> descriptors;
    while (!is_over_) {
        const PacketEnd end = receive_editor_packet(socket_.get(), packet, text, descriptors);
        if (end == PacketEnd::Nothing)
            return;
        if (end == PacketEnd::Closed) {
            is_over_ = true;
        } else if (packet.kind == EditorPacket::EndAll) {
            end_all(true);
            EditorPacket ended;
            ended.kind = EditorPacket::Ended;
            ended.is_lossy = is_lossy_;
            ended.has_failed = has_failed_;
            send(ended);
        } else if (packet.kind == EditorPacket::Ask) {
            options_.session.target_pid = packet.target;
            options_.session.command.clear(); // for added probes, it is a process that runs already
            const Answer answered = answer(static_cast<Verb>(packet.verb), text, packet.is_whole);
            EditorPacket reply;
            reply.kind = EditorPacket::Answer;
            reply.id = packet.id;
            reply.error = answered.error;
            send(reply, answered.text);
        }
    }
}

Answer Editor::answer(Verb verb, const std::string& text, bool is_whole) {
    switch (verb) {
    case Verb::Add:
        return add(text, is_whole);
    case Verb::Remove:
        return remove(text);
    case Verb::List:
        break;
    }
    return {0, list()};
}

Answer Editor::add(const std::string& text, bool is_whole) {
    if (!is_whole && !is_finished(text))
        return {EAGAIN, ""};
    if (!why_not_.empty())
        return {EINVAL, why_not_ + "\n"};
    if (sort_typed(
            text, [](std::string_view) { return false; }, [](std::string_view) { return false; })
            .kind != TypedKind::Declarations)
        return {EINVAL, fmt::format("ERROR: expected a probe, as in `probe POINT {{ ... }}`, got `{}`\n",
                                    one_line(text).substr(0, 200))};
    const std::vector<Declaration> before = script_->declarations();
    const int first_number = next_number_;
    std::vector<std::string> probes, lines;
    bool is_good = script_->declare(text, probes, lines);
    std::string said;
    for (const std::string& line : lines)
        said += line + "\n";
    size_t at = 0;
    for (size_t i = 0; i < probes.size() && is_good; i++) {
        at = text.find(probes[i], at);
        is_good = add_probe(blanks_for(text.substr(0, at)) + probes[i], said);
        at += probes[i].size();
    }
    if (is_good)
        return {0, take_errors() + said};
    // The user corrects the text and adds all of it again.
    const std::string why = take_errors();
    while (!probes_.empty() && probes_.back().number >= first_number) {
        end(probes_.back(), false);
        probes_.pop_back();
    }
    next_number_ = first_number;
    script_->restore(before);
    return {EINVAL, why};
}

// The session reads the output of a probe from the beginning, so that a probe that prints much before it is armed does
// not wait for the session.
std::unique_ptr<PieceProcess> Editor::start(const Piece& piece, const Options& options, bool until_end, Fd& errors) {
    int output[2], error[2];
    if (pipe2(output, O_CLOEXEC) != 0)
        return say_error(errno_error("cannot create a pipe", errno).message), nullptr;
    const Fd output_reader(output[0]);
    Fd output_writer(output[1]);
    if (pipe2(error, O_CLOEXEC) != 0)
        return say_error(errno_error("cannot create a pipe", errno).message), nullptr;
    errors.reset(error[0]);
    Fd error_writer(error[1]);
    fcntl(output_writer.get(), F_SETPIPE_SZ, 1 << 20);
    fcntl(errors.get(), F_SETFL, O_NONBLOCK);
    EditorPacket packet;
    packet.kind = EditorPacket::Output;
    send(packet, "", {output_reader.get()});
    Result<std::unique_ptr<PieceProcess>> started =
        PieceProcess::start(piece.plan, options, maps_, {output_writer.get(), error_writer.get()},
                            [this](uint32_t arrangement) { return script_->rearrange(arrangement); });
    if (!started)
        return say_error(started.error().message), nullptr;
    output_writer.reset();
    error_writer.reset();
    PieceProcess& process = **started;
    while (!process.has_ended() && (until_end || !process.is_armed()) && !is_over_) {
        pollfd fds[] = {{process.report_fd(), POLLIN, 0}, {process.end_fd(), POLLIN, 0}, {errors.get(), POLLIN, 0}};
        poll(fds, std::size(fds), 100);
        process.look();
        look();
        fmt::print(stderr, "{}", read_available(errors.get()));
        // The session has closed the socket: it does not want the probe any more.
        pollfd session{socket_.get(), POLLRDHUP, 0};
        is_over_ |= poll(&session, 1, 0) > 0 && (session.revents & (POLLRDHUP | POLLHUP));
    }
    if (process.has_ended() && process.status() > 128)
        say_error(fmt::format("the handler's process was ended by signal {} ({})", process.status() - 128,
                              strsignal(process.status() - 128)));
    return *std::move(started);
}

void Editor::send_globals(const Piece& piece) {
    for (const plan::Global& global : piece.plan.globals) {
        if (!plan::is_shared(global) || script_->globals().find(global.name))
            continue;
        std::vector<int> descriptors;
        if (!global.keys.empty())
            descriptors.push_back(maps_.map_fd(global.map));
        if (!global.keys.empty() && global.wrap)
            descriptors.push_back(maps_.map_fd(global.map + SONDE_WRAP_ORDER));
        const std::vector<uint8_t> bytes = plan::save_global(global);
        EditorPacket packet;
        packet.kind = EditorPacket::Global;
        send(packet, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), descriptors);
    }
}

bool Editor::add_probe(const std::string& text, std::string& said) {
    const std::unique_ptr<Piece> piece = script_->translate_probe(text);
    if (!piece)
        return false;
    if (Result<void> made = make_room(*piece, *script_, maps_); !made)
        return say_error(made.error().message), false;
    Options options = options_;
    // The session opens the file of -o, and decides about the end. Its sinks see what the probes print, and no more.
    options.session.output.path.clear();
    options.session.time_limit_s = 0;
    options.sinks = {};
    if (piece->plan.bpf_object.empty() || !is_process(options.session.target_pid))
        options.session.target_pid = 0; // it need not exist
    AddedProbe probe;
    probe.process = start(*piece, options, runs_once(piece->plan), probe.errors);
    const PieceProcess* process = probe.process.get();
    if (!process || !(process->is_armed() || (process->has_ended() && process->status() == 0))) {
        take_back(*piece, *script_, maps_);
        return false;
    }
    send_globals(*piece);
    script_->adopt(*piece);
    for (const std::string& name : piece->new_globals)
        said += fmt::format("`{}` is a new global\n", name);
    if (process->has_ended())
        return true;
    probe.number = next_number_++;
    probe.text = one_line(text);
    probe.only_at_end = runs_only_at_end(piece->plan);
    const auto same = std::ranges::find(probes_, probe.text, &AddedProbe::text);
    said += fmt::format("probe {}: {}{}\n", probe.number, counted(piece->points, "point"),
                        same == probes_.end() ? "" : fmt::format(", the same as probe {}", same->number));
    probes_.push_back(std::move(probe));
    return true;
}

Answer Editor::remove(const std::string& text) {
    const std::vector<std::string> words = split(text);
    if (words.empty())
        return {EINVAL, "ERROR: expected the numbers of probes, or `all` for all added ones; the list shows the "
                        "numbers\n"};
    std::string said;
    bool is_good = true;
    if (words.size() == 1 && words[0] == "all")
        end_all(false);
    else
        for (const std::string& word : words)
            is_good = remove_probe(word, said) && is_good;
    return {is_good ? 0 : ENOENT, take_errors() + said};
}

bool Editor::remove_probe(const std::string& word, std::string& said) {
    const std::optional<uint64_t> number = read_number(word);
    const auto found = std::ranges::find_if(
        probes_, [&](const AddedProbe& one) { return number && static_cast<uint64_t>(one.number) == *number; });
    if (found != probes_.end()) {
        end(*found, false);
        said += fmt::format("probe {} is removed; {}\n", found->number,
                            found->only_at_end ? "its handler did not run" : "the globals stay");
        probes_.erase(found);
        return true;
    }
    if (number && *number >= 1 && *number <= script_probes_.size() && !std::ranges::count(removed_, *number)) {
        if (const ScriptProbe& probe = script_probes_[*number - 1]; !probe.is_removable) {
            say_error(fmt::format("probe {} (`{}`) cannot be removed while the session runs: the kernel reports its "
                                  "events together with those of other probes",
                                  *number, probe.point));
            return false;
        }
        EditorPacket packet;
        packet.kind = EditorPacket::Disarm;
        packet.number = static_cast<uint32_t>(*number);
        send(packet);
        removed_.push_back(*number);
        said += fmt::format("probe {} is removed; the globals stay\n", *number);
        return true;
    }
    std::vector<size_t> numbers;
    for (size_t i = 1; i <= script_probes_.size(); i++)
        if (!std::ranges::count(removed_, i))
            numbers.push_back(i);
    for (const AddedProbe& one : probes_)
        numbers.push_back(static_cast<size_t>(one.number));
    say_error(numbers.empty() ? fmt::format("there is no probe {}: no probe is armed", word)
                              : fmt::format("there is no probe {}; the probes are {}", word, fmt::join(numbers, ", ")));
    return false;
}

std::string Editor::list() const {
    std::string out;
    for (const AddedProbe& probe : probes_)
        out += probe_line(probe.number, probe.text, probe.process->counts());
    return out;
}

// ---- running probes

void Editor::end(AddedProbe& probe, bool runs_end_handler) {
    probe.process->signal(probe.only_at_end && !runs_end_handler ? SIGKILL : SIGTERM);
    const int64_t kill_at = now_ns() + end_within_ns;
    while (probe.process->look(), !probe.process->has_ended()) {
        pollfd fds[] = {{probe.process->end_fd(), POLLIN, 0}, {probe.errors.get(), POLLIN, 0}};
        poll(fds, std::size(fds), 100);
        send_message(read_available(probe.errors.get()));
        if (now_ns() > kill_at) {
            send_message(
                fmt::format("WARNING: probe {} does not end; it is killed, and its last output is lost", probe.number));
            probe.process->signal(SIGKILL);
        }
    }
    send_message(read_available(probe.errors.get()));
    const int status = probe.process->status();
    is_lossy_ |= status == exit_lossy;
    has_failed_ |= status != 0 && status != exit_lossy && !probe.only_at_end;
}

// Those with `end` handlers end last: these print what the others have counted.
void Editor::end_all(bool runs_end_handlers) {
    for (const bool at_end : {false, true})
        for (AddedProbe& probe : probes_)
            if (probe.only_at_end == at_end)
                end(probe, runs_end_handlers);
    probes_.clear();
}

void Editor::look() {
    for (AddedProbe& probe : probes_) {
        probe.process->look();
        send_message(read_available(probe.errors.get()));
        if (probe.process->has_exited() && !std::exchange(has_exited_, true)) {
            EditorPacket packet;
            packet.kind = EditorPacket::Exit;
            send(packet);
        } else if (probe.process->has_ended()) {
            const int status = probe.process->status();
            is_lossy_ |= status == exit_lossy;
            has_failed_ |= status != 0 && status != exit_lossy;
            send_message("WARNING: " + ended_line(probe.number, probe.text, status));
        }
    }
    std::erase_if(probes_, [](const AddedProbe& probe) { return probe.process->has_ended(); });
}

void Editor::wait() {
    std::vector<pollfd> fds = {{socket_.get(), POLLIN, 0}};
    for (const AddedProbe& probe : probes_)
        for (const int fd : {probe.process->report_fd(), probe.process->end_fd(), probe.errors.get()})
            if (fd >= 0)
                fds.push_back({fd, POLLIN, 0});
    poll(fds.data(), fds.size(), -1);
    look();
    take_packets();
}

} // namespace

Result<std::unique_ptr<EditorProcess>> EditorProcess::start(const plan::Plan& plan,
                                                            const std::vector<std::string>& texts,
                                                            const Options& options, const Policies& policies) {
    std::unique_ptr<EditorProcess> out(new EditorProcess());
    Result<std::unique_ptr<SharedMaps>> maps = SharedMaps::create();
    if (!maps)
        return std::move(maps).error();
    out->maps_ = *std::move(maps);
    for (const plan::Global& global : plan.globals)
        if (plan::is_shared(global))
            if (Result<void> added = out->maps_->add(global, plan.max_string); !added)
                return std::move(added).error();
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return errno_error("cannot start the process that adds probes", errno);
    out->socket_.reset(ends[0]);
    Fd editor_end(ends[1]);
    fflush(nullptr);
    out->pid_ = fork();
    if (out->pid_ < 0)
        return errno_error("cannot start the process that adds probes", errno);
    if (out->pid_ == 0) {
        out->socket_.reset();
        Editor(plan, options, policies, *out->maps_, std::move(editor_end)).run(plan, texts);
        _exit(0);
    }
    return out;
}

// An editor that translates does not see that the socket is closed. Its probes end by themselves.
EditorProcess::~EditorProcess() {
    constexpr int turns = 100, turn_us = 10'000;
    socket_.reset();
    for (int i = 0; pid_ > 0 && i < turns; i++) {
        if (waitpid(pid_, nullptr, WNOHANG) != 0)
            return;
        usleep(turn_us);
    }
    if (pid_ > 0 && kill(pid_, SIGKILL) == 0)
        waitpid(pid_, nullptr, 0);
}

} // namespace sonde::repl
