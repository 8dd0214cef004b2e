#include "runtime/sinks/recording/beginning.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "runtime/plan/plan_file.h"

namespace sonde {

int64_t Beginning::number(const char* name) const {
    const auto found = about.find(name);
    return found != about.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

Result<Beginning> read_beginning(RecordingReader& reader, const std::string& file) {
    Beginning out;
    std::optional<RecordingReader::Item> item = reader.next();
    if (item && item->kind == Event::About) {
        out.about = Json::parse(item->bytes, nullptr, false);
        item = reader.next();
    }
    if (!item || item->kind != Event::Plan || !out.about.is_object())
        return Error(fmt::format("`{}` has no readable beginning{}{}", file, reader.damage().empty() ? "" : ": ",
                                 reader.damage()));
    const std::string bytes(item->bytes);
    const auto machine = out.about.find("machine");
    const Architecture* recorded =
        machine != out.about.end() && machine->is_string() ? find_machine(machine->get<std::string>()) : nullptr;
    Result<plan::Plan> plan = plan::load({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                                         recorded ? *recorded : host_architecture());
    if (!plan)
        return Error(fmt::format("cannot replay `{}`: {}", file, plan.error().message));
    out.plan = *std::move(plan);
    return out;
}

} // namespace sonde
