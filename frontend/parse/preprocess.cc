// The preprocessor: expands macros and evaluates conditionals, both on tokens.
//
//     @define is_read(name) %( @name == "read" %)
//     %( kernel_v >= "6.1" %? probe begin { if (@is_read(pn())) exit() } %: probe never {} %)
//
// Macros are expanded in the order of the text, including those in the condition of a conditional. The branch that is
// not taken must consist of valid tokens, and these are dropped. So it need not be valid for this kernel or this
// version of the language.
//
// A macro that uses itself, or that doubles itself, must not hang the compiler. So every expansion counts against
// max_macro_tokens, and nesting against max_macro_depth.
//
// A macro has the form of an operator (`@name`), and a name that is not a macro remains for the parser. Inside of a
// macro's body, its parameters hide macros with the same name.
#include "frontend/parse/preprocess.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include <string.h>

#include "base/glob.h"
#include "base/suggest.h"

namespace sonde {
namespace {

class Preprocessor {
  public:
    Preprocessor(const ParseOptions& options, Diagnostics& diags, MacroTable& own)
        : options_(options), diags_(diags), own_(own) {}

    std::vector<Token> run(const std::vector<Token>& tokens) {
        std::vector<Token> out;
        out.reserve(tokens.size());
        expand(tokens, 0, tokens.size() - 1, out, 0, nullptr);
        out.push_back(tokens.back());
        return out;
    }

  private:
    using Bindings = std::map<std::string, std::vector<Token>, std::less<>>;

    // Expands the tokens [from, to) into `out`. `bindings` are the parameters of the macro whose body this is; null
    // outside of macros.
    // Each function below gets the index of the token that it handles, and returns the index of the last token that it
    // has used.
    void expand(const std::vector<Token>& in, size_t from, size_t to, std::vector<Token>& out, int depth,
                const Bindings* bindings) {
        for (size_t i = from; i < to && !stopped_; i++) {
            const Token& token = in[i];
            if (token.is("%("))
                i = conditional(in, i, to, out, depth, bindings);
            else if (token.kind != TokenKind::Identifier || token.text[0] != '@')
                out.push_back(token);
            else if (token.text == "@define")
                i = define(in, i, to);
            else
                i = macro_use(in, i, to, out, depth, bindings);
        }
    }

    // ---- limits

    // Whether a limit is exceeded; the first time, this is reported.
    bool too_deep(int depth, Range range) {
        if (depth > max_macro_depth)
            stop(range, fmt::format("macros and conditionals are nested more than {} deep", max_macro_depth));
        return stopped_;
    }

    // Counts tokens that an expansion produces. Returns false if there are too many in the whole file.
    bool spend(size_t tokens, Range range) {
        spent_ += tokens;
        if (spent_ > max_macro_tokens)
            stop(range, fmt::format("macros produce more than {} tokens", max_macro_tokens));
        return !stopped_;
    }

    void stop(Range range, const std::string& message) {
        if (!stopped_)
            diags_.report(DiagId::Syntax, range, message);
        stopped_ = true;
    }

    // ---- macros

    // Returns the index of the `%)` that closes the `%(` at `open`, or `to`. Appends the indices of the `%?` and `%:`
    // on this level to `marks`.
    static size_t matching(const std::vector<Token>& in, size_t open, size_t to, std::vector<size_t>* marks = nullptr) {
        int depth = 0;
        for (size_t i = open; i < to; i++) {
            if (in[i].is("%("))
                depth++;
            else if (in[i].is("%)") && --depth == 0)
                return i;
            else if (depth == 1 && marks && (in[i].is("%?") || in[i].is("%:")))
                marks->push_back(i);
        }
        return to;
    }

    // Reads `@define` and returns the index of the definition's last token.
    size_t define(const std::vector<Token>& in, size_t at, size_t to) {
        size_t i = at + 1;
        auto got = [&](std::string_view what) {
            if (i < to)
                diags_.report(DiagId::Syntax, in[i].range, fmt::format("expected {}, got `{}`", what, in[i].text));
            else
                diags_.report(DiagId::Syntax, in[at].range, fmt::format("expected {}, got the end of the text", what));
            return i < to ? i - 1 : to - 1;
        };
        auto is_name = [&] {
            return i < to && (in[i].kind == TokenKind::Identifier || in[i].kind == TokenKind::Keyword) &&
                   in[i].text[0] != '@' && in[i].text[0] != '$';
        };
        if (!is_name())
            return got("a macro's name after `@define`");
        std::string name = in[i].text;
        Macro macro;
        macro.range = in[i++].range;
        if (i < to && in[i].is("(")) {
            macro.has_params = true;
            do {
                i++;
                if (macro.params.empty() && i < to && in[i].is(")"))
                    break;
                if (!is_name())
                    return got("a macro parameter's name");
                if (std::find(macro.params.begin(), macro.params.end(), in[i].text) != macro.params.end())
                    diags_.report(DiagId::BadDeclaration, in[i].range,
                                  fmt::format("the parameter `{}` is declared twice", in[i].text));
                macro.params.push_back(in[i++].text);
            } while (i < to && in[i].is(","));
            if (i >= to || !in[i].is(")"))
                return got("`)` after the macro's parameters");
            i++;
        }
        if (i >= to || !in[i].is("%("))
            return got(fmt::format("`%( body %)` after `@define {}`", name));
        size_t close = matching(in, i, to);
        if (close == to) {
            diags_.report(DiagId::Syntax, in[i].range, "`%(` has no `%)`");
            return to - 1;
        }
        for (size_t k = i + 1; k < close; k++)
            if (in[k].kind == TokenKind::Identifier && in[k].text == "@define")
                diags_.report(DiagId::Syntax, in[k].range, "a macro cannot define a macro");
            else
                macro.body.push_back(in[k]);
        if (std::find(std::begin(ast::at_operators), std::end(ast::at_operators), name) != std::end(ast::at_operators))
            diags_
                .report(DiagId::ShadowedOperator, macro.range,
                        fmt::format("macro `@{}` hides the operator of that name", name))
                .help("give the macro another name");
        if (auto [old, fresh] = own_.macros.try_emplace(name, macro); !fresh)
            diags_.report(DiagId::Redefinition, macro.range, fmt::format("macro `@{}` is defined twice", name))
                .note(old->second.range, "first here");
        return close;
    }

    // The file's own macros hide those of the library.
    const Macro* find_macro(std::string_view name) const {
        if (auto found = own_.macros.find(name); found != own_.macros.end())
            return &found->second;
        if (!options_.macros)
            return nullptr;
        auto found = options_.macros->macros.find(name);
        return found == options_.macros->macros.end() ? nullptr : &found->second;
    }

    // Expands a macro and returns the index of the last token of the use. Keeps a name that is not a macro: it is an
    // operator, or a later pass reports it. With `@define twice(x) %( @x + @x %)`, the use `@twice(3)` becomes `3 + 3`.
    // Like in C, nothing adds parentheses, so `2 * @twice(3)` is 9.
    size_t macro_use(const std::vector<Token>& in, size_t at, size_t to, std::vector<Token>& out, int depth,
                     const Bindings* bindings) {
        const Token& use = in[at];
        std::string_view name = std::string_view(use.text).substr(1);
        if (bindings) {
            if (auto bound = bindings->find(name); bound != bindings->end()) {
                if (spend(bound->second.size() + 1, use.range))
                    out.insert(out.end(), bound->second.begin(), bound->second.end());
                return at;
            }
        }
        const Macro* macro = find_macro(name);
        if (!macro) {
            out.push_back(use);
            return at;
        }
        if (too_deep(depth + 1, use.range) || !spend(macro->body.size() + 1, use.range))
            return at;
        Bindings inner;
        size_t last = macro->has_params ? arguments(in, at, to, *macro, inner, depth, bindings) : at;
        std::vector<Token> body = macro->body;
        // In messages, the tokens of the body have the position of the macro's use, which the user can see.
        for (Token& token : body) {
            token.range = use.range;
            token.on_line = false;
        }
        expand(body, 0, body.size(), out, depth + 1, &inner);
        return last;
    }

    // Binds the arguments. Returns the index of the `)`, or `at` if the macro is used without arguments.
    // Arguments are expanded before they are bound. They are separated by commas that are not in parentheses or
    // brackets.
    size_t arguments(const std::vector<Token>& in, size_t at, size_t to, const Macro& macro, Bindings& inner, int depth,
                     const Bindings* bindings) {
        size_t i = at;
        std::vector<std::vector<Token>> args;
        if (at + 1 < to && in[at + 1].is("(")) {
            int nesting = 0;
            size_t start = at + 2;
            for (i = at + 1; i < to; i++) {
                if (in[i].is("(") || in[i].is("["))
                    nesting++;
                else if (in[i].is(")") || in[i].is("]"))
                    nesting--;
                if (nesting > 0 && !(nesting == 1 && in[i].is(",")))
                    continue;
                if (nesting == 0 || in[i].is(",")) {
                    std::vector<Token>& arg = args.emplace_back();
                    expand(in, start, i, arg, depth + 1, bindings);
                    if (!spend(arg.size() + 1, in[at].range))
                        return i;
                    start = i + 1;
                }
                if (nesting == 0)
                    break;
            }
            if (i == to) {
                diags_.report(DiagId::Syntax, in[at + 1].range,
                              fmt::format("`(` has no `)` in the use of macro `{}`", in[at].text));
                return to - 1;
            }
            if (macro.params.empty() && args.size() == 1 && args[0].empty())
                args.clear();
        }
        if (args.size() != macro.params.size())
            diags_
                .report(DiagId::Arity, in[at].range,
                        fmt::format("macro `{}` takes {} argument{}, not {}", in[at].text, macro.params.size(),
                                    macro.params.size() == 1 ? "" : "s", args.size()))
                .note(macro.range, "defined here");
        for (size_t n = 0; n < macro.params.size(); n++)
            inner[macro.params[n]] = n < args.size() ? std::move(args[n]) : std::vector<Token>{};
        return i;
    }

    // ---- conditionals

    // Evaluates a conditional, expands the branch that is taken, and returns the index of the `%)`.
    size_t conditional(const std::vector<Token>& in, size_t at, size_t to, std::vector<Token>& out, int depth,
                       const Bindings* bindings) {
        if (too_deep(depth + 1, in[at].range))
            return at;
        std::vector<size_t> marks; // the indices of `%?` and, if present, `%:`
        size_t close = matching(in, at, to, &marks);
        if (close == to || marks.empty() || !in[marks[0]].is("%?")) {
            diags_.report(DiagId::Syntax, in[at].range, close == to ? "`%(` has no `%)`" : "`%(` has no `%?`");
            return close == to ? to - 1 : close;
        }
        bool has_else = marks.size() > 1 && in[marks[1]].is("%:");
        if (size_t taken = has_else ? 2 : 1; marks.size() > taken) {
            const Token& extra = in[marks[taken]];
            diags_.report(DiagId::Syntax, extra.range, fmt::format("`%(` has a second `{}`", extra.text))
                .note(in[at].range, "opened here");
        }
        std::vector<Token> condition;
        expand(in, at + 1, marks[0], condition, depth + 1, bindings);
        if (stopped_)
            return close;
        if (evaluate(condition, in[at].range))
            expand(in, marks[0] + 1, marks.size() > 1 ? marks[1] : close, out, depth + 1, bindings);
        else if (has_else)
            expand(in, marks[1] + 1, marks.size() > 2 ? marks[2] : close, out, depth + 1, bindings);
        return close;
    }

    // Evaluates `c && c || c`, where each c is `operand operator operand`; `&&` binds tighter.
    bool evaluate(const std::vector<Token>& tokens, Range range) {
        for (const Token& token : tokens)
            report_missing_argument(token, options_.args.size(), diags_);
        bool any = false, all = true;
        size_t i = 0;
        auto operand = [&]() -> std::optional<Token> {
            bool negative = i + 1 < tokens.size() && tokens[i].is("-") && tokens[i + 1].kind == TokenKind::Number;
            i += negative;
            if (i >= tokens.size())
                return std::nullopt;
            Token token = tokens[i++];
            if (negative) {
                token.number = static_cast<int64_t>(0 - static_cast<uint64_t>(token.number));
                token.text = "-" + token.text;
            }
            return token;
        };
        // `any` is the result of the operands of `||` so far, `all` that of the current operand, which is a list of
        // `&&`.
        while (true) {
            std::optional<Token> left = operand(), op = left ? operand() : left, right = op ? operand() : op;
            if (!right) {
                Range where = tokens.empty() ? range : Range::join(tokens.front().range, tokens.back().range);
                diags_.report(DiagId::Syntax, where, "expected `operand operator operand` as a condition");
                return false;
            }
            all = compare(*left, *op, *right) && all;
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

    // Whether the comparison holds for operands in this order (negative: the left one is less).
    static bool holds(std::string_view op, int64_t order) {
        return op == "=="   ? order == 0
               : op == "!=" ? order != 0
               : op == "<"  ? order < 0
               : op == "<=" ? order <= 0
               : op == ">"  ? order > 0
                            : order >= 0;
    }
    static int64_t order(int64_t a, int64_t b) { return a < b ? -1 : a > b; }

    // Evaluates one comparison. Two numbers or two strings are compared directly. Otherwise the left side is a name,
    // and both sides decide how its value is compared:
    //
    //     kernel_v >= "6.10"      as versions: 6.9 is less, although it is greater as text
    //     CONFIG_HZ >= 250        as numbers
    //     CONFIG_BPF == "[ym]"    as a pattern, for `==` and `!=` only
    //     arch == "x86_64"        as words, for `==` and `!=` only
    bool compare(const Token& left, const Token& op, const Token& right) {
        bool equality = op.is("==") || op.is("!=");
        if (!equality && !op.is("<") && !op.is("<=") && !op.is(">") && !op.is(">=")) {
            diags_.report(DiagId::Syntax, op.range, fmt::format("expected a comparison, got `{}`", op.text));
            return false;
        }
        if (left.kind == TokenKind::Number && right.kind == TokenKind::Number)
            return holds(op.text, order(left.number, right.number));
        if (left.kind == TokenKind::String && right.kind == TokenKind::String)
            return holds(op.text, left.text.compare(right.text));
        if (left.kind != TokenKind::Identifier) {
            mismatch(left, right);
            return false;
        }
        std::optional<std::string> value = known(left);
        if (!value)
            return false;
        const bool is_word = left.text == "guru_mode" || left.text == "runtime" || left.text == "arch" ||
                             left.text == "systemtap_privilege" ||
                             (left.text.starts_with("CONFIG_") && right.kind == TokenKind::String);
        if (is_word && !equality) {
            diags_.report(DiagId::Syntax, op.range,
                          fmt::format("`{}` can be compared only by `==` and `!=`", left.text));
            return false;
        }
        if (left.text == "guru_mode") {
            if (right.kind != TokenKind::Number)
                mismatch(left, right);
            else if (right.text != "0" && right.text != "1")
                diags_.report(DiagId::Syntax, right.range, "`guru_mode` must be 0 or 1");
            return holds(op.text, order(options_.guru, right.number));
        }
        bool is_config = left.text.starts_with("CONFIG_");
        if (is_config && right.kind == TokenKind::Number) {
            char* end = nullptr;
            errno = 0;
            int64_t number = std::strtoll(value->c_str(), &end, 0);
            // A value that is not a number differs from every number and is neither greater nor less than one. An
            // option that is not set is 0.
            return *end || errno ? op.is("!=") : holds(op.text, order(number, right.number));
        }
        if (is_config && right.kind == TokenKind::Identifier) {
            std::optional<std::string> other = known(right);
            return other && holds(op.text, strverscmp(value->c_str(), other->c_str()));
        }
        if (right.kind != TokenKind::String) {
            mismatch(left, right);
            return false;
        }
        if (right.text.find_first_of("*?[") != std::string::npos) {
            if (equality)
                return (glob_match(right.text, *value)) == op.is("==");
            diags_.report(DiagId::Syntax, right.range, fmt::format("`{}` cannot compare with a pattern", op.text))
                .help("use `==` or `!=`");
        }
        return holds(op.text, strverscmp(value->c_str(), right.text.c_str()));
    }

    static std::string describe(const Token& token) {
        return token.kind == TokenKind::Number   ? "a number"
               : token.kind == TokenKind::String ? "a string"
                                                 : fmt::format("`{}`", token.text);
    }

    void mismatch(const Token& left, const Token& right) {
        diags_.report(DiagId::Syntax, right.range,
                      fmt::format("a condition cannot compare {} with {}", describe(left), describe(right)));
    }

    // Returns the value of a name such as `kernel_v` or `CONFIG_X`.
    std::optional<std::string> known(const Token& token) {
        const std::string& name = token.text;
        if (name.starts_with("kernel_v") && options_.kernel_release.empty()) {
            diags_
                .report(DiagId::Syntax, token.range,
                        fmt::format("`{}` is not known: types alone do not identify their kernel", name))
                .help("pass the kernel's vmlinux or vmlinuz, or its release, to -r");
            return std::nullopt;
        }
        if (name == "kernel_v")
            return options_.kernel_release.substr(0, options_.kernel_release.find('-'));
        if (name == "kernel_vr")
            return options_.kernel_release;
        if (name == "systemtap_v")
            return options_.asked_version.empty() ? options_.compatible : options_.asked_version;
        if (name == "arch")
            return options_.arch;
        if (name == "runtime")
            return "bpf";
        if (name == "systemtap_privilege")
            return "stapdev";
        if (name == "guru_mode")
            return options_.guru ? "1" : "0";
        if (name.starts_with("CONFIG_")) {
            if (!options_.kernel_config)
                return "";
            const KernelConfig& config = options_.kernel_config();
            auto found = config.find(name);
            return found == config.end() ? "" : found->second;
        }
        diags_.report(DiagId::Syntax, token.range, fmt::format("`{}` is not an operand of a condition", name))
            .suggest(nearest_name(
                name, {"kernel_v", "kernel_vr", "systemtap_v", "arch", "runtime", "systemtap_privilege", "guru_mode"}))
            .help("the operands are kernel_v, kernel_vr, systemtap_v, arch, runtime, systemtap_privilege, guru_mode "
                  "and CONFIG_*");
        return std::nullopt;
    }

    const ParseOptions& options_;
    Diagnostics& diags_;
    MacroTable& own_;
    size_t spent_ = 0;
    bool stopped_ = false; // a limit was reached; nothing more is expanded
};

// Joins string literals that became adjacent by expansion.
void join_strings(std::vector<Token>& tokens) {
    size_t kept = 0;
    for (size_t i = 0; i < tokens.size(); i++) {
        if (kept > 0 && tokens[i].kind == TokenKind::String && tokens[kept - 1].kind == TokenKind::String) {
            tokens[kept - 1].text += tokens[i].text;
            tokens[kept - 1].range = Range::join(tokens[kept - 1].range, tokens[i].range);
        } else {
            if (kept != i)
                tokens[kept] = std::move(tokens[i]);
            kept++;
        }
    }
    tokens.resize(kept);
}

} // namespace

void report_missing_argument(const Token& token, size_t given, Diagnostics& diags) {
    if (token.missing)
        diags.report(DiagId::BadArgument, token.range,
                     fmt::format("`{0}{1}`: the command line has {3} script argument{4}",
                                 token.kind == TokenKind::String ? "@" : "$", token.missing, given == 1 ? "is" : "are",
                                 given, given == 1 ? "" : "s"));
}

std::vector<Token> preprocess(std::vector<Token> tokens, const ParseOptions& options, Diagnostics& diags) {
    bool any = options.macros != nullptr;
    for (const Token& token : tokens)
        any = any || token.is("%(") || (token.kind == TokenKind::Identifier && token.text == "@define");
    if (!any)
        return tokens;
    MacroTable own;
    std::vector<Token> out = Preprocessor(options, diags, own).run(tokens);
    join_strings(out);
    return out;
}

void load_macros(FileId file, const Sources& sources, const ParseOptions& options, MacroTable& table,
                 Diagnostics& diags) {
    std::vector<Token> tokens = lex(file, sources, {}, diags);
    std::vector<Token> rest = Preprocessor(options, diags, table).run(tokens);
    if (rest.size() > 1)
        diags.report(DiagId::Syntax, rest[0].range,
                     fmt::format("expected `@define` in a library of macros, got `{}`", rest[0].text));
}

} // namespace sonde
