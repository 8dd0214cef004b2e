// textDocument/definition and textDocument/references.
#include <utility>
#include <variant>

#include "driver/lsp/features.h"
#include "driver/lsp/names.h"

namespace sonde::lsp {
namespace {

// Calls `answer` with the name at the request's position. The result is null where no name is.
template <typename Function> Answer with_name(const Request& request, Function&& answer) {
    std::variant<ScriptPosition, Failure> opened = open_at_position(request);
    if (const Failure* failure = std::get_if<Failure>(&opened))
        return *failure;
    const auto& [script, offset] = std::get<ScriptPosition>(opened);
    const NameIndex index(*script);
    const Name* name = index.at(offset);
    Places places(*script, request.document, request.setting);
    return name ? answer(*name, places) : Json();
}

} // namespace

Answer answer_definition(const Request& request) {
    return with_name(request, [](const Name& name, Places& places) {
        Json out = Json::array();
        for (Range range : name.declarations)
            if (Json location = places.location(range); !location.is_null())
                out.push_back(std::move(location));
        return out;
    });
}

Answer answer_references(const Request& request) {
    const Json* context = find_member(request.params, "context");
    const Json* wanted = context ? find_member(*context, "includeDeclaration") : nullptr;
    const bool with_declarations = !wanted || *wanted == true;
    return with_name(request, [&](const Name& name, Places& places) {
        Json out = Json::array();
        if (with_declarations)
            for (Range range : name.declarations)
                if (Json location = places.location(range); !places.is_in_document(range) && !location.is_null())
                    out.push_back(std::move(location));
        for (const Occurrence& one : name.occurrences)
            if (with_declarations || !one.is_declaration)
                out.push_back(places.location(one.range));
        return out;
    });
}

} // namespace sonde::lsp
