// Source texts, each with a table of line starts, in which a binary search finds the line of an offset.
#include "base/source.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"

namespace sonde {

Range Range::join(Range a, Range b) {
    if (!a.valid())
        return b;
    if (a.file != b.file)
        return a;
    return {a.file, std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

FileId Sources::add(std::string name, std::string text, bool tapset) {
    CHECK(text.size() < UINT32_MAX);
    auto file = std::make_unique<File>();
    file->name = std::move(name);
    file->text = std::move(text);
    file->tapset = tapset;
    file->line_starts.push_back(0);
    for (size_t at = file->text.find('\n'); at != std::string::npos; at = file->text.find('\n', at + 1))
        file->line_starts.push_back(static_cast<uint32_t>(at + 1));
    files_.push_back(std::move(file));
    return static_cast<FileId>(files_.size());
}

const Sources::File& Sources::file(FileId id) const {
    CHECK(id >= 1 && id <= files_.size());
    return *files_[id - 1];
}

std::string_view Sources::name(FileId id) const { return id == 0 ? std::string_view("<built-in>") : file(id).name; }

std::string_view Sources::text(FileId id) const { return id == 0 ? std::string_view() : file(id).text; }

bool Sources::is_tapset(FileId id) const { return id != 0 && file(id).tapset; }

std::string_view Sources::text(Range range) const {
    std::string_view all = text(range.file);
    size_t begin = std::min<size_t>(range.begin, all.size());
    size_t end = std::clamp<size_t>(range.end, begin, all.size());
    return all.substr(begin, end - begin);
}

LineColumn Sources::line_column(FileId id, uint32_t offset) const {
    if (id == 0)
        return {};
    const File& f = file(id);
    offset = std::min(offset, static_cast<uint32_t>(f.text.size()));
    // The last line that starts at or before the offset. line_starts[0] is 0, so one always exists.
    auto next = std::upper_bound(f.line_starts.begin(), f.line_starts.end(), offset);
    return {static_cast<uint32_t>(next - f.line_starts.begin()), offset - *(next - 1) + 1};
}

std::string_view Sources::line_text(FileId id, uint32_t line) const {
    if (id == 0)
        return {};
    const File& f = file(id);
    if (line == 0 || line > f.line_starts.size())
        return {};
    size_t begin = f.line_starts[line - 1];
    size_t end = line < f.line_starts.size() ? f.line_starts[line] - 1 : f.text.size();
    if (end > begin && f.text[end - 1] == '\r')
        end--;
    return std::string_view(f.text).substr(begin, end - begin);
}

std::string Sources::place(Range range) const {
    if (!range.valid())
        return std::string(name(0));
    LineColumn at = line_column(range.file, range.begin);
    return fmt::format("{}:{}:{}", name(range.file), at.line, at.column);
}

void Sources::add_word(FileId id, size_t number, Word word) {
    CHECK(id >= 1 && id <= files_.size());
    files_[id - 1]->words.emplace(fmt::format("${}", number), std::move(word));
}

const Sources::Word* Sources::word_at(Range range) const {
    if (!range.valid() || range.file == 0)
        return nullptr;
    const auto& words = file(range.file).words;
    const auto found = words.find(text(range));
    return found == words.end() ? nullptr : &found->second;
}

} // namespace sonde
