// A message marks the wrong name, or a larger part of the script around it: `process("x").function("mian")`. The wrong
// name is the word in this range that is most similar to the suggestion, because the suggestion was chosen as the name
// most similar to it.
#include "driver/lsp/fixes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/suggest.h"
#include "base/suggestion_text.h"

namespace sonde::lsp {
namespace {

struct Word {
    std::string text;
    Range range;
};

// The names and strings in the range, as the script has them.
std::vector<Word> words_in(Range range, const Script& script) {
    std::vector<Word> out;
    const Sources& sources = script.t.sources;
    for (const Token& token : script.tokens) {
        if (token.range.begin < range.begin || token.range.end > range.end)
            continue;
        const Range inside{token.range.file, token.range.begin + 1, token.range.end - 1};
        if (token.kind == TokenKind::Identifier && sources.text(token.range) == token.text)
            out.push_back({token.text, token.range});
        else if (token.kind == TokenKind::String && sources.text(inside) == token.text)
            out.push_back({token.text, inside});
    }
    return out;
}

} // namespace

std::optional<Fix> find_fix(const Diagnostic& diag, const Script& script) {
    if (diag.range.file != script.file)
        return std::nullopt;
    std::optional<std::string> name;
    for (const std::string& help : diag.helps)
        if (std::optional<std::string> suggested = suggested_name(help))
            name = name ? std::nullopt : std::move(suggested);
    if (!name)
        return std::nullopt;
    std::vector<std::string> candidates;
    const std::vector<Word> words = words_in(diag.range, script);
    for (const Word& word : words)
        candidates.push_back(word.text);
    const std::vector<std::string> similar = nearest_names(*name, candidates, 2);
    if (similar.size() != 1 || similar[0] == *name || std::ranges::count(candidates, similar[0]) != 1)
        return std::nullopt;
    const Word& wrong = words[static_cast<size_t>(std::ranges::find(candidates, similar[0]) - candidates.begin())];
    return Fix{fmt::format("Replace `{}` by `{}`", wrong.text, *name), wrong.range, *name};
}

} // namespace sonde::lsp
