// Recordings with changed events, whose blocks have valid checksums: a replay refuses them, or shows what fits the
// plan. A crash ends the whole program, which tests/run_unit reports.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/fd.h"
#include "runtime/plan/plan_file.h"
#include "runtime/sinks/printing.h"
#include "runtime/sinks/recording/event_reader.h"
#include "runtime/sinks/recording/recording_file.h"
#include "runtime/sinks/recording/replay.h"

namespace sonde {
namespace {

class Silence {
  public:
    Silence() : kept_(dup(STDERR_FILENO)) { dup2(Fd(open("/dev/null", O_WRONLY | O_CLOEXEC)).get(), STDERR_FILENO); }
    ~Silence() { dup2(kept_.get(), STDERR_FILENO); }
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;

  private:
    const Fd kept_;
};

class RecordingMutants : public testing::Test {
  protected:
    using Events = std::vector<std::pair<Event, std::string>>;
    ~RecordingMutants() override { std::filesystem::remove_all(folder_); }

    // The events of a session of the built sonde.
    Events record() {
        std::filesystem::create_directories(folder_);
        const std::string command = fmt::format(
            "{}/../../sonde record --lossy-ok -o {} -e 'global a, s, n probe timer.ms(1) {{ a[n % 7, \"x\"] <<< n s "
            "<<< n "
            "printf(\"%d %s %p %5.2s\\n\", n, pp(), n, \"abc\") print(@hist_log(s)) print_ustack(\"0x1234 0x5678\") "
            "if (n++ > 30) exit() }}' 2>/dev/null",
            SONDE_TRIGGERS, path());
        EXPECT_EQ(std::system(command.c_str()), 0) << command;
        Events out;
        Result<std::unique_ptr<RecordingReader>> reader = RecordingReader::open(path());
        if (!reader)
            return out;
        while (const std::optional<RecordingReader::Item> item = (*reader)->next())
            out.emplace_back(item->kind, item->bytes);
        EXPECT_EQ((*reader)->damage(), "");
        return out;
    }
    // Returns the statuses of replays in all formats; 1 for an error.
    std::vector<int> show(const Events& events) {
        write(events);
        std::vector<int> out;
        for (const OutputFormat format : {OutputFormat::Text, OutputFormat::Json, OutputFormat::Csv}) {
            ReplayOptions options;
            options.output.path = "/dev/null";
            const Result<int> status = replay(path(), options, [format](SessionData& data, Output& to) {
                PrintSettings settings;
                settings.format = format;
                return make_print_sinks(data, to, settings);
            });
            out.push_back(status ? *status : 1);
        }
        return out;
    }
    // Reads the events as a script does. Returns how many there are.
    size_t read(const Events& events) {
        write(events);
        size_t out = 0;
        Result<std::unique_ptr<EventReader>> reader = EventReader::open(path(), {});
        if (!reader)
            return 0;
        for (; const RecordedEvent* event = (*reader)->next(); out++) {
            EXPECT_EQ(event->all_values().empty(), event->names.empty());
        }
        return out;
    }
    void write(const Events& events) {
        std::filesystem::create_directories(folder_);
        Result<std::unique_ptr<RecordingWriter>> writer = RecordingWriter::create(path());
        EXPECT_TRUE(writer.ok());
        for (const auto& [kind, bytes] : events)
            (*writer)->add(kind, bytes);
        (*writer)->flush();
    }
    std::string path() const { return folder_ + "/a.rec"; }
    const std::string folder_ =
        fmt::format("{}/recording_mutants.{}", std::filesystem::temp_directory_path().string(), getpid());
};

TEST_F(RecordingMutants, AreShownOrRefused) {
    const Silence silence;
    const Events whole = record();
    ASSERT_GT(whole.size(), 50u);
    ASSERT_EQ(show(whole), std::vector<int>(3, 0));
    const size_t all = read(whole);
    ASSERT_GT(all, 30u);
    size_t fewer = 0;
    std::mt19937_64 random(4);
    int refused = 0;
    for (int i = 0; i < 100; i++) {
        Events mutant = whole;
        // The plan has mutants of its own (plan_mutants_test.cc).
        auto& [kind, bytes] = mutant[2 + random() % (mutant.size() - 2)];
        switch (random() % 4) {
        case 0:
            bytes.resize(random() % (bytes.size() + 1));
            break;
        case 1:
            kind = static_cast<Event>(1 + random() % static_cast<uint8_t>(Event::Last));
            break;
        default:
            if (!bytes.empty())
                for (uint64_t more = random() % 3 + 1; more > 0; more--)
                    bytes[random() % bytes.size()] = static_cast<char>(random());
        }
        for (const int status : show(mutant))
            refused += status == 3;
        fewer += read(mutant) < all;
    }
    EXPECT_GT(fewer, 10u);
    EXPECT_GT(refused, 30);
}

// The time must not grow with the square of the number of columns.
TEST_F(RecordingMutants, MillionColumns) {
    for (const bool have_same_name : {false, true}) {
        const size_t columns = have_same_name ? 100'000 : 1'000'000;
        plan::Plan plan;
        plan::Format format;
        for (size_t i = 0; i < columns; i++) {
            plan::Directive& one = format.directives.emplace_back();
            one.kind = plan::Directive::Integer;
            one.conversion = 'd';
            one.name = have_same_name ? "$x" : fmt::format("$x{}", i);
        }
        plan.formats.push_back(std::move(format));
        plan::Point point;
        point.pp = point.pn = point.function = "f";
        plan.rows.push_back(point);
        plan.probes.emplace_back().points.push_back(point);
        const std::vector<uint8_t> bytes = plan::save(plan);
        std::string record;
        const plan::RecordHeader header{plan::Print, 0, 0, static_cast<uint32_t>(8 * columns)};
        record.append(reinterpret_cast<const char*>(&header), sizeof header);
        for (int64_t i = 0; i < static_cast<int64_t>(columns); i++)
            record.append(reinterpret_cast<const char*>(&i), sizeof i);
        write({{Event::About, "{}"},
               {Event::Plan, {bytes.begin(), bytes.end()}},
               {Event::Print, record},
               {Event::Dump, "why"}});
        Result<std::unique_ptr<EventReader>> reader = EventReader::open(path(), {});
        ASSERT_TRUE(reader.ok()) << reader.error().message;
        const plan::RecordedPoint& read = (*reader)->points().points.at(0);
        EXPECT_EQ(read.events, 1u);
        EXPECT_EQ(read.values.size(), columns);
        EXPECT_EQ(read.values[columns - 1].name,
                  have_same_name ? fmt::format("$x#{}", columns) : fmt::format("$x{}", columns - 1));
        const RecordedEvent* event = (*reader)->next();
        ASSERT_TRUE(event);
        EXPECT_EQ(event->values.at(read.values[columns - 1].name).number, static_cast<int64_t>(columns) - 1);
        EXPECT_FALSE((*reader)->next());
    }
}

} // namespace
} // namespace sonde
