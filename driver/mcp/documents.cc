#include "driver/mcp/documents.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "driver/mcp/schema.h"
#include "driver/mcp/tool.h"
#include "driver/option_table.h"
#include "driver/reference.h"
#include "driver/tool_head.h"
#include "driver/tools.h"
#include "stdlib/stdlib.h"

namespace sonde::mcp {
namespace {

constexpr std::string_view scheme = "sonde://docs/";
constexpr size_t whole_page = 24'000;               // a longer page is shown by sections
constexpr std::string_view for_models = "llms.txt"; // always whole: that is its purpose
constexpr size_t most_rows = 20;

std::string title_of(const DocumentFile& page) {
    const std::vector<Section> sections = sections_of(page.text);
    return sections.empty() ? std::string(page.name) : std::string(sections[0].title);
}

// The name without its extension is enough.
const DocumentFile* find_page(std::string_view name) {
    const auto pages = document_files();
    const auto found = std::ranges::find_if(pages, [&](const DocumentFile& page) {
        return page.name == name || page.name.substr(0, page.name.rfind('.')) == name;
    });
    return found == pages.end() ? nullptr : &*found;
}

std::string list_sections(const DocumentFile& page) {
    std::string out;
    for (const Section& section : sections_of(page.text))
        if (section.level > 1)
            out += fmt::format("{:{}}{}#{}\n", "", 2 * (section.level - 1), page.name, section.anchor);
    return out;
}

std::string list_topics() {
    std::string out = "A topic is a page, PAGE#SECTION, a tool, an option, a function of the library, or a word of the "
                      "language. The pages:\n\n";
    for (const DocumentFile& page : document_files())
        out += fmt::format("{}: {} ({} bytes)\n", page.name, title_of(page), page.text.size());
    return out;
}

std::string show_page(const DocumentFile& page) {
    if (page.text.size() <= whole_page || page.name == for_models)
        return std::string(page.text);
    const std::vector<Section> sections = sections_of(page.text);
    const size_t intro = sections.size() < 2 ? 0 : static_cast<size_t>(sections[1].text.data() - page.text.data());
    return fmt::format("{}\nThe page has {} bytes. Its sections:\n{}", page.text.substr(0, intro), page.text.size(),
                       list_sections(page));
}

std::optional<std::string> show_section(const DocumentFile& page, const std::string& name) {
    for (const Section& section : sections_of(page.text))
        if (section.anchor == name || section.title == name)
            return std::string(section.text);
    return std::nullopt;
}

// The sentences and rows about a word, and the sections that have it in their headings.
std::optional<std::string> search(const std::string& word) {
    std::string out;
    for (const DocumentFile& page : document_files()) {
        if (page.name == "library.md" || page.name == "reference.md") {
            std::vector<std::string> found = find_in_reference(page.text, word);
            // First those that begin with the word, such as the function itself.
            std::ranges::stable_sort(found, {}, [&](const std::string& line) { return !line.starts_with(word); });
            found.resize(std::min(found.size(), most_rows));
            for (const std::string& line : found)
                out += line + "\n";
        }
    }
    const auto lower = [](std::string_view text) {
        std::string all(text);
        std::ranges::transform(all, all.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        return all;
    };
    for (const DocumentFile& page : document_files())
        for (const Section& section : sections_of(page.text))
            if (lower(section.title).find(lower(word)) != std::string::npos)
                out += fmt::format("see {}#{}\n", page.name, section.anchor);
    return out.empty() ? std::nullopt : std::optional(out);
}

// ---- the tool

Json read_docs_arguments(const Policies&) {
    return object_schema(
        {{"topic", text_schema("A page such as `llms.txt` (the whole language) or `language.md#arrays`, "
                               "a tool, an option, a function or a word of the language. Without it: "
                               "the list of pages")}});
}

Started begin_read_docs(const Json& arguments, const Policies&) {
    const std::string topic = arguments.value("topic", "");
    const std::optional<std::string> text = find_topic(topic);
    return text ? ToolResult{nullptr, *text}
                : failed(fmt::format("nothing is known about `{}`\n{}", topic, list_topics()));
}

} // namespace

std::vector<Section> sections_of(std::string_view page) {
    std::vector<Section> out;
    bool is_code = false;
    for (size_t begin = 0; begin < page.size();) {
        const std::string_view line = page.substr(begin, page.find('\n', begin) - begin);
        is_code ^= line.starts_with("```");
        const size_t level = line.find_first_not_of('#');
        if (!is_code && level != std::string_view::npos && level > 0 && line[level] == ' ') {
            Section section{static_cast<int>(level), line.substr(level + 1), page.substr(begin), {}};
            for (const char c : section.title)
                if (isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == ' ')
                    section.anchor += c == ' ' ? '-' : static_cast<char>(tolower(static_cast<unsigned char>(c)));
            // It ends the sections of its level and below.
            for (Section& before : out)
                if (before.level >= section.level &&
                    before.text.data() + before.text.size() == page.data() + page.size())
                    before.text.remove_suffix(page.size() - begin);
            out.push_back(std::move(section));
        }
        begin += line.size() + 1;
    }
    return out;
}

Json list_resources() {
    Json out = Json::array();
    for (const DocumentFile& page : document_files())
        out.push_back({{"uri", fmt::format("{}{}", scheme, page.name)},
                       {"name", page.name},
                       {"title", title_of(page)},
                       {"mimeType", page.name.ends_with(".md") ? "text/markdown" : "text/plain"},
                       {"size", page.text.size()}});
    return out;
}

std::optional<Json> read_resource(const std::string& uri) {
    const auto pages = document_files();
    const auto found = std::ranges::find_if(
        pages, [&](const DocumentFile& page) { return uri == fmt::format("{}{}", scheme, page.name); });
    if (found == pages.end())
        return std::nullopt;
    return Json::array({{{"uri", uri},
                         {"mimeType", found->name.ends_with(".md") ? "text/markdown" : "text/plain"},
                         {"text", found->text}}});
}

std::optional<std::string> find_topic(const std::string& topic) {
    if (topic.empty())
        return list_topics();
    const size_t hash = topic.find('#');
    if (const DocumentFile* page = find_page(topic.substr(0, hash)))
        return hash == std::string::npos ? show_page(*page) : show_section(*page, topic.substr(hash + 1));
    if (const std::string_view script = find_tool(topic); !script.empty())
        return describe_tool(topic, read_tool_head(script));
    if (topic.starts_with('-')) {
        const OptionRow* row = find_option(topic);
        return row && row->topic != Topic::Hidden ? std::optional(describe_option(*row, topic)) : std::nullopt;
    }
    return search(topic);
}

std::vector<Tool> document_tools() {
    return {{"read_docs", "Read the documentation",
             "Read the documentation of sonde: the language, its library, the tools, recipes and problems.",
             read_docs_arguments, nullptr, begin_read_docs}};
}

} // namespace sonde::mcp
