// textDocument/documentSymbol: the outline of a script.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/lsp/features.h"
#include "driver/lsp/names.h"

namespace sonde::lsp {
namespace {

// SymbolKind of the protocol.
enum class SymbolKind { Interface = 11, Function = 12, Variable = 13, Constant = 14, Event = 24 };

struct Symbol {
    std::string name, detail;
    SymbolKind kind;
    Range range, selection;
};

std::string points_text(const std::vector<ast::ProbePoint*>& points) {
    std::vector<std::string> texts;
    for (const ast::ProbePoint* point : points)
        texts.push_back(ast::to_source(*point));
    return fmt::format("{}", fmt::join(texts, ", "));
}

Range points_range(const std::vector<ast::ProbePoint*>& points) {
    return Range::join(points.front()->range, points.back()->range);
}

std::vector<Symbol> find_symbols(Script& script) {
    std::vector<Symbol> out;
    const ast::File& tree = *script.tree;
    for (const ast::Global* global : tree.globals)
        out.push_back({global->name, "global", SymbolKind::Variable, global->range, global->range});
    for (const ast::Function* function : tree.functions)
        out.push_back(
            {function->name, signature_of(*function), SymbolKind::Function, function->range, function->name_range});
    for (const ast::Alias* alias : tree.aliases)
        out.push_back({points_text(alias->names), "= " + points_text(alias->points), SymbolKind::Interface,
                       alias->range, points_range(alias->names)});
    for (const ast::Probe* probe : tree.probes)
        out.push_back(
            {"probe " + points_text(probe->points), "", SymbolKind::Event, probe->range, points_range(probe->points)});
    const NameIndex index(script);
    for (const Name& name : index.names())
        if (name.kind == NameKind::Macro && !name.is_elsewhere)
            for (Range range : name.declarations)
                out.push_back({"@" + name.name, "macro", SymbolKind::Constant, range, range});
    // A macro that produces a declaration gives all its parts the macro's own place.
    for (Symbol& symbol : out)
        if (symbol.selection.begin < symbol.range.begin || symbol.selection.end > symbol.range.end)
            symbol.range = Range::join(symbol.range, symbol.selection);
    std::ranges::stable_sort(out, {}, [](const Symbol& one) { return one.range.begin; });
    return out;
}

} // namespace

Answer answer_document_symbols(const Request& request) {
    Result<std::unique_ptr<Script>> script = open_script(request.document, request.setting);
    if (!script)
        return Failure{ErrorCode::RequestFailed, script.error().message};
    Places places(**script, request.document, request.setting);
    Json out = Json::array();
    for (const Symbol& symbol : find_symbols(**script))
        out.push_back({{"name", symbol.name},
                       {"detail", symbol.detail},
                       {"kind", static_cast<int>(symbol.kind)},
                       {"range", places.range(symbol.range)},
                       {"selectionRange", places.range(symbol.selection)}});
    return out;
}

} // namespace sonde::lsp
