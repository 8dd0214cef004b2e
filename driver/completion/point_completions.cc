// A point is taken apart into components, as far as it is written: `process("nginx").function("ngx_h` has a component
// with a whole string and one with an open string. The forms of points tell which component can come next; a listing of
// the unfinished string with a `*` at its end tells which strings are possible there.
//
// The code must accept any text, because users press Tab anywhere. If the text is not the beginning of a point, the
// result is empty. Completion must also never print a diagnostic, which would end up in the middle of the user's
// command line.
#include "driver/completion/point_completions.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/elf_file.h"
#include "base/glob.h"
#include "base/result.h"
#include "base/shared_libraries.h"

namespace sonde {
namespace {

bool is_name(char c) { return c == '_' || isalnum(static_cast<unsigned char>(c)); }

// A component of a point. The last one may be unfinished.
struct Component {
    size_t begin = 0; // in the text
    std::string name;
    enum Argument { None, String, OpenString, Number, Open } argument = None;
    std::string value;    // the string, without escapes
    size_t value_at = 0;  // its position in the text
    std::string_view end; // the text between the argument and the next `.`
};

std::vector<Component> take_apart(std::string_view text) {
    std::vector<Component> out;
    for (size_t i = 0;;) {
        Component component;
        component.begin = i;
        while (i < text.size() && text[i] != '.' && text[i] != '(')
            component.name += text[i++];
        if (i < text.size() && text[i] == '(') {
            i++;
            component.argument = Component::Open;
            if (i < text.size() && text[i] == '"') {
                component.argument = Component::OpenString;
                component.value_at = ++i;
                for (; i < text.size() && text[i] != '"'; i++) {
                    if (text[i] == '\\' && i + 1 < text.size())
                        i++;
                    component.value += text[i];
                }
                if (i < text.size()) {
                    i++;
                    component.argument = Component::String;
                }
            } else {
                while (i < text.size() && text[i] != ')')
                    component.value += text[i++];
            }
            if (i < text.size() && text[i] == ')') {
                i++;
                if (component.argument == Component::Open)
                    component.argument = Component::Number;
            }
        }
        const size_t dot = std::min(text.find('.', i), text.size());
        component.end = text.substr(i, dot - i);
        i = dot;
        out.push_back(std::move(component));
        if (i >= text.size())
            return out;
        i++; // the dot
    }
}

// Writes the component as the forms do: `function(string)`.
std::string form_of(const Component& component) {
    switch (component.argument) {
    case Component::None:
        return component.name;
    case Component::String:
    case Component::OpenString:
        return component.name + "(string)";
    case Component::Number:
    case Component::Open:
        break;
    }
    return component.name + "(number)";
}

std::vector<std::string> words_of(const std::string& form) {
    std::vector<std::string> out;
    std::istringstream words(form);
    for (std::string word; std::getline(words, word, '.');)
        out.push_back(word);
    return out;
}

// Returns the words that may follow the first `count` components, as the forms write them. The value tells whether a
// point may end after the word.
std::map<std::string, bool> next_words(const std::vector<Component>& components, size_t count,
                                       const std::vector<std::string>& forms) {
    std::map<std::string, bool> out;
    for (const std::string& form : forms) {
        const std::vector<std::string> words = words_of(form);
        if (words.size() <= count)
            continue;
        bool fits = true;
        for (size_t i = 0; i < count && fits; i++)
            fits = words[i] == "*" || words[i] == form_of(components[i]);
        if (fits)
            out[words[count]] |= words.size() == count + 1;
    }
    return out;
}

void add(std::vector<Completion>& out, Completion one) {
    if (std::ranges::none_of(out, [&](const Completion& other) { return other.text == one.text; }))
        out.push_back(std::move(one));
}

// ---- the words of a point
// -----------------------------------------------------------------------------------------------

// Completes `name`, the name of the last component; `head` is the text before it. The names come from the forms and the
// aliases. Where the forms have a `*`, as for system calls, a listing provides them.
void complete_name(std::vector<Completion>& out, const std::string& head, const std::string& name,
                   const std::vector<Component>& components, const PointSources& sources) {
    const size_t count = components.size() - 1;
    for (const auto& [word, whole] : next_words(components, count, sources.forms)) {
        if (word == "*" || word.starts_with("__") || !word.starts_with(name))
            continue;
        const size_t argument = word.find('(');
        if (argument == std::string::npos)
            add(out, {head + word + (whole ? "" : "."), "", whole});
        else
            add(out, {head + word.substr(0, argument) + (word.ends_with("(string)") ? "(\"" : "("), "", false});
    }
    // Do not offer a number where a string is possible: `statement(0x...)` is rare.
    std::erase_if(out, [&](const Completion& one) {
        return one.text.ends_with('(') &&
               std::ranges::any_of(out, [&](const Completion& other) { return other.text == one.text + "\""; });
    });
    for (const std::string& alias : sources.aliases) {
        if (!alias.starts_with(head + name) || alias.starts_with("_"))
            continue;
        const size_t dot = alias.find('.', head.size());
        const std::string text = alias.substr(0, dot);
        const bool whole = dot == std::string::npos;
        if (whole)
            std::erase_if(out, [&](const Completion& one) { return one.text == text + "."; });
        if (std::ranges::find(out, text, &Completion::text) == out.end())
            add(out, {text + (whole ? "" : "."), "", whole});
    }
    // Some words are not in the forms, such as the names of counters and system calls. Only a listing knows them.
    const bool any_word = count > 0 && next_words(components, count, sources.forms).contains("*");
    if (any_word || (count > 0 && std::ranges::count(sources.aliases, components[0].name) > 0))
        for (const std::string& line : sources.list(head + name + "*", false)) {
            const std::vector<Component> found = take_apart(line);
            if (found.size() > count && found[0].name == components[0].name && found[count].name.starts_with(name) &&
                found[count].argument == Component::None)
                add(out, {head + found[count].name, "", true});
        }
}

// ---- what is in quotes
// --------------------------------------------------------------------------------------------------

std::vector<std::string> loaded_modules() {
    std::vector<std::string> out;
    std::ifstream modules("/proc/modules");
    for (std::string line; std::getline(modules, line);)
        out.push_back(line.substr(0, line.find(' ')));
    return out;
}

std::string in_string(std::string_view text) {
    std::string out;
    for (char c : text)
        out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    return out;
}

// Returns the C functions in the symbol table of the point's program or library.
std::vector<std::string> other_names(const std::vector<Component>& components, const std::string& begin) {
    std::vector<std::string> out;
    Result<std::string> path = find_file(components[0].value);
    if (path && components.size() > 2 && components[1].name == "library") {
        const std::string wanted = components[1].value;
        const std::vector<std::string> libraries = shared_libraries(*path, host_architecture().library_search());
        const auto found = std::ranges::find_if(
            libraries, [&](const std::string& one) { return one == wanted || one.ends_with("/" + wanted); });
        path = found == libraries.end() ? Result<std::string>(Error("")) : Result(*found);
    }
    const Result<ElfFile> file = path ? ElfFile::open(*path) : std::move(path).error();
    if (!file)
        return out;
    file->for_each_symbol([&](const ElfSymbol& symbol) {
        if (symbol.name.starts_with(begin) && symbol.type == STT_FUNC && symbol.section != SHN_UNDEF &&
            std::ranges::all_of(symbol.name, is_name) && !symbol.name.starts_with("_Z") &&
            !symbol.name.starts_with("_R"))
            out.emplace_back(symbol.name);
        return true;
    });
    return out;
}

// Completes a string. If a point cannot end after the string, adds the `.` of the next component.
Completion with_string(const std::string& before, const std::string& value, const std::vector<Component>& components,
                       const PointSources& sources) {
    const auto next = next_words(components, components.size() - 1, sources.forms);
    const auto word = next.find(form_of(components.back()));
    const bool whole = word == next.end() || word->second;
    return {before + in_string(value) + (whole ? "\")" : "\")."), "", whole};
}

// Completes the open string of the last component. Programs, libraries and modules come from the machine's files, and
// all other names from a listing.
void complete_string(std::vector<Completion>& out, const std::string& text, const std::vector<Component>& components,
                     const PointSources& sources) {
    const Component& last = components.back();
    const std::string before = text.substr(0, last.value_at);
    const size_t index = components.size() - 1;
    if (last.name == "process") {
        for (const Completion& program : complete_program(last.value))
            add(out, program.is_whole ? with_string(before, program.text, components, sources)
                                      : Completion{before + in_string(program.text), "", false});
        return;
    }
    if (last.name == "library") {
        const Result<std::string> program = find_file(components[0].value);
        for (const std::string& path :
             program ? shared_libraries(*program, host_architecture().library_search()) : std::vector<std::string>())
            for (const std::string& name : {path, path.substr(path.rfind('/') + 1)})
                if (name.starts_with(last.value) && (name[0] == '/') == last.value.starts_with('/'))
                    add(out, with_string(before, name, components, sources));
        return;
    }
    if (last.name == "module") {
        for (const std::string& name : loaded_modules())
            if (name.starts_with(last.value))
                add(out, with_string(before, name, components, sources));
        return;
    }
    // List all points with this beginning. A provider or a variable alone is not a point, so complete it to one.
    std::string pattern = before + in_string(last.value) + "*\")";
    if (last.name == "provider")
        pattern += ".mark(\"*\")";
    if (last.name == "data")
        pattern += ".write";
    for (const std::string& line : sources.list(pattern, false)) {
        std::string name = listed_name(line, index);
        // You can omit the system of a tracepoint: `sched_switch` for `sched:sched_switch`.
        if (!name.starts_with(last.value) && name.find(':') != std::string::npos)
            name.erase(0, name.find(':') + 1);
        if (!name.starts_with(last.value) || name.empty())
            continue;
        Completion one = with_string(before, name, components, sources);
        const size_t at = line.find('@');
        if (at != std::string::npos && last.name == "function")
            one.help = line.substr(at + 1, line.find('"', at) - at - 1);
        add(out, std::move(one));
    }
    // A listing shows each function once, but the function can have other names, which users may know better.
    if (last.name == "function" && components[0].name == "process")
        for (const std::string& name : other_names(components, last.value))
            add(out, with_string(before, name, components, sources));
}

// Returns the continuations of the last component, one step ahead.
std::vector<Completion> complete_once(const std::string& text, const PointSources& sources) {
    std::vector<Completion> out;
    std::vector<Component> components = take_apart(text);
    const Component& last = components.back();
    if (last.argument == Component::None) {
        complete_name(out, text.substr(0, last.begin), last.name, components, sources);
        // A name is not offered as a whole point here: `timer.s` is not one, only `timer.s(` is.
        return out;
    }
    if (last.argument == Component::OpenString) {
        complete_string(out, text, components, sources);
        return out;
    }
    if (last.argument == Component::Open && last.value.empty()) {
        const auto next = next_words(components, components.size() - 1, sources.forms);
        if (next.contains(last.name + "(string)"))
            out.push_back({text + "\"", "", false});
        return out;
    }
    if (last.argument == Component::Open || !last.end.empty())
        return out;
    const auto own = next_words(components, components.size() - 1, sources.forms);
    const auto word = own.find(form_of(last));
    if (word != own.end() && word->second)
        out.push_back({text, "", true});
    Component empty;
    empty.begin = text.size() + 1;
    components.push_back(empty);
    complete_name(out, text + ".", "", components, sources);
    return out;
}

// ---- scripts
// ------------------------------------------------------------------------------------------------------------

// The place at which a script ends.
struct ScriptEnd {
    ScriptPlace place = ScriptPlace::Top;
    size_t point = 0;   // Head: where the unfinished point begins
    std::string points; // Body: the probe's points
};

size_t skip_blanks(std::string_view text, size_t at) {
    while (at < text.size() && isspace(static_cast<unsigned char>(text[at])))
        at++;
    return at;
}

// Finds the cursor's place. The parser cannot do this, because the script is unfinished. So this function follows only
// comments, strings, braces and the heads of probes. A string in a head may be open, as in `probe process("ngi`.
ScriptEnd find_end(std::string_view script) {
    ScriptEnd out;
    size_t depth = 0, parentheses = 0, head = 0;
    bool in_head = false;
    for (size_t i = 0; i < script.size(); i++) {
        const char c = script[i];
        const std::string_view rest = script.substr(i);
        if (c == '#' || rest.starts_with("//") || rest.starts_with("/*")) {
            const std::string_view until = rest.starts_with("/*") ? "*/" : "\n";
            const size_t end = script.find(until, i + 1);
            if (end == std::string_view::npos)
                return {ScriptPlace::Elsewhere, 0, ""};
            i = end + until.size() - 1;
        } else if (c == '"') {
            for (i++; i < script.size() && script[i] != '"'; i++)
                i += script[i] == '\\';
            if (i >= script.size() && !in_head)
                return {ScriptPlace::Elsewhere, 0, ""};
        } else if (c == '{') {
            if (depth++ == 0)
                out.points = in_head ? std::string(script.substr(head, i - head)) : "";
            in_head = false;
        } else if (c == '}') {
            depth -= depth > 0;
        } else if (in_head && (c == '(' || c == ')')) {
            parentheses += c == '(' ? 1 : parentheses > 0 ? -1 : 0;
        } else if (in_head && parentheses == 0 && (c == ',' || c == '=')) {
            out.point = skip_blanks(script, i + 1);
            if (c == '=')
                head = i + 1;
        } else if (depth == 0 && rest.starts_with("probe") && (i == 0 || !is_name(script[i - 1])) &&
                   i + 5 < script.size() && isspace(static_cast<unsigned char>(script[i + 5]))) {
            in_head = true;
            parentheses = 0;
            head = i + 6;
            out.point = skip_blanks(script, head);
            i += 5;
        }
    }
    out.place = depth > 0 ? ScriptPlace::Body : in_head ? ScriptPlace::Head : ScriptPlace::Top;
    return out;
}

// Returns the variables of the points: `$name` and `name:type` in a listing with variables.
std::set<std::string> variables_of(const std::string& points, const PointSources& sources) {
    std::set<std::string> out;
    for (const std::string& line : sources.list(points, true)) {
        std::istringstream words(line);
        for (std::string word; words >> word;)
            if (const size_t colon = word.find(':');
                colon != std::string::npos && colon > 0 &&
                std::all_of(word.begin() + (word[0] == '$'), word.begin() + colon, is_name))
                out.insert(word.substr(0, colon));
    }
    return out;
}

constexpr std::string_view operators[] = {
    "@avg(",   "@cast(",     "@choose_defined(", "@const(",       "@count(",    "@defined(",
    "@entry(", "@enum(",     "@enumname(",       "@hist_linear(", "@hist_log(", "@max(",
    "@min(",   "@offsetof(", "@perf(",           "@sum(",         "@var(",      "@variance(",
};
constexpr std::string_view statements[] = {"break", "continue", "delete ", "else ", "for (",  "foreach (",
                                           "if (",  "next",     "return ", "try {", "while ("};
constexpr std::string_view declarations[] = {"function ", "global ", "private ", "probe "};

// Returns the beginning of the last word, with its `$` or `@`.
size_t find_word(const std::string& script) {
    size_t begin = script.size();
    while (begin > 0 && is_name(script[begin - 1]))
        begin--;
    return begin - (begin > 0 && (script[begin - 1] == '$' || script[begin - 1] == '@') ? 1 : 0);
}

// Completes a word in a handler: an operator after `@`, a variable of the probe's points after `$`, and otherwise also
// a statement or a function.
void complete_body(std::vector<Completion>& out, const std::string& word, const ScriptEnd& end,
                   const PointSources& sources) {
    const auto offer = [&](std::string_view text, const std::string& help) {
        if (text.starts_with(word))
            add(out, {std::string(text), help, false});
    };
    if (word.starts_with('@')) {
        for (std::string_view one : operators)
            offer(one, "");
        return;
    }
    if (!end.points.empty())
        for (const std::string& name : variables_of(end.points, sources))
            if (!word.empty() || name[0] == '$')
                offer(name, "");
    if (word.empty() || word.starts_with('$'))
        return;
    for (std::string_view one : statements)
        offer(one, "");
    for (const std::string& signature : sources.functions())
        offer(signature.substr(0, signature.find(':')) + "(", signature.substr(0, signature.find(" /*")));
}

} // namespace

std::string listed_name(const std::string& point, size_t index) {
    const std::vector<Component> components = take_apart(point);
    if (index >= components.size() || components[index].argument != Component::String)
        return "";
    const Component& one = components[index];
    return one.name == "function" || one.name == "statement" || one.name == "callee"
               ? one.value.substr(0, one.value.find('@'))
               : one.value;
}

size_t count_components(std::string_view point) { return take_apart(point).size(); }

std::vector<Completion> complete_program(const std::string& text) {
    namespace fs = std::filesystem;
    std::vector<Completion> out;
    const size_t slash = text.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : text.substr(0, slash + 1);
    std::error_code error;
    for (fs::directory_iterator at(folder.empty() ? "." : folder, error), end; !error && at != end;
         at.increment(error)) {
        const std::string name = at->path().filename();
        std::error_code ignored;
        if (!(folder + name).starts_with(text) || (name[0] == '.' && text.size() == folder.size()))
            continue;
        if (at->is_directory(ignored))
            add(out, {folder + name + "/", "", false});
        else if (at->is_regular_file(ignored) &&
                 (access(at->path().c_str(), X_OK) == 0 || name.find(".so") != std::string::npos))
            add(out, {folder + name, "", true});
    }
    if (folder.empty() && !text.empty())
        for (const std::string& program : programs_beginning(text))
            add(out, {program.substr(program.rfind('/') + 1), "", true});
    std::ranges::sort(out, {}, &Completion::text);
    return out;
}

std::vector<Completion> complete_point(const std::string& text, const PointSources& sources) {
    std::vector<Completion> out = complete_once(text, sources);
    // If only one continuation exists, follow it until the user has a choice.
    for (int steps = 0; steps < 6 && out.size() == 1 && !out[0].is_whole; steps++) {
        std::vector<Completion> further = complete_once(out[0].text, sources);
        if (further.empty() || (further.size() == 1 && further[0].text == out[0].text))
            break;
        out = std::move(further);
    }
    return out;
}

ScriptCompletions complete_script_end(const std::string& script, const PointSources& sources) {
    const ScriptEnd end = find_end(script);
    ScriptCompletions out{end.place, find_word(script), {}};
    if (end.place == ScriptPlace::Head) {
        out.begin = end.point;
        for (Completion& one : complete_point(script.substr(end.point), sources))
            out.words.push_back({std::move(one.text), std::move(one.help), false});
    } else if (end.place == ScriptPlace::Body) {
        complete_body(out.words, script.substr(out.begin), end, sources);
    } else if (end.place == ScriptPlace::Top) {
        for (std::string_view one : declarations)
            if (one.starts_with(script.substr(out.begin)))
                out.words.push_back({std::string(one), "", false});
    }
    return out;
}

std::vector<Completion> complete_script(const std::string& script, const PointSources& sources) {
    ScriptCompletions out = complete_script_end(script, sources);
    for (Completion& one : out.words)
        one.text.insert(0, script, 0, out.begin);
    return std::move(out.words);
}

} // namespace sonde
