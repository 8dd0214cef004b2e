// The recorder must come before all sinks that print: it asks for names before they do, so that none of its questions
// is answered by a cache.
//
// Records and texts are kept as they come. Globals are different: sinks read them whenever they like. The recorder
// looks at them as often as a heatmap does, and always before handlers that may delete elements. A look keeps what has
// changed since the last one, so a large array that rests costs nothing in the file.
//
// A flight recorder writes nothing until dump(). If the records of handlers stay in the kernel until then
// (KeptRecords), the recorder's own memory has only what the session adds, and a dump merges both by time. Looks are
// rare then, because the recorder must cost little while nothing happens.
#include "runtime/sinks/recording/recorder.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/clock.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/stack.h"
#include "runtime/sinks/pictures/pprof.h"
#include "runtime/sinks/recording/bytes.h"
#include "runtime/sinks/recording/kept_symbols.h"
#include "runtime/sinks/recording/recording_file.h"
#include "runtime/sinks/sink.h"
#include "runtime/text/json.h"
#include "runtime/text/messages.h"
#include "runtime/values/array_values.h"
#include "runtime/values/json_lines.h"
#include "runtime/values/printed_values.h"
#include "runtime/values/session_data.h"

namespace sonde {
namespace {

constexpr int64_t shortest_look_ns = 20'000'000, longest_look_ns = 1'000'000'000;
// The longest part of the time that looks take: before handlers that may delete elements, and otherwise.
constexpr int64_t early_share_of_time = 3, share_of_time = 20;
constexpr int64_t longest_block_ns = 1'000'000'000;
constexpr int64_t between_dumps_ns = 1'000'000'000;
// The same if the records of handlers stay in the kernel.
constexpr int64_t shortest_rare_look_ns = 1'000'000'000, longest_rare_look_ns = 60'000'000'000;
constexpr int64_t rare_share_of_time = 500;
constexpr int64_t longest_rare_block_ns = 10'000'000'000;
constexpr uint64_t own_bytes = 8 << 20; // of the recorder's own memory

// The elements of an array at the last look, by key.
using SeenElements = std::map<std::string, ArrayElement>;

class Recorder final : public Sink {
  public:
    Recorder(SessionData& data, RecordingRequest request)
        : data_(data), request_(std::move(request)),
          symbols_(data.symbols,
                   [this](std::string_view question, std::string_view answer) {
                       add(Event::Answer, answer_event(question, answer));
                   }),
          lines_(data.plan, symbols_, data.numbers), arrays_(data.plan.globals.size()) {
        if (request_.flight.is_wanted)
            ring_.emplace(request_.flight);
    }

    Result<void> open() override {
        if (ring_)
            return check_folder();
        Result<std::unique_ptr<RecordingWriter>> file = begin_file(request_.file, about());
        if (!file)
            return std::move(file).error();
        file_ = *std::move(file);
        return {};
    }
    void start() override {
        is_started_ = true;
        if (ring_)
            say_memory();
        begin_block(now_ns());
        add(Event::Start, "");
    }
    void record(const plan::RecordHeader& header, std::span<const uint8_t> payload) override {
        if (const plan::Format& format = data_.plan.formats[header.format];
            has_stacks(format) && has_new_stack(format, payload)) {
            lines_.print(header, payload);
            ask_for_scripts(format, payload);
        }
        plan::RecordHeader kept = header;
        if (std::exchange(run_, data_.run) == data_.run && data_.run)
            kept.type |= same_run;
        bytes_.assign(reinterpret_cast<const char*>(&kept), sizeof kept);
        bytes_.append(reinterpret_cast<const char*>(payload.data()), payload.size());
        // The handler of a timer may run late, and its records have its time.
        const int64_t hit = ring_ ? printed_time(data_.plan.formats[header.format], payload) : 0;
        add(Event::Print, bytes_, hit);
        events_++;
    }
    void text(SinkText kind, std::string_view text) override {
        bytes_.assign(1, static_cast<char>(kind));
        bytes_ += text;
        add(Event::Text, bytes_);
        events_++;
    }
    int64_t until_turn(int64_t now) const override {
        return std::max<int64_t>(0, std::min(look_ns_, block_ns_ + most_block_ns()) - now);
    }
    bool turn(int64_t now, bool handlers_follow) override {
        if (now >= block_ns_ + most_block_ns())
            begin_block(now);
        if (now >= (handlers_follow ? early_look_ns_ : look_ns_))
            look(now, handlers_follow);
        return false;
    }
    bool dump(std::string_view why, int64_t time) override;
    void stop() override { add(Event::Stop, ""); }
    void detached() override { add(Event::Detached, ""); }
    Result<void> finish(const std::function<bool()>& /*hurry*/) override {
        look(now_ns(), false);
        if (!ring_)
            add(Event::Finish, std::string(1, static_cast<char>(data_.aborted)));
        return {};
    }
    Result<void> close(const SessionEnd& end) override {
        if (ring_)
            return close_flight(end);
        bytes_.clear();
        add_number(bytes_, static_cast<int32_t>(end.status));
        add_number(bytes_, end.errors);
        add_number(bytes_, end.skipped);
        bytes_ += json_text(end.accounting.json(data_.plan.script, end.status));
        add(Event::End, bytes_);
        file_->flush();
        if (file_->failure())
            return Error(fmt::format("the recording is incomplete: {}", file_->failure()->message));
        say(fmt::format("{}: {} events, {:.1f} KB; `sonde replay {}` shows them", request_.file, events_,
                        static_cast<double>(file_->bytes()) / 1024, request_.file));
        return {};
    }

  private:
    // Adds an event to the file or to the flight recorder. `time`: on the clock of records; 0: now.
    void add(Event kind, std::string_view bytes, int64_t time = 0) {
        if (!file_ && !std::exchange(has_events_, true) && is_lazy())
            shrink_ring();
        if (file_)
            file_->add(kind, bytes);
        else if (ring_->add(kind, bytes, time ? time : data_.record_time()) && kind != Event::Look)
            begin_block(now_ns());
    }
    // The session itself adds few events, and the limit is for those of handlers.
    void shrink_ring() {
        FlightLimit limit = request_.flight;
        limit.bytes = std::min(limit.bytes, own_bytes);
        ring_.emplace(limit);
    }
    // Whether the records of handlers stay in the kernel until a dump.
    bool is_lazy() const { return ring_ && data_.kept_records; }
    int64_t most_block_ns() const { return is_lazy() ? longest_rare_block_ns : longest_block_ns; }
    // Ends the block. In a flight recorder, the next one begins with a look at all globals.
    void begin_block(int64_t now) {
        block_ns_ = now;
        if (ring_) {
            ring_->end_block(now);
            if (ring_->take_tell_again())
                ask_again();
            looks_at_all_ = true;
        } else {
            file_->flush();
        }
        look(now, false);
    }
    void ask_again() {
        symbols_.tell_again();
        known_.clear();
    }
    // A new file with the events that come first in each recording.
    Result<std::unique_ptr<RecordingWriter>> begin_file(const std::string& path, const Json& about) const {
        Result<std::unique_ptr<RecordingWriter>> out = RecordingWriter::create(path);
        if (!out)
            return out;
        const std::vector<uint8_t> plan = plan::save(data_.plan);
        (*out)->add(Event::About, json_text(about));
        (*out)->add(Event::Plan, {reinterpret_cast<const char*>(plan.data()), plan.size()});
        (*out)->flush();
        return out;
    }
    // Recordings are written later, so an unwritable folder is reported early.
    Result<void> check_folder() const {
        const std::filesystem::path folder = std::filesystem::path(request_.file).parent_path();
        return access(folder.empty() ? "." : folder.c_str(), W_OK) == 0
                   ? Result<void>()
                   : errno_error(fmt::format("cannot write recordings to `{}`", folder.empty() ? "." : folder.string()),
                                 errno);
    }
    void write_dump(std::string_view why, int64_t time);
    int64_t oldest_of(int64_t time) const;
    std::pair<uint64_t, int64_t> write_merged(const KeptRecords::Counts& kept, int64_t time);
    void say_memory() const;
    Result<void> close_flight(const SessionEnd& end);

    Json about() const {
        utsname machine{};
        uname(&machine);
        return {{"time", data_.began_ns},
                {"now", now_ns()},
                {"host", machine.nodename},
                {"kernel", machine.release},
                {"machine", host_architecture().names()[0]},
                {"command", request_.words},
                {"script", data_.plan.script}};
    }
    static bool has_stacks(const plan::Format& format) {
        return std::ranges::any_of(format.directives, [](const plan::Directive& one) {
            return one.kind == plan::Directive::Stack || one.kind == plan::Directive::Addresses;
        });
    }
    // Whether the names of this stack may not have been asked for yet.
    bool is_new(std::string stack) {
        if (std::exchange(edition_, data_.symbols.edition()) != data_.symbols.edition() || known_.size() > most_known)
            known_.clear();
        return known_.insert(std::move(stack)).second;
    }
    bool has_new_stack(const plan::Format& format, std::span<const uint8_t> payload) {
        bool out = false;
        read_values(format, payload, [&](PrintedValue& value) {
            const plan::Directive& d = *value.directive;
            if (d.kind != plan::Directive::Stack && d.kind != plan::Directive::Addresses)
                return;
            if (value.state == SONDE_STACK_VISITED) { // it differs each time
                out = true;
                return;
            }
            std::string stack(1, d.conversion);
            add_number(stack, value.process);
            stack += value.text;
            for (const uint64_t word : value.words)
                add_number(stack, word);
            out = is_new(std::move(stack)) || out;
        });
        return out;
    }
    void ask_for_scripts(const plan::Format& format, std::span<const uint8_t> payload);
    void look(int64_t now, bool handlers_follow);
    void add_memory(std::string& out);
    void add_array(std::string& out, size_t index);
    void ask_names(size_t index, const std::vector<ArrayElement>& changed);

    static constexpr size_t most_known = 1 << 14;
    SessionData& data_;
    const RecordingRequest request_;
    std::unique_ptr<RecordingWriter> file_; // with --flight only while a recording is written
    std::optional<FlightRing> ring_;
    bool is_started_ = false, has_events_ = false;
    uint64_t omitted_dumps_ = 0; // too early after another one
    int64_t next_dump_ = 0;      // the time after which the next trigger counts, on the clock of records
    uint64_t dumps_ = 0;
    AskedSymbols symbols_;
    JsonLines lines_; // asks whatever any format asks
    std::string bytes_, memory_;
    std::vector<SeenElements> arrays_;      // by global
    bool looks_at_all_ = false;             // the next look keeps all globals, whether they have changed or not
    std::unordered_set<std::string> known_; // stacks
    uint64_t edition_ = 0, events_ = 0;
    uint64_t run_ = 0;                        // SessionData::run of the last record; 0: none
    int64_t early_look_ns_ = 0, look_ns_ = 0; // when to look again: before handlers, and otherwise
    int64_t block_ns_ = 0;                    // when the block began
};

// The runs of bytes that have changed in the data area: u64 offset, text; an offset of ~0 ends them.
void Recorder::add_memory(std::string& out) {
    constexpr size_t word = sizeof(uint64_t);
    const size_t size = data_.plan.data_size / word * word;
    memory_.resize(size);
    for (size_t at = 0; at < size;) {
        size_t end = looks_at_all_ ? size : at;
        while (end < size && std::memcmp(data_.memory + end, memory_.data() + end, word) != 0)
            end += word;
        if (end > at) {
            std::memcpy(memory_.data() + at, data_.memory + at, end - at);
            add_number(out, uint64_t{at});
            add_text(out, std::string_view(memory_).substr(at, end - at));
        }
        at = end + word;
    }
    add_number(out, ~uint64_t{0});
}

// Adds the changes of an array: the number of removed elements and their keys, then the number of added or changed
// elements in the order of their insertion. Each of these has its insertion number (u64), its key and its payload.
void Recorder::add_array(std::string& out, size_t index) {
    SeenElements& seen = arrays_[index];
    const std::vector<ArrayElement> elements = data_.arrays[index]->snapshot();
    std::vector<ArrayElement> changed;
    SeenElements now;
    for (const ArrayElement& element : elements) {
        const auto before = seen.find(element.key);
        if (looks_at_all_ || before == seen.end() || before->second.payload != element.payload ||
            before->second.insertion != element.insertion)
            changed.push_back(element);
        now.emplace(element.key, element);
    }
    std::string removed;
    uint32_t count = 0;
    for (const auto& [key, element] : seen)
        if (!now.contains(key)) {
            add_text(removed, key);
            count++;
        }
    ask_names(index, changed);
    add_number(out, count);
    out += removed;
    add_number(out, static_cast<uint32_t>(changed.size()));
    for (const ArrayElement& element : changed) {
        add_number(out, element.insertion);
        add_text(out, element.key);
        add_text(out, element.payload);
    }
    seen = std::move(now);
}

// Asks for the names in the keys, as profiles do. No other output asks for more.
void Recorder::ask_names(size_t index, const std::vector<ArrayElement>& changed) {
    const plan::Global& global = data_.plan.globals[index];
    if (std::ranges::none_of(global.keys, [](const plan::KeyPart& key) { return is_stack(key.role); }))
        return;
    for (const ArrayElement& element : changed) { // each may have another process in its key
        if (!is_new(fmt::format("key {} {}", index, element.key)))
            continue;
        const std::vector<KeyValue> key = key_values(data_.plan, global, element);
        for (size_t i = 0; i < key.size(); i++)
            if (global.keys[i].role == plan::KeyRole::Process)
                symbols_.rename(process_of(global, key, data_.numbers), static_cast<uint64_t>(key[i].number));
        static_cast<void>(pprof_profile(data_.plan, symbols_, data_.numbers, global, {element}, 0));
    }
    symbols_.rename(0, 0);
}

// Asks what a script over the recording may ask about a printed stack: print_ustack(), usymname() and similar
// functions, and pictures of arrays by stack.
void Recorder::ask_for_scripts(const plan::Format& format, std::span<const uint8_t> payload) {
    read_values(format, payload, [&](const PrintedValue& value) {
        if (value.directive->kind != plan::Directive::Stack || value.state >= SONDE_STACK_NONE)
            return;
        for (size_t i = 0; i < value.words.size(); i++) {
            const uint64_t address = value.words[i];
            static_cast<void>(frames_at(symbols_, value.process, address, false, true));
            static_cast<void>(frames_at(symbols_, value.process, address, i > 0, true));
            for (const uint64_t style :
                 {SONDE_SYMBOL_NAME, SONDE_SYMBOL_DATA, SONDE_SYMBOL_OFFSET, SONDE_SYMBOL_MODULE, SONDE_SYMBOL_FILELINE,
                  SONDE_SYMBOL_PATH, SONDE_SYMBOL_PLACE, SONDE_SYMBOL_BUILD_ID})
                static_cast<void>(symbols_.text(value.process, address, style));
        }
    });
}

void Recorder::look(int64_t now, bool handlers_follow) {
    if (!data_.memory)
        return;
    const int64_t began = now_ns();
    std::string bytes;
    for (const int64_t time : {now, real_time_ns(), kernel_now_ns()})
        add_number(bytes, time);
    bytes += static_cast<char>(handlers_follow);
    add_memory(bytes);
    for (size_t i = 0; i < data_.arrays.size(); i++)
        if (data_.arrays[i])
            add_array(bytes, i);
    looks_at_all_ = false;
    add(Event::Look, bytes);
    const int64_t took = now_ns() - began;
    early_look_ns_ = now + took * early_share_of_time;
    look_ns_ = now + std::clamp(took * share_of_time, shortest_look_ns, longest_look_ns);
    if (is_lazy())
        early_look_ns_ = look_ns_ =
            now + std::clamp(took * rare_share_of_time, shortest_rare_look_ns, longest_rare_look_ns);
}

// The numbers N of all files FILE.N.
std::set<uint64_t> numbers_of(const std::string& file) {
    const std::filesystem::path path(file);
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    const std::string prefix = path.filename().string() + ".";
    std::set<uint64_t> out;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
        const std::string name = entry.path().filename().string();
        const std::string rest = name.starts_with(prefix) ? name.substr(prefix.size()) : "";
        uint64_t number = 0;
        const auto [end, wrong] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
        if (!rest.empty() && wrong == std::errc() && end == rest.data() + rest.size())
            out.insert(number);
    }
    return out;
}

// Deletes the oldest recordings FILE.N, until at most `keep` are left, of at most `total` bytes together (0: any size).
// The newest one stays. Other files may have such names, too, and stay.
void keep_newest(const std::string& file, uint64_t keep, uint64_t total) {
    std::error_code ignored;
    uint64_t files = 0, bytes = 0;
    const std::set<uint64_t> numbers = numbers_of(file);
    for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
        const std::string path = fmt::format("{}.{}", file, *number);
        if (!RecordingReader::open(path).ok())
            continue;
        bytes += std::filesystem::file_size(path, ignored);
        files++;
        if (files > keep || (files > 1 && total != 0 && bytes > total))
            std::filesystem::remove(path, ignored);
    }
}

std::string megabytes(uint64_t bytes) {
    return fmt::format("{:.{}f} MB", static_cast<double>(bytes) / (1 << 20), bytes % (1 << 20) ? 1 : 0);
}

// The memory is stated before anything is kept.
void Recorder::say_memory() const {
    if (const KeptRecords* kept = data_.kept_records)
        say(fmt::format("flight recorder: {} in the kernel, {} for each of {} processors", megabytes(kept->bytes()),
                        megabytes(kept->bytes() / kept->rings()), kept->rings()));
    else
        say(fmt::format("flight recorder: up to {} in sonde's memory", megabytes(request_.flight.bytes)));
}

bool Recorder::dump(std::string_view why, int64_t time) {
    if (!ring_)
        return false;
    if (time < next_dump_)
        omitted_dumps_++;
    else
        write_dump(why, time);
    return true;
}

// The time of the oldest event that a dump at `time` may have.
int64_t Recorder::oldest_of(int64_t time) const {
    return request_.flight.ns != INT64_MAX ? time - request_.flight.ns : INT64_MIN;
}

// Writes the events of the session and those of the kernel, in the order of their times. Returns the number of events
// and the time of the first one.
std::pair<uint64_t, int64_t> Recorder::write_merged(const KeptRecords::Counts& kept, int64_t time) {
    const uint64_t before = events_;
    FlightRing::Reader own(*ring_, oldest_of(time));
    ask_again(); // each recording has all names
    data_.kept_records->pass([&](int64_t at) { own.write_until(at, *file_); });
    own.write_until(INT64_MAX, *file_);
    looks_at_all_ = true;
    look(now_ns(), false);
    return {events_ - before + own.events(), kept.since ? std::min(kept.since, own.first()) : own.first()};
}

void Recorder::write_dump(std::string_view why, int64_t time) {
    const int64_t now = now_ns();
    if (is_lazy())
        ring_->end_block(now);
    else
        begin_block(now);
    const KeptRecords::Counts kept =
        is_lazy() ? data_.kept_records->read(oldest_of(time), time) : KeptRecords::Counts();
    const std::set<uint64_t> numbers = numbers_of(request_.file);
    const std::string path = fmt::format("{}.{}", request_.file, numbers.empty() ? 1 : *numbers.rbegin() + 1);
    Json facts = about();
    facts["dumped"] = real_time_ns();
    facts["why"] = why;
    facts["overwritten"] = is_lazy() ? kept.overwritten + kept.damaged : ring_->dropped();
    next_dump_ = time + between_dumps_ns;
    dumps_++;
    Result<std::unique_ptr<RecordingWriter>> begun = begin_file(path, facts);
    if (!begun) {
        warn(fmt::format("nothing is dumped ({}): {}", why, begun.error().message), Weight::Answer);
        if (is_lazy())
            begin_block(now);
        return;
    }
    std::unique_ptr<RecordingWriter> file = *std::move(begun);
    if (is_started_)
        file->add(Event::Start, "");
    uint64_t events = ring_->events();
    int64_t span = ring_->since() ? now - ring_->since() : 0;
    if (is_lazy()) {
        file_ = std::move(file);
        const auto [written, first] = write_merged(kept, time);
        file = std::move(file_);
        events = written;
        span = std::max<int64_t>(0, time - std::min(first, time));
    } else {
        ring_->write(*file);
    }
    file->add(Event::Dump, why);
    file->flush();
    std::string lost;
    if (kept.overwritten)
        lost = fmt::format(" ({} older records were overwritten)", kept.overwritten);
    if (kept.damaged)
        lost += fmt::format(" ({} records were damaged by late writers)", kept.damaged);
    if (kept.unplaced)
        lost += fmt::format(" ({} records came from processors that were off when the session began)", kept.unplaced);
    data_.last_dump =
        fmt::format("{}: {} events of the last {:.1f} s, {:.1f} KB{}: {}", path, events,
                    static_cast<double>(span) / 1e9, static_cast<double>(file->bytes()) / 1024, lost, why);
    say(data_.last_dump);
    if (kept.late)
        warn(fmt::format(
                 "{} lacks the last records of {} of {} processors: newer ones had overwritten them before sonde "
                 "could copy them; use a larger --flight",
                 path, kept.late, data_.kept_records->rings()),
             Weight::Answer);
    next_dump_ = std::max(next_dump_, data_.record_time()); // triggers during the dump do not count
    const bool is_whole = !file->failure();
    if (is_whole) {
        keep_newest(request_.file, request_.files, request_.total);
        ring_->clear();
    } else { // the events stay, so that the next recording has them
        warn(fmt::format("the recording is incomplete: {}", file->failure()->message), Weight::Answer);
    }
    if (!is_lazy())
        return;
    if (is_whole)
        data_.kept_records->settle();
    begin_block(now_ns());
}

Result<void> Recorder::close_flight(const SessionEnd& end) {
    const int64_t time = data_.record_time();
    if (end.status != 0 && time >= next_dump_)
        write_dump(fmt::format("the session ended with status {}", end.status), time);
    if (dumps_ == 0) {
        ring_->end_block(now_ns());
        const KeptRecords::Counts kept =
            is_lazy() ? data_.kept_records->read(oldest_of(time), time) : KeptRecords::Counts();
        say(fmt::format("no recording was written, because nothing asked for one: {} events were kept, and {} older "
                        "ones had been overwritten",
                        kept.kept + ring_->events(), kept.overwritten + ring_->dropped()));
    }
    if (omitted_dumps_)
        warn(fmt::format("{} calls of dump() wrote nothing: less than a second before, a recording had been written",
                         omitted_dumps_),
             Weight::Answer);
    return {};
}

} // namespace

Result<Sinks> make_recorder(SessionData& data, Output& /*output*/, const RecordingRequest& request) {
    return request.file.empty() ? Sinks() : one_sink(std::make_unique<Recorder>(data, request));
}

} // namespace sonde
