// The shortest list of changes is found by the greedy algorithm of E. Myers, "An O(ND) Difference Algorithm and Its
// Variations" (1986). A path goes from the beginnings of both texts to their ends. A step to the right removes a line
// of the old text, a step down adds one of the new text, and a diagonal step keeps a common line:
//
//        a  b  c       old
//      +--+--+--+
//    a |\ |  |  |      the path  a | -b | c
//      +--+--+--+
//    c |  |  |\ |
//      +--+--+--+
//   new
//
// For each number of changes d, the algorithm keeps the farthest point on each diagonal. The points of all d lead back
// to the beginning.
#include "base/unified_diff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

namespace sonde {
namespace {

using Lines = std::vector<std::string_view>; // each with its newline; the last one may have none

constexpr int64_t most_changes = 1000; // the memory grows with its square
constexpr size_t context = 3;

Lines split_lines(std::string_view text) {
    Lines out;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
        out.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return out;
}

// A line of the diff: ' ' in both texts, '-' in the old one, '+' in the new one.
struct Edit {
    char kind;
    std::string_view line;
};

// Returns the edits from `a` to `b`, which begin and end with different lines.
std::vector<Edit> replace_all(const Lines& a, const Lines& b) {
    std::vector<Edit> out;
    for (const std::string_view line : a)
        out.push_back({'-', line});
    for (const std::string_view line : b)
        out.push_back({'+', line});
    return out;
}

std::vector<Edit> shortest_edits(const Lines& a, const Lines& b) {
    const auto old_size = static_cast<int64_t>(a.size()), new_size = static_cast<int64_t>(b.size());
    // farthest[d][k + d] is the column of the farthest point on diagonal k = column - row after d changes.
    std::vector<std::vector<int64_t>> farthest;
    const auto column_at = [&](int64_t d, int64_t k) {
        return k < -d || k > d ? -1 : farthest[static_cast<size_t>(d)][static_cast<size_t>(k + d)];
    };
    // Whether the best way to diagonal k adds a line, and so comes from diagonal k + 1.
    const auto adds = [&](int64_t d, int64_t k) {
        return k == -d || (k != d && column_at(d - 1, k - 1) < column_at(d - 1, k + 1));
    };
    bool is_found = false;
    for (int64_t d = 0; !is_found && d <= std::min(old_size + new_size, most_changes); d++) {
        farthest.emplace_back(static_cast<size_t>(2 * d + 1), 0);
        for (int64_t k = -d; k <= d && !is_found; k += 2) {
            int64_t column = d == 0 ? 0 : adds(d, k) ? column_at(d - 1, k + 1) : column_at(d - 1, k - 1) + 1;
            while (column < old_size && column - k < new_size &&
                   a[static_cast<size_t>(column)] == b[static_cast<size_t>(column - k)])
                column++;
            farthest.back()[static_cast<size_t>(k + d)] = column;
            is_found = column >= old_size && column - k >= new_size;
        }
    }
    if (!is_found)
        return replace_all(a, b);
    std::vector<Edit> out;
    int64_t column = old_size, row = new_size;
    for (auto d = static_cast<int64_t>(farthest.size()) - 1; d >= 0; d--) {
        const int64_t k = column - row;
        const bool is_added = d > 0 && adds(d, k);
        const int64_t from = d == 0 ? 0 : is_added ? column_at(d - 1, k + 1) : column_at(d - 1, k - 1);
        const int64_t begin = d == 0 || is_added ? from : from + 1; // where the common lines begin
        for (; column > begin; column--, row--)
            out.push_back({' ', a[static_cast<size_t>(column - 1)]});
        if (d == 0)
            break;
        if (is_added)
            out.push_back({'+', b[static_cast<size_t>(--row)]});
        else
            out.push_back({'-', a[static_cast<size_t>(--column)]});
    }
    std::ranges::reverse(out);
    return out;
}

std::vector<Edit> find_edits(const Lines& a, const Lines& b) {
    const size_t head = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
    size_t tail = 0;
    while (tail < std::min(a.size(), b.size()) - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
        tail++;
    const auto middle = [&](const Lines& lines) {
        return Lines(lines.begin() + static_cast<ptrdiff_t>(head), lines.end() - static_cast<ptrdiff_t>(tail));
    };
    std::vector<Edit> out;
    for (size_t i = 0; i < head; i++)
        out.push_back({' ', a[i]});
    for (const Edit& edit : shortest_edits(middle(a), middle(b)))
        out.push_back(edit);
    for (size_t i = a.size() - tail; i < a.size(); i++)
        out.push_back({' ', a[i]});
    return out;
}

// "7,3": the first line and the number of lines; "7" for one line. An empty range names the line before it.
std::string range_text(size_t first, size_t count) {
    return count == 1 ? fmt::format("{}", first + 1) : fmt::format("{},{}", count ? first + 1 : first, count);
}

} // namespace

std::string unified_diff(std::string_view before, std::string_view after, const std::string& old_name,
                         const std::string& new_name) {
    if (before == after)
        return "";
    const std::vector<Edit> edits = find_edits(split_lines(before), split_lines(after));
    std::string out = fmt::format("--- {}\n+++ {}\n", old_name, new_name);
    size_t old_line = 0, new_line = 0; // of edits[at]
    for (size_t at = 0; at < edits.size();) {
        if (edits[at].kind == ' ') {
            at++, old_line++, new_line++;
            continue;
        }
        // A hunk ends where more common lines follow than two contexts.
        size_t end = at, common = 0;
        for (size_t i = at; i < edits.size() && common <= 2 * context; i++) {
            common = edits[i].kind == ' ' ? common + 1 : 0;
            if (common == 0)
                end = i + 1;
        }
        const size_t before_it = std::min({context, at, old_line, new_line});
        const size_t begin = at - before_it, last = std::min(end + context, edits.size());
        size_t old_count = 0, new_count = 0;
        std::string lines;
        for (size_t i = begin; i < last; i++) {
            old_count += edits[i].kind != '+';
            new_count += edits[i].kind != '-';
            lines += edits[i].kind + std::string(edits[i].line);
            if (!edits[i].line.ends_with('\n'))
                lines += "\n\\ No newline at end of file\n";
        }
        out += fmt::format("@@ -{} +{} @@\n{}", range_text(old_line - before_it, old_count),
                           range_text(new_line - before_it, new_count), lines);
        old_line += old_count - before_it;
        new_line += new_count - before_it;
        at = last;
    }
    return out;
}

} // namespace sonde
