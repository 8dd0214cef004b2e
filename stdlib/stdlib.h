// The files that are built into the binary: the tapset and the tools, which are scripts in sonde's own language
// (stdlib/*.stp, stdlib/tools/*.stp), and pages of the documentation.
#pragma once

#include <span>
#include <string_view>

namespace sonde {

struct StdlibFile {
    std::string_view name; // "prelude.stp"
    std::string_view text;
    // The declared names (frontend/lex/declarations.h), found when sonde was built.
    std::span<const std::string_view> functions, globals, aliases;
};

// All embedded files, sorted by name.
std::span<const StdlibFile> stdlib_files();

// A script that `sonde NAME` runs (stdlib/tools/NAME.stp). driver/tool_head.h describes its header.
struct ToolFile {
    std::string_view name; // "opensnoop"
    std::string_view text;
};

// All tools, sorted by name.
std::span<const ToolFile> tool_files();

// A page of the documentation, docs/NAME.
struct DocumentFile {
    std::string_view name; // "reference.md"
    std::string_view text;
};

// The pages about using sonde, sorted by name.
std::span<const DocumentFile> document_files();

// docs/reference.md: the language on one page.
std::string_view reference_text();

} // namespace sonde
