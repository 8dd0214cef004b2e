// The command line of a check is `sonde -p2 OPTIONS PATH`, so options mean the same in both. Only the text comes from
// the editor instead of the file.
#include "driver/lsp/script.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fd.h"
#include "driver/rpc/worker.h"
#include "frontend/parse/parser.h"
#include "frontend/sema/sema.h"
#include "runtime/text/messages.h"
#include "stdlib/stdlib.h"

namespace sonde::lsp {
namespace {

constexpr std::string_view unsaved = "/untitled.stp";

std::string path_of(const Document& document) {
    const std::string path = path_of_uri(document.uri);
    return path.empty() || path.ends_with(".sonde") ? std::string(unsaved) : path;
}

std::string without_prefix(const std::string& text, std::string_view prefix) {
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

// Pass 1, with the text of the document as the script.
Result<void> parse_document(Script& script, const Document& document) {
    set_warnings_off(script.options.translate.warnings_off);
    // The script is not read from its file. The file may not exist, or it may be a pipe.
    Texts positional = std::exchange(script.options.translate.positional, {});
    Result<UserTexts> texts = read_user_texts(script.options);
    script.options.translate.positional = std::move(positional);
    if (!texts)
        return std::move(texts).error();
    texts->script = document.text.bytes();
    if (const std::string& folder = script.options.driver.sysroot; !folder.empty()) {
        Result<std::unique_ptr<Sysroot>> entered = Sysroot::enter(folder);
        if (!entered)
            return std::move(entered).error();
        script.sysroot = *std::move(entered);
        script.t.sysroot = script.sysroot.get();
    }
    return parse(script.t, script.options, *std::move(texts));
}

bool is_of_library(const Document& document, const Setting& setting) {
    return !setting.library_folder.empty() && path_of_uri(document.uri).starts_with(setting.library_folder + "/");
}

} // namespace

Result<Options> read_options(const std::vector<std::string>& words, const std::string& path) {
    const auto rest = std::ranges::find(words, "--");
    std::vector<std::string> line = {"sonde", "-p2"};
    line.insert(line.end(), words.begin(), rest);
    line.push_back(path);
    line.insert(line.end(), rest, words.end());
    std::vector<char*> argv;
    for (std::string& word : line)
        argv.push_back(word.data());
    const rpc::CapturedErrors said;
    std::variant<Options, int> read = read_command_line(static_cast<int>(argv.size()), argv.data());
    Options* options = std::get_if<Options>(&read);
    if (!options) {
        std::string message = without_prefix(said.text(), "ERROR: ");
        message.erase(message.find_last_not_of('\n') + 1);
        return Error(message.empty() ? "the options ask for something else than a check" : message);
    }
    const Translate& translate = options->translate;
    if (translate.has_script || !translate.tool.empty() || translate.positional.empty() ||
        translate.positional[0] != path || options->driver.list || options->driver.inventory != Inventory::None ||
        !options->driver.why.empty() || !options->driver.from.empty() || options->driver.relink)
        return Error(fmt::format("expected options for a script in the editor, got `{}`", fmt::join(words, " ")));
    return std::move(*options);
}

Result<std::unique_ptr<Script>> open_script(const Document& document, const Setting& setting) {
    Result<Options> options = read_options(setting.words, path_of(document));
    if (!options)
        return std::move(options).error();
    auto out = std::make_unique<Script>(*std::move(options));
    out->is_library = is_of_library(document, setting);
    out->t.parse_options.privileged |= out->is_library;
    if (Result<void> parsed = parse_document(*out, document); !parsed)
        return std::move(parsed).error();
    CHECK(!out->t.files.empty());
    out->tree = out->t.files[0];
    out->file = out->tree->id;
    Diagnostics ignored(out->t.sources);
    out->tokens = lex(out->file, out->t.sources, out->t.parse_options.args, ignored);
    return out;
}

Result<std::unique_ptr<Script>> open_for_listing(const Document& document, const Setting& setting,
                                                 bool with_variables) {
    Result<Options> options = read_options(setting.words, path_of(document));
    if (!options)
        return std::move(options).error();
    options->translate.warnings_off = true;
    options->driver.list = true;
    options->driver.list_variables = with_variables;
    auto out = std::make_unique<Script>(*std::move(options));
    if (Result<void> parsed = parse_document(*out, document); !parsed)
        return std::move(parsed).error();
    Translation& t = out->t;
    t.parse_options.args.assign(out->options.translate.positional.begin() + 1, out->options.translate.positional.end());
    out->file = t.sources.add(path_of(document), document.text.bytes());
    Diagnostics ignored(t.sources);
    out->tree = parse_file(out->file, t.sources, t.parse_options, t.arena, ignored);
    t.files.insert(t.files.begin(), out->tree);
    return out;
}

std::vector<std::string> list_quietly(Script& script, const std::string& points, bool with_variables) {
    Translation& t = script.t;
    Diagnostics ignored(t.sources);
    const FileId file = t.sources.add("<input>", points);
    const std::vector<ast::ProbePoint*> parsed = parse_probe_points(file, t.sources, t.parse_options, t.arena, ignored);
    return ignored.has_errors() ? std::vector<std::string>()
                                : list_points(parsed, with_variables, t.files, *t.library, t.env, t.arena, ignored);
}

Result<void> write_library(const std::string& folder) {
    for (const StdlibFile& file : stdlib_files())
        if (Result<void> written = write_file(fmt::format("{}/{}", folder, file.name), file.text, 0444); !written)
            return written;
    return {};
}

const Text& Places::text_of(FileId file) {
    if (file == script_.file)
        return document_.text;
    const auto found = texts_.find(file);
    return found != texts_.end() ? found->second
                                 : texts_.emplace(file, Text(std::string(script_.t.sources.text(file)))).first->second;
}

Json Places::range(Range range) {
    const Text& text = text_of(range.file);
    return to_json(text.position(range.begin), text.position(range.end));
}

Json Places::location(Range range) {
    if (!range.valid())
        return nullptr;
    std::string uri = document_.uri;
    if (!is_in_document(range)) {
        const std::string name(script_.t.sources.name(range.file));
        const auto is_built_in = [&](const StdlibFile& file) { return file.name == name; };
        std::error_code ignored;
        if (std::ranges::any_of(stdlib_files(), is_built_in))
            uri = uri_of_path(fmt::format("{}/{}", setting_.library_folder, name));
        else if (!name.starts_with('<'))
            uri = uri_of_path(std::filesystem::absolute(name, ignored).lexically_normal());
        else
            return nullptr;
    }
    return {{"uri", uri}, {"range", this->range(range)}};
}

} // namespace sonde::lsp
