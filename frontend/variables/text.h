// A text in the making: what a sprintf would print, directive by directive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/variables/binding.h"

namespace sonde {

class Text {
  public:
    void literal(const std::string& text);
    // A string.
    void add(hir::Expr* value);
    // A number, as `%` with that flag (0: none) and conversion prints it.
    void add_integer(hir::Expr* value, char conversion, char flag);
    void add(const plan::Directive& directive, hir::Expr* value);
    bool is_empty() const { return format_.directives.empty(); }
    // As many values as one text can have.
    bool is_full() const { return args_.size() >= 64; }

    // The whole as an expression.
    hir::Expr* finish(Binding& b) &&;
    // The same, or a `?` where memory that it reads cannot be read.
    hir::Expr* finish_guarded(Binding& b) &&;

  private:
    plan::Format format_;
    std::vector<hir::Expr*> args_;
};

} // namespace sonde
