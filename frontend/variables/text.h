// Builds a text step by step, as the format and arguments of a sprintf.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/variables/binding.h"

namespace sonde {

class Text {
  public:
    void literal(const std::string& text);
    // Adds a string.
    void add(hir::Expr* value);
    // Adds a number, printed by `%` with this flag (0: none) and conversion.
    void add_integer(hir::Expr* value, char conversion, char flag);
    void add(const plan::Directive& directive, hir::Expr* value);
    bool is_empty() const { return format_.directives.empty(); }
    // The limit of values in one text is reached.
    bool is_full() const { return args_.size() >= 64; }

    // The text as an expression.
    hir::Expr* finish(Binding& b) &&;
    // The same, or `?` if memory that it reads cannot be read.
    hir::Expr* finish_guarded(Binding& b) &&;

  private:
    plan::Format format_;
    std::vector<hir::Expr*> args_;
};

} // namespace sonde
