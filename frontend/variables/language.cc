#include "frontend/variables/language.h"

namespace sonde {
namespace {

// Rust must be last: it recognizes types by their members, not by their scope.
const Language* const languages[] = {&go_language, &libcxx_language, &libstdcxx_language, &rust_language};

} // namespace

bool add_in_language(Binding& b, Text& text, const Place& record, bool is_behind_pointer, Level level) {
    const Type* type = strip(record.type);
    complete(type);
    for (const Language* language : languages)
        if ((language->behind_pointers || !is_behind_pointer) && language->owns(*type))
            return language->add(b, text, record, level);
    return false;
}

bool add_scalar_in_language(Binding& b, Text& text, const Type& type, hir::Expr* value, Level level) {
    for (const Language* language : languages)
        if (language->add_scalar && language->add_scalar(b, text, type, value, level))
            return true;
    return false;
}

} // namespace sonde
