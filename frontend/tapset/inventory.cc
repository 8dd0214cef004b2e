#include "frontend/tapset/inventory.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

std::vector<std::string> describe_functions(Library& library) {
    std::vector<std::string> lines;
    for (const ast::File* file : library.files())
        for (const ast::Function* function : file->functions) {
            if (function->is_private || !is_public(function->name))
                continue;
            std::vector<std::string> params;
            for (const ast::Parameter& param : function->params)
                params.push_back(fmt::format("{}:{}", param.name, name_of(param.type)));
            lines.push_back(
                fmt::format("{}:{} ({})", function->name, name_of(function->result), fmt::join(params, ", ")));
        }
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

std::vector<std::string> probe_point_forms() {
    std::vector<std::string> lines = {"begin", "begin(number)", "end",  "end(number)",
                                      "error", "error(number)", "never"};
    for (const char* unit : {"s", "sec", "ms", "msec", "us", "usec", "ns", "nsec", "jiffies"})
        for (const char* more : {"", ".randomize(number)"})
            lines.push_back(fmt::format("timer.{}(number){}", unit, more));
    for (const char* timer : {"timer.hz(number)", "timer.profile", "timer.profile.tick", "timer.profile.hz(number)",
                              "timer.profile.freq.hz(number)"})
        lines.push_back(timer);
    for (const char* process : {"process", "process(string)", "process(number)"}) {
        for (const char* event : {"begin", "end", "thread.begin", "thread.end", "syscall", "syscall.return"})
            lines.push_back(fmt::format("{}.{}", process, event));
        for (const char* library : {"", ".library(string)"}) {
            std::string program = std::string(process) + library;
            for (const char* place : {"function(string)", "function(number)"})
                for (const char* more : {"", ".call", ".return", ".inline", ".exported", ".label(string)",
                                         ".callee(string)", ".callees", ".callees(number)"})
                    lines.push_back(fmt::format("{}.{}{}", program, place, more));
            for (const char* more : {"statement(string)", "statement(string).nearest", "statement(number)",
                                     "statement(number).absolute", "plt", "plt(string)", "plt(string).return",
                                     "plt.return", "mark(string)", "provider(string).mark(string)"})
                lines.push_back(fmt::format("{}.{}", program, more));
        }
    }
    for (const char* kernel : {"kernel", "module(string)"})
        for (const char* more : {"", ".call", ".return", ".exported"})
            lines.push_back(fmt::format("{}.function(string){}", kernel, more));
    for (const char* more : {"", ".call", ".return"})
        lines.push_back(fmt::format("kprobe.function(string){}", more));
    for (const char* more :
         {"", ".exported", ".inline", ".callees", ".callees(number)", ".label(string)", ".callee(string)"})
        lines.push_back(fmt::format("kernel.function(string){}", more));
    lines.push_back("kernel.statement(string)");
    for (const char* place : {"kernel.data(string)", "kernel.data(number)", "process.data(string)",
                              "process.data(number)", "process(string).data(string)", "process(string).data(number)",
                              "process(number).data(string)", "process(number).data(number)"})
        for (const char* more : {".write", ".rw", ".length(number).write", ".length(number).rw"})
            lines.push_back(fmt::format("{}{}", place, more));
    for (const char* more : {"", ".sample(number)", ".hz(number)", ".process(string)", ".counter(string)",
                             ".process(string).counter(string)", ".sample(number).process(string)"})
        lines.push_back(fmt::format("perf.type(number).config(number){}", more));
    for (const char* file : {"procfs", "procfs(string)"})
        for (const char* umask : {"", ".umask(number)"})
            for (const char* more : {".read", ".read.maxsize(number)", ".write"})
                lines.push_back(fmt::format("{}{}{}", file, umask, more));
    for (const char* more : {"", ".priority(string)"})
        lines.push_back(fmt::format("netfilter.hook(string).pf(string){}", more));
    for (const char* more : {"kernel.trace(string)", "kernel.tracepoint(string)", "kernel.lsm(string)", "lsm.*"})
        lines.emplace_back(more);
    return sorted(std::move(lines));
}

} // namespace sonde
