// A recording can come from anywhere, so nothing in it is trusted. The plan is checked when it is loaded, and its code
// is never used. Each event must fit the plan.
#include "runtime/sinks/recording/replay.h"

#include <poll.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/clock.h"
#include "runtime/plan/plan_file.h"
#include "runtime/sinks/recording/beginning.h"
#include "runtime/sinks/recording/bytes.h"
#include "runtime/sinks/recording/event_reader.h"
#include "runtime/sinks/recording/kept_symbols.h"
#include "runtime/sinks/recording/recording_file.h"
#include "runtime/text/accounting.h"
#include "runtime/text/json.h"
#include "runtime/text/messages.h"
#include "runtime/values/session_data.h"

namespace sonde {
namespace {

// An array with the insertion numbers of the recording.
class RecordedArray final : public HostArray {
  public:
    void put(ArrayElement element) { elements_[element.key] = std::move(element); }

    bool load(const std::string& key, std::string& payload) override {
        const auto found = elements_.find(key);
        if (found != elements_.end())
            payload = found->second.payload;
        return found != elements_.end();
    }
    HostStatus store(const std::string& key, const std::string& payload) override {
        return put({elements_.size(), key, payload}), HostOk;
    }
    void erase(const std::string& key) override { elements_.erase(key); }
    void erase_all() override { elements_.clear(); }
    std::vector<ArrayElement> snapshot() override {
        std::vector<ArrayElement> out;
        for (const auto& [key, element] : elements_)
            out.push_back(element);
        std::ranges::sort(out, {}, &ArrayElement::insertion);
        return out;
    }

  private:
    std::map<std::string, ArrayElement> elements_; // by key
};

// Notes SIGINT and SIGTERM, so that a sink can restore the terminal.
class UntilSignal {
  public:
    UntilSignal() {
        struct sigaction note{};
        note.sa_handler = [](int) { came = 1; };
        for (size_t i = 0; i < std::size(signals); i++)
            sigaction(signals[i], &note, &old_[i]);
    }
    ~UntilSignal() {
        for (size_t i = 0; i < std::size(signals); i++)
            sigaction(signals[i], &old_[i], nullptr);
    }
    UntilSignal(const UntilSignal&) = delete;
    UntilSignal& operator=(const UntilSignal&) = delete;
    static bool has_come() { return came; }

  private:
    static constexpr int signals[] = {SIGINT, SIGTERM};
    static inline volatile sig_atomic_t came = 0;
    struct sigaction old_[std::size(signals)]{};
};

uint64_t payload_size(const plan::Plan& plan, const plan::Global& global) {
    return global.type == plan::Value::Long     ? sizeof(int64_t)
           : global.type == plan::Value::String ? plan.max_string
                                                : plan::stats_bytes(global.stats);
}

class Replay {
  public:
    Replay(std::string file, std::unique_ptr<RecordingReader> reader, Beginning beginning, const EventFilter& only)
        : file_(std::move(file)), reader_(std::move(reader)), plan_(std::move(beginning.plan)), data_(plan_) {
        now_ns_ = beginning.number("now");
        data_.began_ns = real_ns_ = beginning.number("time");
        if (!only.is_empty())
            filter_.emplace(only, data_.began_ns);
        data_.now = [this] { return now_ns_; };
        data_.real_time = [this] { return real_ns_; };
        data_.kernel_time = [this] { return kernel_ns_; };
        // String operations may read past the last string, as in a session.
        data_.own_memory.resize(
            (std::max<uint64_t>(plan_.data_size, sizeof(plan::SessionWords)) + 2ull * plan_.max_string) / 8 + 1);
        data_.memory = reinterpret_cast<char*>(data_.own_memory.data());
        data_.words = reinterpret_cast<plan::SessionWords*>(data_.memory);
        auto symbols = std::make_unique<KeptSymbols>();
        symbols_ = symbols.get();
        data_.kept_symbols = std::move(symbols);
        for (const plan::Global& global : plan_.globals)
            data_.arrays.push_back(global.keys.empty() ? nullptr : std::make_unique<RecordedArray>());
    }
    Result<int> run(const ReplayOptions& options, const SinkMaker& make_sinks);

  private:
    bool apply(const RecordingReader::Item& item);
    bool print(std::string_view bytes);
    bool text(std::string_view bytes);
    bool look(std::string_view bytes);
    void pause(int64_t until);
    void stop();
    bool change_array(ByteCursor& in, size_t index);
    bool end(std::string_view bytes);
    Result<void> finish();
    void say_end();

    const std::string file_;
    const std::unique_ptr<RecordingReader> reader_;
    const plan::Plan plan_;
    SessionData data_;
    std::optional<SessionFilter> filter_; // of printed records; nullopt: all are shown
    KeptSymbols* symbols_ = nullptr;      // owned by data_
    Output output_;
    std::unique_ptr<Messages> messages_;
    Sinks sinks_;
    int64_t now_ns_ = 0, real_ns_ = 0, kernel_ns_ = 0; // of the last look
    std::optional<int64_t> offset_ns_; // now_ns() minus the recording's clock, if the pace is that of the session
    bool is_ending_ = false;           // a sink or a signal ends the replay
    bool is_stopped_ = false, finished_ = false, ended_ = false;
    std::string why_;      // of a flight recorder's dump
    Result<void> failure_; // the first one of a sink
    Accounting accounting_;
    int status_ = exit_lossy;
    uint64_t errors_ = 0, skipped_ = 0;
};

bool Replay::print(std::string_view bytes) {
    ByteCursor in(bytes);
    auto header = in.take<plan::RecordHeader>();
    header.type &= ~same_run;
    if (in.failed() || header.type != plan::Print || header.format >= plan_.formats.size())
        return false;
    const std::string_view rest = in.take_bytes(in.rest());
    const std::span<const uint8_t> payload(reinterpret_cast<const uint8_t*>(rest.data()), rest.size());
    if (filter_ && !is_accepted(plan_.formats[header.format], payload, *filter_))
        return true;
    for (const std::unique_ptr<Sink>& sink : sinks_)
        sink->record(header, payload);
    for (const std::unique_ptr<Sink>& sink : sinks_)
        sink->after_record();
    return true;
}

bool Replay::text(std::string_view bytes) {
    if (bytes.empty() || static_cast<uint8_t>(bytes[0]) > static_cast<uint8_t>(SinkText::HitTimes))
        return false;
    const auto kind = static_cast<SinkText>(bytes[0]);
    bytes.remove_prefix(1);
    for (const std::unique_ptr<Sink>& sink : sinks_)
        sink->text(kind, bytes);
    if (kind != SinkText::Warning && kind != SinkText::Error)
        return true;
    output_.flush();
    if (kind == SinkText::Warning)
        warn(bytes);
    else
        say(fmt::format("ERROR: {}", bytes));
    return true;
}

bool Replay::change_array(ByteCursor& in, size_t index) {
    const plan::Global& global = plan_.globals[index];
    auto& array = static_cast<RecordedArray&>(*data_.arrays[index]);
    for (auto removed = in.take<uint32_t>(); removed > 0 && !in.failed(); removed--)
        array.erase(std::string(take_text(in)));
    for (auto changed = in.take<uint32_t>(); changed > 0 && !in.failed(); changed--) {
        ArrayElement element;
        element.insertion = in.take<uint64_t>();
        element.key = take_text(in);
        element.payload = take_text(in);
        if (element.key.size() != global.key_size || element.payload.size() < payload_size(plan_, global))
            return false;
        array.put(std::move(element));
    }
    return !in.failed();
}

bool Replay::look(std::string_view bytes) {
    ByteCursor in(bytes);
    now_ns_ = in.take<int64_t>();
    real_ns_ = in.take<int64_t>();
    kernel_ns_ = in.take<int64_t>();
    const bool handlers_follow = in.take<uint8_t>() != 0;
    for (auto at = in.take<uint64_t>(); at != ~uint64_t{0}; at = in.take<uint64_t>()) {
        const std::string_view run = take_text(in);
        if (in.failed() || at > plan_.data_size || run.size() > plan_.data_size - at)
            return false;
        std::memcpy(data_.memory + at, run.data(), run.size());
    }
    for (size_t i = 0; i < data_.arrays.size(); i++)
        if (data_.arrays[i] && !change_array(in, i))
            return false;
    if (in.failed())
        return false;
    if (offset_ns_)
        pause(now_ns_);
    for (const std::unique_ptr<Sink>& sink : sinks_)
        is_ending_ = sink->turn(now_ns_, handlers_follow) || is_ending_;
    return true;
}

void Replay::stop() {
    is_stopped_ = true;
    for (const std::unique_ptr<Sink>& sink : sinks_)
        sink->stop();
}

// Lets sinks work until a time of the recording, or until one of them or a signal ends the replay.
void Replay::pause(int64_t until) {
    while (!is_ending_) {
        const int64_t now = now_ns() - *offset_ns_;
        if (now >= until)
            return;
        int64_t wait = std::min<int64_t>(until - now, 50'000'000);
        std::vector<pollfd> fds;
        for (const std::unique_ptr<Sink>& sink : sinks_) {
            fds.push_back({sink->fd(), POLLIN, 0});
            wait = std::min(wait, sink->until_turn(now));
        }
        const timespec timeout{0, static_cast<long>(wait)};
        ppoll(fds.data(), fds.size(), &timeout, nullptr);
        for (size_t i = 0; i < sinks_.size(); i++)
            if (fds[i].revents)
                sinks_[i]->serve();
        for (const std::unique_ptr<Sink>& sink : sinks_)
            is_ending_ = sink->turn(now, false) || is_ending_;
        is_ending_ = is_ending_ || UntilSignal::has_come();
    }
}

bool Replay::end(std::string_view bytes) {
    ByteCursor in(bytes);
    status_ = std::clamp(in.take<int32_t>(), 0, 255);
    errors_ = in.take<uint64_t>();
    skipped_ = in.take<uint64_t>();
    const Json json = Json::parse(in.take_bytes(in.rest()), nullptr, false);
    if (in.failed() || json.is_discarded())
        return false;
    accounting_ = Accounting::from_json(json);
    return ended_ = true;
}

Result<void> Replay::finish() {
    Result<void> out;
    for (const std::unique_ptr<Sink>& sink : sinks_)
        if (Result<void> done = sink->finish([] { return false; }); !done && out)
            out = std::move(done);
    return out;
}

// Returns false if the event does not fit the plan.
bool Replay::apply(const RecordingReader::Item& item) {
    const auto all = [this](void (Sink::*function)()) {
        for (const std::unique_ptr<Sink>& sink : sinks_)
            ((*sink).*function)();
        return true;
    };
    switch (item.kind) {
    case Event::About:
    case Event::Plan:
        return false; // they occur once, at the beginning
    case Event::Answer: {
        ByteCursor in(item.bytes);
        const std::string_view question = take_text(in), answer = in.take_bytes(in.rest());
        symbols_->add(question, answer);
        return !question.empty();
    }
    case Event::Start:
        return all(&Sink::start);
    case Event::Print:
        return print(item.bytes);
    case Event::Text:
        return text(item.bytes);
    case Event::Look:
        return look(item.bytes);
    case Event::Stop:
        stop();
        return true;
    case Event::Detached:
        return all(&Sink::detached);
    case Event::Finish:
        data_.aborted = item.bytes.empty() || item.bytes[0] != '\0';
        failure_ = finish();
        return finished_ = true;
    case Event::End:
        return end(item.bytes);
    case Event::Dump:
        why_ = item.bytes;
        failure_ = finish();
        status_ = 0;
        return finished_ = ended_ = true;
    }
    return false;
}

// A recording that was cut must not look like one of a session that ended.
void Replay::say_end() {
    const auto seconds = static_cast<time_t>(real_ns_ / 1'000'000'000);
    tm local{};
    char time[32] = "";
    if (localtime_r(&seconds, &local))
        std::strftime(time, sizeof time, "%F %T", &local);
    if (!reader_->damage().empty())
        warn(fmt::format("{} is damaged at {}: only what was recorded before is shown, up to about {}", file_,
                         reader_->damage(), time),
             Weight::Answer);
    else if (!ended_ && !is_ending_ && !output_.failure())
        warn(fmt::format(
                 "{} ends before the end of its session: sonde was killed, or could not write. Globals are those "
                 "of {}",
                 file_, time),
             Weight::Answer);
    if (!why_.empty())
        say(fmt::format("{} was dumped at {}: {}", file_, time, why_));
    if (symbols_->missing())
        warn(fmt::format("{} addresses have no name in the recording", symbols_->missing()), Weight::Answer);
}

Result<int> Replay::run(const ReplayOptions& options, const SinkMaker& make_sinks) {
    Result<Sinks> sinks = make_sinks(data_, output_);
    if (!sinks)
        return std::move(sinks).error();
    sinks_ = *std::move(sinks);
    if (Result<void> opened = output_.open(options.output); !opened)
        return std::move(opened).error();
    Result<std::unique_ptr<Messages>> messages =
        Messages::start(output_.writer(), output_.is_same_file_as(STDERR_FILENO), options.raw);
    if (!messages)
        return std::move(messages).error();
    messages_ = *std::move(messages);
    for (const std::unique_ptr<Sink>& sink : sinks_)
        if (Result<void> opened = sink->open(); !opened)
            return std::move(opened).error();
    std::optional<UntilSignal> until_signal;
    if (options.pace == Pace::Live) {
        until_signal.emplace();
        offset_ns_ = now_ns() - now_ns_;
    }
    bool fits = true, was_stopped = false;
    while (fits && !is_ending_ && !output_.failure()) {
        const std::optional<RecordingReader::Item> item = reader_->next();
        const bool is_last =
            !item || item->kind == Event::Stop || item->kind == Event::Finish || item->kind == Event::Dump;
        if (offset_ns_ && is_last && !was_stopped) {
            pause(INT64_MAX);
            was_stopped = true;
            is_ending_ = false; // the end itself is shown
        }
        if (!item)
            break;
        fits = apply(*item);
        output_.flush();
    }
    if (!is_stopped_)
        stop();
    if (!fits)
        warn(fmt::format("{} contradicts itself: only what was recorded before that is shown", file_), Weight::Answer);
    if (!finished_)
        failure_ = finish();
    say_end();
    const SessionEnd how{accounting_, status_, errors_, skipped_, [] { return false; }};
    for (size_t i = sinks_.size(); i-- > 0;)
        if (Result<void> closed = sinks_[i]->close(how); !closed && failure_)
            failure_ = std::move(closed);
    output_.finish({});
    accounting_.say();
    if (errors_ || skipped_)
        warn(fmt::format("Number of errors: {}, skipped probes: {}", errors_, skipped_), Weight::Answer);
    if (const std::optional<Error> failed = output_.failure(); failed && failed->os_error != EPIPE)
        say("ERROR: " + failed->message);
    messages_->finish([] { return false; });
    if (!failure_)
        return std::move(failure_).error();
    if (output_.failure())
        return 1;
    return is_ending_ ? 0 : ended_ && fits ? status_ : exit_lossy;
}

} // namespace

Result<int> replay(const std::string& file, const ReplayOptions& options, const SinkMaker& make_sinks) {
    Result<std::unique_ptr<RecordingReader>> reader = RecordingReader::open(file);
    if (!reader)
        return std::move(reader).error();
    Result<Beginning> beginning = read_beginning(**reader, file);
    if (!beginning)
        return std::move(beginning).error();
    return Replay(file, *std::move(reader), *std::move(beginning), options.only).run(options, make_sinks);
}

} // namespace sonde
