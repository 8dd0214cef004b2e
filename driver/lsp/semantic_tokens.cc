// textDocument/semanticTokens/full: the colors of names, keywords, literals and comments.
//
// Most colors come from the tokens of the text. The index knows the kind of each name. Comments are not tokens, so they
// are found in the gaps between tokens.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

#include "driver/lsp/features.h"
#include "driver/lsp/names.h"

namespace sonde::lsp {
namespace {

// The order is that of the numbers in the answer.
enum class Color : uint8_t {
    Keyword,
    String,
    Number,
    Operator,
    Comment,
    Function,
    Variable,
    Parameter,
    Macro,
    Event,
    Property
};
constexpr std::string_view color_names[] = {"keyword",  "string",    "number", "operator", "comment", "function",
                                            "variable", "parameter", "macro",  "event",    "property"};
// Modifiers are bits: bit 0 is the first name.
constexpr uint32_t declaration = 1, of_library = 2, global = 4;
constexpr std::string_view modifier_names[] = {"declaration", "defaultLibrary", "static"};

struct Colored {
    size_t begin, end;
    Color color;
    uint32_t modifiers = 0;
};

Color color_of(NameKind kind) {
    switch (kind) {
    case NameKind::Function:
        return Color::Function;
    case NameKind::Global:
    case NameKind::Local:
        return Color::Variable;
    case NameKind::Parameter:
        return Color::Parameter;
    case NameKind::Alias:
        return Color::Event;
    case NameKind::Macro:
        break;
    }
    return Color::Macro;
}

// Whether the word is a built-in function, which has no declaration.
bool is_print(std::string_view word) {
    constexpr std::string_view names[] = {"print", "println", "printd", "printdln", "printf"};
    return std::ranges::find(names, word.starts_with('s') ? word.substr(1) : word) != std::end(names);
}

void add_comments(std::vector<Colored>& out, std::string_view text, size_t begin, size_t end) {
    for (size_t i = begin; i < end;) {
        const std::string_view rest = text.substr(i, end - i);
        const bool is_block = rest.starts_with("/*");
        if (!is_block && rest[0] != '#' && !rest.starts_with("//")) {
            i++;
            continue;
        }
        const size_t close = rest.find(is_block ? "*/" : "\n", is_block ? 2 : 0);
        const size_t length = close == std::string_view::npos ? rest.size() : close + (is_block ? 2 : 0);
        out.push_back({i, i + length, Color::Comment});
        i += std::max<size_t>(length, 1);
    }
}

// Whether tokens [from, to) of a point lie in one of the ranges.
bool is_in(const std::vector<Range>& ranges, Range range) {
    return std::ranges::any_of(ranges, [&](Range one) { return one.begin <= range.begin && range.end <= one.end; });
}

std::vector<Range> ranges_of_points(const ast::File& tree) {
    std::vector<Range> out;
    const auto add = [&](const std::vector<ast::ProbePoint*>& points) {
        for (const ast::ProbePoint* point : points)
            for (const ast::PointComponent& component : point->components)
                out.push_back(component.range);
    };
    for (const ast::Probe* probe : tree.probes)
        add(probe->points);
    for (const ast::Alias* alias : tree.aliases) {
        add(alias->names);
        add(alias->points);
    }
    return out;
}

std::vector<Colored> find_colors(Script& script) {
    const NameIndex index(script);
    const std::vector<Range> points = ranges_of_points(*script.tree);
    const std::string_view text = script.t.sources.text(script.file);
    std::vector<Colored> out;
    size_t end = 0;
    for (size_t i = 0; i < script.tokens.size(); i++) {
        const Token& token = script.tokens[i];
        if (token.range.begin < end) // another token of a script argument
            continue;
        add_comments(out, text, end, token.range.begin);
        end = token.range.end;
        const auto add = [&](Color color, uint32_t modifiers = 0) {
            out.push_back({token.range.begin, token.range.end, color, modifiers});
        };
        switch (token.kind) {
        case TokenKind::Keyword:
            add(Color::Keyword);
            break;
        case TokenKind::String:
            add(Color::String);
            break;
        case TokenKind::Number:
            add(Color::Number);
            break;
        case TokenKind::Operator:
            add(Color::Operator);
            break;
        case TokenKind::Identifier: {
            const bool is_member = i > 0 && script.tokens[i - 1].is("->");
            const Name* name = is_member ? nullptr : index.at(token.range.begin + (token.text[0] == '@' ? 1 : 0));
            const Occurrence* one =
                name ? index.occurrence_at(token.range.begin + (token.text[0] == '@' ? 1 : 0)) : nullptr;
            if (is_member)
                add(Color::Property);
            else if (one && one->range.end >= token.range.end)
                add(color_of(name->kind), (one->is_declaration ? declaration : 0) |
                                              (name->is_elsewhere ? of_library : 0) |
                                              (name->kind == NameKind::Global ? global : 0));
            else if (token.text[0] == '@')
                add(Color::Keyword); // an operator
            else if (token.text[0] == '$')
                add(Color::Property); // of the traced program
            else if (is_print(token.text))
                add(Color::Function, of_library);
            else if (is_in(points, token.range))
                add(Color::Event);
            break;
        }
        case TokenKind::Embedded:
        case TokenKind::Comment:
        case TokenKind::End:
            break;
        }
    }
    add_comments(out, text, end, text.size());
    return out;
}

// Encodes as the protocol wants it: five numbers for each piece, relative to the piece before. No piece crosses a line.
Json encode(const std::vector<Colored>& colors, const Text& text) {
    Json out = Json::array();
    Position last;
    const std::string& bytes = text.bytes();
    for (const Colored& one : colors)
        for (size_t begin = one.begin; begin < one.end;) {
            const size_t end = std::min(bytes.find_first_of("\r\n", begin), one.end);
            const Position from = text.position(begin), to = text.position(end);
            if (end > begin) {
                out.push_back(from.line - last.line);
                out.push_back(from.line == last.line ? from.character - last.character : from.character);
                out.push_back(to.character - from.character);
                out.push_back(static_cast<int>(one.color));
                out.push_back(one.modifiers);
                last = from;
            }
            begin = end + 1;
        }
    return out;
}

} // namespace

Json semantic_tokens_option() {
    Json types = Json::array(), modifiers = Json::array();
    for (std::string_view name : color_names)
        types.push_back(name);
    for (std::string_view name : modifier_names)
        modifiers.push_back(name);
    return {{"legend", {{"tokenTypes", std::move(types)}, {"tokenModifiers", std::move(modifiers)}}}, {"full", true}};
}

Answer answer_semantic_tokens(const Request& request) {
    Result<std::unique_ptr<Script>> script = open_script(request.document, request.setting);
    if (!script)
        return Failure{ErrorCode::RequestFailed, script.error().message};
    return Json{{"data", encode(find_colors(**script), request.document.text)}};
}

} // namespace sonde::lsp
