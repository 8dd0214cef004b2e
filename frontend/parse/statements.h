// Parses statements without a probe around them, as they are typed in an interactive session.
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/source.h"
#include "frontend/ast/ast.h"
#include "frontend/parse/parser.h"

namespace sonde {

// Parses a whole text. After errors, the block has the statements that could be parsed. Never null; the arena owns the
// tree.
ast::BlockStmt* parse_statements(FileId file, const Sources& sources, const ParseOptions& options, Arena& arena,
                                 Diagnostics& diags);

} // namespace sonde
