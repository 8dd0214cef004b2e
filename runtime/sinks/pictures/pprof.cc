#include "runtime/sinks/pictures/pprof.h"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "base/protobuf.h"
#include "runtime/plan/stack.h"
#include "runtime/sinks/metrics/families.h"
#include "runtime/sinks/metrics/open_metrics.h"
#include "runtime/symbols/symbolizer.h"
#include "runtime/values/array_values.h"

namespace sonde {
namespace {

// Field numbers of profile.proto.
enum ProfileField : uint32_t {
    SampleType = 1,
    Sample,
    Mapping,
    Location,
    Function,
    StringTable,
    TimeNanos = 9,
    DurationNanos
};
enum ValueTypeField : uint32_t { Type = 1, Unit };
enum SampleField : uint32_t { LocationIds = 1, Values, Labels };
enum LabelField : uint32_t { Key = 1, Text, Number };
enum MappingField : uint32_t { MappingId = 1, FileName = 5, BuildId, HasFunctions, HasFilenames, HasLines, HasInlined };
enum LocationField : uint32_t { LocationId = 1, OfMapping, Address, Lines };
enum LineField : uint32_t { OfFunction = 1, Line };
enum FunctionField : uint32_t { FunctionId = 1, Name, SystemName, SourceFile };

// Builds a profile. Strings, mappings, functions and locations are stored once and referred to by their numbers.
class Profile {
  public:
    explicit Profile(Symbolizer& symbols) : symbols_(symbols) { text(""); } // index 0 must be the empty string

    uint64_t text(const std::string& text) {
        const auto [at, is_new] = texts_.try_emplace(text, texts_.size());
        if (is_new)
            all_texts_.push_back(valid_utf8(text)); // readers reject a profile that contains invalid UTF-8
        return at->second;
    }

    void value_type(const std::string& name, const std::string& unit) {
        profile_.message(SampleType, ProtobufMessage().number(Type, text(name)).number(Unit, text(unit)));
    }

    // Returns the number of the location for an address. The frames are those of inlined functions, innermost first,
    // then the function that contains the address.
    uint64_t location(const Frame* first, const Frame* last) {
        const auto [at, is_new] =
            locations_.try_emplace({last->address, last->file, last->function}, locations_.size() + 1);
        if (!is_new)
            return at->second;
        ProtobufMessage out;
        out.number(LocationId, at->second);
        out.number(OfMapping, mapping(*last));
        if (!last->language)
            out.number(Address, last->address);
        for (const Frame* frame = first; frame <= last; frame++) {
            const size_t colon = frame->source.rfind(':');
            const std::string source = frame->source.substr(0, colon);
            ProtobufMessage line;
            line.number(OfFunction, function(frame->language ? frame->function : frame_name(*frame), source));
            if (colon != std::string::npos)
                line.number(Line, std::strtoull(frame->source.c_str() + colon + 1, nullptr, 10));
            out.message(Lines, line);
        }
        profile_.message(Location, out);
        return at->second;
    }

    void sample(const ProtobufMessage& sample) { profile_.message(Sample, sample); }

    std::string bytes(int64_t time_ns, int64_t duration_ns) {
        profile_.number(TimeNanos, static_cast<uint64_t>(time_ns));
        if (duration_ns > 0)
            profile_.number(DurationNanos, static_cast<uint64_t>(duration_ns));
        for (const std::string& text : all_texts_)
            profile_.text(StringTable, text);
        return profile_.bytes();
    }

  private:
    uint64_t mapping(const Frame& frame) {
        const std::string file = frame.language       ? fmt::format("[{}]", frame.language)
                                 : frame.is_kernel    ? "[kernel.kallsyms]"
                                 : frame.file.empty() ? "[anon]"
                                                      : frame.file;
        const auto [at, is_new] = mappings_.try_emplace(file, mappings_.size() + 1);
        if (!is_new)
            return at->second;
        ProtobufMessage out;
        out.number(MappingId, at->second).number(FileName, text(file));
        if (!frame.language && frame.file.starts_with('/'))
            out.number(BuildId, text(symbols_.text(frame.process, frame.address, SONDE_SYMBOL_BUILD_ID)));
        for (const uint32_t has : {HasFunctions, HasFilenames, HasLines, HasInlined})
            out.number(has, 1);
        profile_.message(Mapping, out);
        return at->second;
    }

    uint64_t function(const std::string& name, const std::string& source) {
        const auto [at, is_new] = functions_.try_emplace({name, source}, functions_.size() + 1);
        if (is_new)
            profile_.message(Function, ProtobufMessage()
                                           .number(FunctionId, at->second)
                                           .number(Name, text(name))
                                           .number(SystemName, text(name))
                                           .number(SourceFile, text(source)));
        return at->second;
    }

    Symbolizer& symbols_;
    ProtobufMessage profile_;
    std::map<std::string, uint64_t> texts_, mappings_;
    std::vector<std::string> all_texts_;
    std::map<std::tuple<uint64_t, std::string, std::string>, uint64_t> locations_;
    std::map<std::pair<std::string, std::string>, uint64_t> functions_;
};

Result<std::string> gzip(const std::string& bytes) {
    constexpr int window = 15, gzip_header = 16, memory = 8;
    z_stream stream{};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window + gzip_header, memory, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return Error("no memory to compress the profile");
    std::string out(deflateBound(&stream, bytes.size()), 0);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int done = deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return done == Z_STREAM_END ? Result<std::string>(std::move(out)) : Error("the profile cannot be compressed");
}

// pprof wants the innermost function first, so the kernel's part comes before the user's.
std::vector<Frame> stack_of(const plan::Global& global, Symbolizer& symbols, const ProcessNumbers& numbers,
                            const std::vector<KeyValue>& key) {
    std::vector<Frame> out;
    for (const plan::KeyRole role : {plan::KeyRole::KernelStack, plan::KeyRole::UserStack})
        for (size_t i = 0; i < key.size(); i++)
            if (global.keys[i].role == role)
                for (Frame& frame : frames_of(symbols, process_of(global, key, numbers), key[i], true))
                    out.push_back(std::move(frame));
    return out;
}

} // namespace

// In a stack, the frames of inlined functions come just before the function that contains their code. Such a group of
// frames has one address and becomes one location. For example, `min` inlined into `work`, which `main` calls, gives
// two locations: the first has the lines of `min` and `work`, the second that of `main`.
Result<std::string> pprof_profile(const plan::Plan& plan, Symbolizer& symbols, const ProcessNumbers& numbers,
                                  const plan::Global& global, const std::vector<ArrayElement>& elements,
                                  int64_t time_ns, int64_t duration_ns) {
    Profile profile(symbols);
    const bool is_statistic = global.type == plan::Value::Stats;
    profile.value_type(is_statistic ? global.name + "_count" : global.name, "count");
    if (is_statistic)
        profile.value_type(global.name, "count"); // the unit is known only to the script
    for (const ArrayElement& element : elements) {
        const std::vector<KeyValue> key = key_values(plan, global, element);
        ProtobufMessage sample;
        const std::vector<Frame> frames = stack_of(global, symbols, numbers, key);
        for (size_t first = 0, last = 0; last < frames.size(); first = ++last) {
            while (last + 1 < frames.size() && frames[last].is_inlined)
                last++;
            sample.number(LocationIds, profile.location(&frames[first], &frames[last]));
        }
        if (is_statistic) {
            const Statistic statistic = statistic_of(global.stats, element.payload.data());
            sample.number(Values, statistic.block.count).number(Values, static_cast<uint64_t>(statistic.block.sum));
        } else {
            uint64_t number = 0;
            std::memcpy(&number, element.payload.data(), sizeof number);
            sample.number(Values, number);
        }
        for (size_t i = 0; i < key.size(); i++) {
            if (is_stack(global.keys[i].role))
                continue;
            ProtobufMessage label;
            label.number(Key, profile.text(label_name(
                                  i < global.labels.size() ? global.labels[i] : name_of_key(global, i), "key")));
            if (key[i].is_text)
                label.number(Text, profile.text(key[i].text));
            else
                label.number(Number, static_cast<uint64_t>(key[i].number));
            sample.message(SampleField::Labels, label);
        }
        profile.sample(sample);
    }
    return gzip(profile.bytes(time_ns, duration_ns));
}

} // namespace sonde
