#include "runtime/sinks/pictures/picture_sinks.h"

#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/fd.h"
#include "runtime/sinks/pictures/heatmap.h"
#include "runtime/sinks/pictures/pictures.h"
#include "runtime/sinks/pictures/profile_pusher.h"
#include "runtime/sinks/pictures/timeline.h"
#include "runtime/text/messages.h"
#include "runtime/text/output.h"
#include "runtime/values/histogram.h"
#include "runtime/values/session_data.h"

namespace sonde {
namespace {

using Hurry = std::function<bool()>;

// Creates the file at the start, so that an unwritable path is reported early.
Result<void> try_file(const PictureRequest& request) {
    return request.file == "-" || request.is_pushed() ? Result<void>() : write_file(request.file, "");
}

// A picture of an array's stacks, drawn at the session's end.
class StackPicture final : public Sink {
  public:
    StackPicture(SessionData& data, Output& output, size_t global, PictureRequest request, HttpSettings push,
                 std::shared_ptr<const FoldedWeights> base)
        : data_(data), output_(output), global_(global), request_(std::move(request)), push_(std::move(push)),
          base_(std::move(base)) {}

    Result<void> open() override {
        data_.pictured.insert(global_);
        return try_file(request_);
    }
    Result<void> finish(const Hurry& hurry) override {
        return draw_picture(data_.plan, data_.symbolizer(), data_.numbers, global_, data_.arrays[global_]->snapshot(),
                            request_, base_.get(),
                            {push_, hurry, [&](const std::string& text) { output_.write(text); }, data_.real_time});
    }

  private:
    SessionData& data_;
    Output& output_;
    const size_t global_;
    const PictureRequest request_;
    const HttpSettings push_;
    const std::shared_ptr<const FoldedWeights> base_; // null: no comparison
};

// --pprof-interval: pushes profiles during the session.
class PushedProfiles final : public Sink {
  public:
    PushedProfiles(SessionData& data, std::unique_ptr<ProfilePusher> pusher)
        : data_(data), pusher_(std::move(pusher)) {}

    Result<void> open() override {
        data_.pictured.insert(pusher_->global());
        return {};
    }
    int64_t until_turn(int64_t now) const override { return pusher_->until_push(now); }
    bool turn(int64_t now, bool /*handlers_follow*/) override {
        if (pusher_->until_push(now) == 0)
            pusher_->push(data_.symbolizer(), data_.numbers, elements(), now);
        return false;
    }
    Result<void> finish(const Hurry& hurry) override {
        return pusher_->finish(data_.symbolizer(), data_.numbers, elements(), hurry);
    }

  private:
    std::vector<ArrayElement> elements() const { return data_.arrays[pusher_->global()]->snapshot(); }

    SessionData& data_;
    const std::unique_ptr<ProfilePusher> pusher_;
};

// --heatmap.
class HeatmapFile final : public Sink {
  public:
    HeatmapFile(SessionData& data, Output& output, size_t global, PictureRequest request)
        : data_(data), output_(output), request_(std::move(request)), heatmap_(data.plan, global, data.now()) {}

    Result<void> open() override { return try_file(request_); }
    int64_t until_turn(int64_t now) const override { return heatmap_.until_look(now); }
    // Host handlers may delete values, so read the statistic before they run.
    bool turn(int64_t now, bool handlers_follow) override {
        if (!handlers_follow && heatmap_.until_look(now) > 0)
            return false;
        const plan::Global& global = data_.plan.globals[heatmap_.global()];
        if (global.keys.empty())
            heatmap_.look(now, {{0, "", std::string(data_.scalar(global), plan::stats_bytes(global.stats))}});
        else
            heatmap_.look(now, data_.arrays[heatmap_.global()]->snapshot());
        return false;
    }
    Result<void> finish(const Hurry& /*hurry*/) override {
        const std::string& file = request_.file;
        if (heatmap_.values() == 0)
            warn(fmt::format("--heatmap: `{}` has no values{}", data_.plan.globals[heatmap_.global()].name,
                             file == "-" ? "" : fmt::format(", and {} is empty", file)),
                 Weight::Answer);
        else if (file == "-")
            output_.write(heatmap_.text());
        else
            return write_file(file, file.ends_with(".svg") ? heatmap_.svg() : heatmap_.html());
        return {};
    }

  private:
    SessionData& data_;
    Output& output_;
    const PictureRequest request_;
    Heatmap heatmap_;
};

// --timeline.
class TimelineSink final : public Sink {
  public:
    explicit TimelineSink(std::unique_ptr<Timeline> timeline) : timeline_(std::move(timeline)) {}

    void record(const plan::RecordHeader& header, std::span<const uint8_t> payload) override {
        timeline_->add(header, payload);
    }
    int64_t until_turn(int64_t now) const override { return timeline_->until_sample(now); }
    bool turn(int64_t now, bool /*handlers_follow*/) override {
        timeline_->sample(now);
        return false;
    }
    Result<void> close(const SessionEnd& end) override {
        return timeline_->finish(end.accounting.count(Loss::Records));
    }

  private:
    const std::unique_ptr<Timeline> timeline_;
};

// Reads the folded file that flame graphs are compared with.
Result<std::shared_ptr<const FoldedWeights>> read_base(const std::string& path) {
    Result<std::string> text = read_file(path);
    if (!text)
        return std::move(text).error();
    Result<FoldedWeights> parsed = parse_folded(*text);
    if (!parsed)
        return Error(fmt::format("{}: {}", path, parsed.error().message));
    return std::shared_ptr<const FoldedWeights>(std::make_shared<FoldedWeights>(*std::move(parsed)));
}

// Creates the sink for a picture.
Result<std::unique_ptr<Sink>> make_one(SessionData& data, Output& output, const PictureRequest& request,
                                       const PictureSettings& settings, std::shared_ptr<const FoldedWeights> base) {
    if (request.kind == PictureRequest::Timeline) {
        Result<std::unique_ptr<Timeline>> timeline = Timeline::start(data, request.file);
        if (!timeline)
            return std::move(timeline).error();
        return std::unique_ptr<Sink>(std::make_unique<TimelineSink>(*std::move(timeline)));
    }
    Result<size_t> global = find_pictured(data.plan, request);
    if (!global)
        return std::move(global).error();
    if (request.kind == PictureRequest::Heatmap) {
        if (const plan::Global& found = data.plan.globals[*global]; !plan::keeps_distribution(found.stats))
            return Error(fmt::format("--heatmap: the plan was saved without --heatmap, and `{}` has no histogram; save "
                                     "the plan again with --heatmap",
                                     found.name));
        return std::unique_ptr<Sink>(std::make_unique<HeatmapFile>(data, output, *global, request));
    }
    if (!request.is_pushed() || settings.push_interval_s <= 0)
        return std::unique_ptr<Sink>(
            std::make_unique<StackPicture>(data, output, *global, request, settings.push, std::move(base)));
    Result<std::unique_ptr<ProfilePusher>> pusher = ProfilePusher::start(
        data.plan, *global, request.target, settings.push, std::llround(settings.push_interval_s * 1e9));
    if (!pusher)
        return std::move(pusher).error();
    return std::unique_ptr<Sink>(std::make_unique<PushedProfiles>(data, *std::move(pusher)));
}

} // namespace

Result<Sinks> make_picture_sinks(SessionData& data, Output& output, const PictureSettings& settings) {
    std::shared_ptr<const FoldedWeights> base;
    if (!settings.flame_base.empty()) {
        Result<std::shared_ptr<const FoldedWeights>> read = read_base(settings.flame_base);
        if (!read)
            return std::move(read).error();
        base = *std::move(read);
    }
    Sinks out;
    for (const PictureRequest& request : settings.pictures) {
        Result<std::unique_ptr<Sink>> sink = make_one(data, output, request, settings, base);
        if (!sink)
            return std::move(sink).error();
        out.push_back(*std::move(sink));
    }
    return out;
}

} // namespace sonde
