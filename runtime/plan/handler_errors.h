// The errors of handlers: messages and places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace sonde::plan {

enum class ErrorId : uint8_t {
    Other,
#define HANDLER_ERROR(id, ...) id,
#include "runtime/plan/handler_errors.def"
#undef HANDLER_ERROR
};

struct ErrorTraits {
    const char *message, *help;
};
inline constexpr ErrorTraits error_traits[] = {
    {"", ""},
#define HANDLER_ERROR(id, message, help) {message, help},
#include "runtime/plan/handler_errors.def"
#undef HANDLER_ERROR
};
constexpr size_t error_count = sizeof error_traits / sizeof *error_traits;
constexpr const ErrorTraits& traits(ErrorId id) { return error_traits[static_cast<size_t>(id)]; }

// An error's message: the one of a row, or any other text.
struct ErrorMessage {
    ErrorId id = ErrorId::Other;
    std::string text; // may contain one "%#x", for ErrorDetails::argument

    ErrorMessage() = default;
    ErrorMessage(ErrorId id) : id(id), text(traits(id).message) {}
    ErrorMessage(std::string text) : text(std::move(text)) {}
    ErrorMessage(const char* text) : text(text) {}
};

// A position in the script, as messages name it. Users do not know the library's source, so messages name the position
// in their own script first.
struct ErrorPlace {
    std::string text; // "identifier '$x' at a.stp:3:7"
    bool in_library = false;
};

} // namespace sonde::plan
