// The preprocessor. Macros expand before conditionals are evaluated; a skipped branch is only lexed.
#include "frontend/parse/preprocess.h"

#include <fnmatch.h>

#include <cstdlib>
#include <map>
#include <optional>

#include <fmt/format.h>

#include <string.h>

namespace sonde {
namespace {

struct Macro {
    std::vector<std::string> params;
    bool has_params = false;
    std::vector<Token> body;
    Range range;
};

class Preprocessor {
  public:
    Preprocessor(const ParseOptions& options, Diagnostics& diags) : options_(options), diags_(diags) {}

    std::vector<Token> run(std::vector<Token> tokens) {
        std::vector<Token> expanded;
        expand(tokens, 0, tokens.size() - 1, expanded, 0, nullptr);
        expanded.push_back(tokens.back());
        return expanded;
    }

  private:
    using Bindings = std::map<std::string, std::vector<Token>>;

    // Expands tokens [from, to) into out. `depth` bounds macros in macros; `bindings` are a macro body's parameters.
    void expand(const std::vector<Token>& in, size_t from, size_t to, std::vector<Token>& out, int depth,
                const Bindings* bindings) {
        for (size_t i = from; i < to && !too_much_; i++) {
            const Token& token = in[i];
            if (out.size() > max_preprocessed_tokens) {
                diags_.report(DiagId::Syntax, token.range, "macro expansion gives too many tokens");
                too_much_ = true;
                return;
            }
            if (token.kind == TokenKind::Identifier && token.text == "@define") {
                i = define(in, i, to);
            } else if (token.is("%(")) {
                i = conditional(in, i, to, out, depth, bindings);
            } else if (token.kind == TokenKind::Identifier && token.text[0] == '@') {
                i = macro_use(in, i, to, out, depth, bindings);
            } else {
                out.push_back(token);
            }
        }
    }

    // Index of the matching `%)` for the `%(` at `open`, or `to`. Fills in where the top-level %? and %: are.
    static size_t matching(const std::vector<Token>& in, size_t open, size_t to,
                           std::optional<size_t>* then_at = nullptr, std::optional<size_t>* else_at = nullptr) {
        int depth = 0;
        for (size_t i = open; i < to; i++) {
            if (in[i].is("%("))
                depth++;
            else if (in[i].is("%)") && --depth == 0)
                return i;
            else if (depth == 1 && in[i].is("%?") && then_at)
                *then_at = i;
            else if (depth == 1 && in[i].is("%:") && else_at)
                *else_at = i;
        }
        return to;
    }

    size_t define(const std::vector<Token>& in, size_t at, size_t to) {
        size_t i = at + 1;
        if (i >= to || in[i].kind != TokenKind::Identifier) {
            diags_.report(DiagId::Syntax, in[at].range, "expected a name after `@define`");
            return at;
        }
        std::string name = in[i].text;
        Macro macro;
        macro.range = in[i].range;
        i++;
        if (i < to && in[i].is("(")) {
            macro.has_params = true;
            for (i++; i < to && !in[i].is(")"); i++)
                if (in[i].kind == TokenKind::Identifier)
                    macro.params.push_back(in[i].text);
            i++;
        }
        if (i >= to || !in[i].is("%(")) {
            diags_.report(DiagId::Syntax, macro.range, fmt::format("expected `%( body %)` behind `@define {}`", name));
            return i >= to ? to - 1 : i;
        }
        size_t close = matching(in, i, to);
        if (close == to) {
            diags_.report(DiagId::Syntax, in[i].range, "`%(` has no `%)`");
            return to - 1;
        }
        macro.body.assign(in.begin() + static_cast<ptrdiff_t>(i) + 1, in.begin() + static_cast<ptrdiff_t>(close));
        if (auto [old, fresh] = macros_.try_emplace(name, macro); !fresh)
            diags_.report(DiagId::Redefinition, macro.range, fmt::format("macro `@{}` is defined twice", name))
                .note(old->second.range, "first here");
        return close;
    }

    size_t macro_use(const std::vector<Token>& in, size_t at, size_t to, std::vector<Token>& out, int depth,
                     const Bindings* bindings) {
        std::string name = in[at].text.substr(1);
        if (bindings) {
            if (auto bound = bindings->find(name); bound != bindings->end()) {
                out.insert(out.end(), bound->second.begin(), bound->second.end());
                return at;
            }
        }
        auto found = macros_.find(name);
        if (found == macros_.end()) {
            out.push_back(in[at]);
            return at;
        }
        const Macro& macro = found->second;
        if (depth > 100) {
            diags_.report(DiagId::Syntax, in[at].range, fmt::format("macro `@{}` expands into itself", name));
            too_much_ = true;
            return at;
        }
        Bindings inner;
        size_t last = at;
        if (macro.has_params)
            last = arguments(in, at, to, macro, inner, depth, bindings);
        std::vector<Token> body;
        expand(macro.body, 0, macro.body.size(), body, depth + 1, &inner);
        out.insert(out.end(), body.begin(), body.end());
        return last;
    }

    size_t arguments(const std::vector<Token>& in, size_t at, size_t to, const Macro& macro, Bindings& inner, int depth,
                     const Bindings* bindings) {
        size_t i = at + 1;
        std::vector<std::vector<Token>> args;
        if (i < to && in[i].is("(")) {
            int nesting = 0;
            size_t start = i + 1;
            for (; i < to; i++) {
                if (in[i].is("(") || in[i].is("["))
                    nesting++;
                else if (in[i].is(")") || in[i].is("]"))
                    nesting--;
                if ((nesting == 1 && in[i].is(",")) || nesting == 0) {
                    args.emplace_back();
                    expand(in, start, i, args.back(), depth + 1, bindings);
                    start = i + 1;
                }
                if (nesting == 0)
                    break;
            }
            if (macro.params.empty() && args.size() == 1 && args[0].empty())
                args.clear();
        } else {
            i = at;
        }
        if (args.size() != macro.params.size())
            diags_
                .report(
                    DiagId::Arity, in[at].range,
                    fmt::format("macro `{}` takes {} arguments, not {}", in[at].text, macro.params.size(), args.size()))
                .note(macro.range, "defined here");
        for (size_t n = 0; n < macro.params.size(); n++)
            inner[macro.params[n]] = n < args.size() ? args[n] : std::vector<Token>{};
        return i;
    }

    size_t conditional(const std::vector<Token>& in, size_t at, size_t to, std::vector<Token>& out, int depth,
                       const Bindings* bindings) {
        std::optional<size_t> then_at, else_at;
        size_t close = matching(in, at, to, &then_at, &else_at);
        if (close == to || !then_at) {
            diags_.report(DiagId::Syntax, in[at].range, close == to ? "`%(` has no `%)`" : "`%(` has no `%?`");
            return close == to ? to - 1 : close;
        }
        std::vector<Token> condition;
        expand(in, at + 1, *then_at, condition, depth + 1, bindings);
        bool value = evaluate(condition, in[at].range);
        size_t middle = else_at.value_or(close);
        if (value)
            expand(in, *then_at + 1, middle, out, depth, bindings);
        else if (else_at)
            expand(in, *else_at + 1, close, out, depth, bindings);
        return close;
    }

    // c && c || c, where c is `operand operator operand`; && binds tighter.
    bool evaluate(const std::vector<Token>& tokens, Range range) {
        bool any = false, all = true;
        size_t i = 0;
        while (true) {
            if (i + 3 > tokens.size()) {
                diags_.report(DiagId::Syntax, range, "expected `operand operator operand` as a condition");
                return false;
            }
            all = compare(tokens[i], tokens[i + 1], tokens[i + 2]) && all;
            i += 3;
            if (i == tokens.size())
                return any || all;
            if (tokens[i].is("||")) {
                any = any || all;
                all = true;
            } else if (!tokens[i].is("&&")) {
                diags_.report(DiagId::Syntax, tokens[i].range,
                              fmt::format("expected `&&`, `||` or `%?`, got `{}`", tokens[i].text));
                return false;
            }
            i++;
        }
    }

    static bool holds(std::string_view op, int order) {
        return op == "=="   ? order == 0
               : op == "!=" ? order != 0
               : op == "<"  ? order < 0
               : op == "<=" ? order <= 0
               : op == ">"  ? order > 0
                            : order >= 0;
    }

    bool compare(const Token& left, const Token& op, const Token& right) {
        bool equality = op.is("==") || op.is("!=");
        if (!equality && !op.is("<") && !op.is("<=") && !op.is(">") && !op.is(">=")) {
            diags_.report(DiagId::Syntax, op.range, fmt::format("expected a comparison, got `{}`", op.text));
            return false;
        }
        if (left.kind == TokenKind::Number && right.kind == TokenKind::Number)
            return holds(op.text, left.number < right.number ? -1 : left.number > right.number);
        std::optional<std::string> value = operand(left);
        std::string wanted = right.kind == TokenKind::Identifier && right.text.starts_with("CONFIG_")
                                 ? operand(right).value_or("")
                                 : right.text;
        if (!value) {
            diags_
                .report(DiagId::Syntax, left.range, fmt::format("`{}` is nothing that a condition can ask", left.text))
                .help("kernel_v, kernel_vr, systemtap_v, arch, runtime, systemtap_privilege, guru_mode, CONFIG_*");
            return false;
        }
        bool pattern = wanted.find_first_of("*?[") != std::string::npos;
        if (equality && pattern)
            return (fnmatch(wanted.c_str(), value->c_str(), 0) == 0) == op.is("==");
        if (pattern)
            diags_.report(DiagId::Syntax, right.range, fmt::format("`{}` does not go with a pattern", op.text))
                .help("use `==` or `!=`");
        return holds(op.text, strverscmp(value->c_str(), wanted.c_str()));
    }

    std::optional<std::string> operand(const Token& token) const {
        if (token.kind == TokenKind::String || token.kind == TokenKind::Number)
            return token.text;
        const std::string& name = token.text;
        if (name == "kernel_v")
            return options_.kernel_release.substr(0, options_.kernel_release.find('-'));
        if (name == "kernel_vr")
            return options_.kernel_release;
        if (name == "systemtap_v")
            return "5.6";
        if (name == "arch")
            return options_.arch;
        if (name == "runtime")
            return "bpf";
        if (name == "systemtap_privilege")
            return "stapdev";
        if (name == "guru_mode")
            return options_.guru ? "1" : "0";
        if (name.starts_with("CONFIG_")) {
            auto found = options_.kernel_config.find(name);
            return found == options_.kernel_config.end() ? "" : found->second;
        }
        return std::nullopt;
    }

    const ParseOptions& options_;
    Diagnostics& diags_;
    std::map<std::string, Macro> macros_;
    bool too_much_ = false;
};

} // namespace

std::vector<Token> preprocess(std::vector<Token> tokens, const ParseOptions& options, Diagnostics& diags) {
    bool any = false;
    for (const Token& token : tokens)
        any = any || token.is("%(") || (token.kind == TokenKind::Identifier && token.text == "@define");
    return any ? Preprocessor(options, diags).run(std::move(tokens)) : tokens;
}

} // namespace sonde
