#include "driver/own_options.h"

#include <sstream>

#include <CLI/CLI.hpp>

#include "base/suggest.h"
#include "driver/option_parser.h"

namespace sonde {
namespace {

// CLI11 has them in the type's name: TEXT:{text,json,csv}.
std::vector<std::string> values_of(const std::string& type) {
    std::vector<std::string> out;
    const size_t begin = type.find('{'), end = type.rfind('}');
    if (begin == std::string::npos || end == std::string::npos)
        return out;
    std::istringstream values(type.substr(begin + 1, end - begin - 1));
    for (std::string one; std::getline(values, one, ',');)
        out.push_back(one);
    return out;
}

} // namespace

OwnOption find_own_option(const std::string& name) {
    CLI::App app;
    Options options;
    add_options(app, options);
    const CLI::Option* option = app.get_option_no_throw(name);
    // with_value(): the value of these is optional, and never the next word.
    return !option                                                                              ? OwnOption::None
           : option->get_expected_max() == 0 || with_value(name).find('=') != std::string::npos ? OwnOption::Flag
                                                                                                : OwnOption::Value;
}

std::vector<OptionWord> own_options() {
    CLI::App app;
    Options options;
    add_options(app, options);
    std::vector<OptionWord> out = {
        {"-h", "Print this help and exit", {}},
        {"--help", "Print this help and exit", {}},
        {"-V", "Print the version and exit", {}},
        {"--version", "Print the version and exit", {}},
        {"--clean-cache", "Delete of the cache what has not been used for longest, and end", {}}};
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_group().empty())
            continue;
        const std::vector<std::string> values = values_of(option->get_type_name());
        for (const std::string& name : option->get_snames())
            out.push_back({"-" + name, option->get_description(), values});
        for (const std::string& name : option->get_lnames())
            if (name != "help")
                out.push_back({"--" + name, option->get_description(), values});
    }
    return out;
}

std::string nearest_option(const std::string& name) {
    if (!name.starts_with("--"))
        return "";
    std::vector<std::string> names;
    for (OptionWord& option : own_options())
        if (option.name.starts_with("--"))
            names.push_back(std::move(option.name));
    std::string near = nearest_name(name, names);
    if (near.empty())
        for (const std::string& one : names)
            if (name.starts_with(one) && one.size() > near.size())
                near = one;
    return near;
}

} // namespace sonde
