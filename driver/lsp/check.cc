// A message of the command line consists of a place, a text, notes and helps. Here, notes with a place become related
// information, and everything else is part of the text. If the place is in another file, as in a library file of -I,
// the message is shown at the first note in the document, or at its beginning.
#include "driver/lsp/check.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/diag.h"
#include "driver/confine.h"
#include "driver/foreign.h"
#include "driver/lsp/fixes.h"
#include "driver/memory_left.h"
#include "driver/rpc/worker.h"
#include "frontend/hir/hir.h"
#include "frontend/sema/sema.h"

namespace sonde::lsp {
namespace {

constexpr int error_severity = 1, warning_severity = 2;

// A message without a place.
Json plain_message(int severity, const std::string& text) {
    return {{"range", to_json(Position(), Position())}, {"severity", severity}, {"source", "sonde"}, {"message", text}};
}

// Messages on standard error, which are not diagnostics of the script: for example, a folder of -I does not exist.
void add_other_messages(Json& diagnostics, const std::string& said) {
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);)
        for (const auto& [prefix, severity] : {std::pair<std::string_view, int>("ERROR: ", error_severity),
                                               std::pair<std::string_view, int>("WARNING: ", warning_severity)})
            if (line.starts_with(prefix))
                diagnostics.push_back(plain_message(severity, line.substr(prefix.size())));
}

Range shown_range(const Diagnostic& diag, const Places& places) {
    if (places.is_in_document(diag.range))
        return diag.range;
    for (const DiagNote& note : diag.notes)
        if (places.is_in_document(note.range))
            return note.range;
    return {};
}

Json to_lsp(const Diagnostic& diag, const Script& script, Places& places) {
    std::string message = diag.message;
    Json related = Json::array();
    const auto relate = [&](Range range, const std::string& text) {
        Json location = places.location(range);
        if (location.is_null())
            return false;
        related.push_back({{"location", std::move(location)}, {"message", text}});
        return true;
    };
    if (diag.range.valid() && !places.is_in_document(diag.range) && !relate(diag.range, diag.message))
        message += fmt::format("\nnote: at {}", script.t.sources.place(diag.range));
    for (const DiagNote& note : diag.notes)
        if (!relate(note.range, note.text))
            message += "\nnote: " + note.text;
    for (const std::string& help : diag.helps)
        message += "\nhelp: " + help;
    const Range shown = shown_range(diag, places);
    Json out = {{"range", shown.valid() ? places.range(shown) : to_json(Position(), Position())},
                {"severity", diag.severity == Severity::Error ? error_severity : warning_severity},
                {"code", diag_name(diag.id)},
                {"source", "sonde"},
                {"message", message},
                {"relatedInformation", std::move(related)}};
    if (std::optional<Fix> fix = find_fix(diag, script))
        out["data"]["fixes"] = Json::array(
            {{{"title", fix->title}, {"range", places.range(fix->range)}, {"newText", std::move(fix->text)}}});
    return out;
}

std::string_view name_of(hir::ValueType type) {
    switch (type) {
    case hir::ValueType::Long:
        return "long";
    case hir::ValueType::String:
        return "string";
    case hir::ValueType::Stats:
        return "statistic";
    case hir::ValueType::Void:
    case hir::ValueType::Unknown:
        break;
    }
    return "";
}

std::string type_of(const hir::Global& global) {
    std::vector<std::string_view> keys;
    for (hir::ValueType key : global.keys)
        keys.push_back(name_of(key));
    return keys.empty() ? std::string(name_of(global.type))
                        : fmt::format("{}[{}]", name_of(global.type), fmt::join(keys, ", "));
}

Json types_of(const hir::Program& program, const Script& script) {
    Json out = Json::object();
    const auto add = [&](Range range, std::string type) {
        if (range.file == script.file && !type.empty())
            out[std::to_string(range.begin)] = std::move(type);
    };
    const auto add_locals = [&](const std::vector<hir::Local*>& locals) {
        for (const hir::Local* local : locals)
            if (local->name.find('.') == std::string::npos) // other names are the compiler's
                add(local->range, std::string(name_of(local->type)));
    };
    for (const hir::Global* global : program.globals)
        add(global->range, type_of(*global));
    for (const hir::Function* function : program.functions) {
        add(function->range, std::string(name_of(function->result)));
        add_locals(function->params);
        add_locals(function->locals);
    }
    for (const hir::Handler* handler : program.handlers)
        add_locals(handler->locals);
    return out;
}

// All members exist from the beginning: adding one would move the others, and references to them would dangle.
Json empty_result() {
    return {{"diagnostics", Json::array()}, {"types", Json::object()}, {"points", Json::array()}, {"point_count", 0}};
}

constexpr size_t most_points = 100;

void add_points(const hir::Program& program, Json& out) {
    size_t count = 0;
    for (const hir::Handler* handler : program.handlers)
        for (const plan::Point& point : handler->points)
            if (count++ < most_points)
                out["points"].push_back(point.pp);
    out["point_count"] = count;
}

// --confine. Returns whether nothing was refused.
bool add_refusals(const std::vector<Refusal>& refusals, Places& places, Json& diagnostics) {
    for (const Refusal& refusal : refusals) {
        Json one = plain_message(error_severity, refusal.message);
        one["code"] = "not-permitted";
        if (places.is_in_document(refusal.range))
            one["range"] = places.range(refusal.range);
        diagnostics.push_back(std::move(one));
    }
    return refusals.empty();
}

// Passes 1 and 2, as main() runs them.
void run_passes(Script& script, Places& places, Json& out) {
    Translation& t = script.t;
    const Options& options = script.options;
    Json& diagnostics = out["diagnostics"];
    const auto report = [&](const Diagnostics& diags) {
        for (const Diagnostic& diag : diags.all())
            diagnostics.push_back(to_lsp(diag, script, places));
    };
    if (t.diags.has_errors()) {
        Diagnostics diags(t.sources);
        if (const std::optional<ForeignScript> foreign = recognize_foreign(t, options, diags)) {
            report(diags);
            if (foreign->translation && !diagnostics.empty())
                diagnostics[0]["data"]["fixes"] = Json::array(
                    {{{"title", "Translate to sonde's language"},
                      {"range",
                       places.range({script.file, 0, static_cast<uint32_t>(t.sources.text(script.file).size())})},
                      {"newText", foreign->translation->script}}});
            return;
        }
    }
    t.diags.say_held();
    const Result<Policies> policies = read_confinement(options);
    if (!policies)
        diagnostics.push_back(plain_message(error_severity, policies.error().message));
    const bool is_confined = policies && !policies->empty();
    if (policies && !t.diags.has_errors() &&
        (!is_confined || add_refusals(find_refused_headers(t.files), places, diagnostics)))
        if (const hir::Program* program = analyze(t.files, *t.library, t.env, options.translate, t.arena, t.diags)) {
            out["types"] = types_of(*program, script);
            add_points(*program, out);
            if (is_confined)
                add_refusals(find_refusals(*program, t.sources, *policies), places, diagnostics);
        }
    report(t.diags);
    for (const std::string& refused : t.env.refused_debug_information())
        diagnostics.push_back(plain_message(warning_severity, refused));
}

} // namespace

Json check(const Document& document, const Setting& setting) {
    Json out = empty_result();
    const rpc::CapturedErrors said;
    if (Result<void> enough = check_memory(); !enough)
        return failed_check(enough.error().message);
    Result<std::unique_ptr<Script>> script = open_script(document, setting);
    if (!script)
        return failed_check(script.error().message);
    // The built-in library is correct. As a script, it would not be: only the library may declare primitives.
    if (!(*script)->is_library) {
        Places places(**script, document, setting);
        run_passes(**script, places, out);
    }
    add_other_messages(out["diagnostics"], said.text());
    return out;
}

Json failed_check(const std::string& message) {
    Json out = empty_result();
    out["diagnostics"].push_back(plain_message(error_severity, message));
    return out;
}

} // namespace sonde::lsp
