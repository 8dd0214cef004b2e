#include "frontend/tapset/inventory.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/tapset/tags.h"

namespace sonde {
namespace {

std::string_view name_of(ast::DeclaredType type) {
    switch (type) {
    case ast::DeclaredType::Long:
        return "long";
    case ast::DeclaredType::String:
        return "string";
    case ast::DeclaredType::None:
        break;
    }
    return "unknown";
}

bool is_public(std::string_view name) { return !name.starts_with("_"); }

std::vector<std::string> sorted(std::vector<std::string> lines) {
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    return lines;
}

} // namespace

std::vector<std::string> describe_functions(Library& library, bool all) {
    FunctionTags tags(library);
    std::map<std::string, std::string> found; // of functions with the same signature, keep the first
    for (const ast::File* file : library.files())
        for (const ast::Function* function : file->functions) {
            if (function->is_private || (!all && !is_public(function->name)))
                continue;
            std::vector<std::string> params;
            for (const ast::Parameter& param : function->params)
                params.push_back(fmt::format("{}:{}", param.name, name_of(param.type)));
            found.emplace(fmt::format("{}:{} ({})", function->name, name_of(function->result), fmt::join(params, ", ")),
                          tags.of(*function, all));
        }
    std::vector<std::string> lines;
    for (const auto& [signature, tags_of_it] : found)
        lines.push_back(signature + tags_of_it);
    return sorted(std::move(lines));
}

std::vector<std::string> describe_aliases(Library& library) {
    std::vector<std::string> lines;
    for (const ast::File* file : library.files())
        for (const ast::Alias* alias : file->aliases) {
            std::vector<std::string> points;
            for (const ast::ProbePoint* point : alias->points)
                points.push_back(ast::to_source(*point));
            for (const ast::ProbePoint* name : alias->names)
                if (std::string text = ast::to_source(*name); is_public(text))
                    lines.push_back(fmt::format("{} = {}", text, fmt::join(points, ", ")));
        }
    return sorted(std::move(lines));
}

} // namespace sonde
