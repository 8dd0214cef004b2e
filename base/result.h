// Result<T>: a value, or an Error from outside of sonde.
//
// sonde has three kinds of errors and never mixes them:
// * The script is wrong: Diagnostics (base/diag.h) with a range.
// * A file, the kernel or a library failed: Result<T>. Each layer adds context.
// * sonde is wrong: CHECK (base/check.h).
//
// sonde does not throw exceptions.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace sonde {

// An error that a user can act on. `message` begins in lower case and ends without a period.
struct Error {
    std::string message;
    int os_error = 0; // errno if a system call failed, otherwise 0

    Error() = default;
    explicit Error(std::string text, int err = 0) : message(std::move(text)), os_error(err) {}

    // Adds context from the caller: "cannot read `x`: no such file".
    Error in(const std::string& context) && {
        message = context + ": " + message;
        return std::move(*this);
    }
};

// An Error with a context and the message for errno.
Error errno_error(const std::string& context, int err);

template <typename T> class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::move(value)) {}
    Result(Error error) : state_(std::move(error)) {}

    bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    T& operator*() & {
        CHECK(ok());
        return std::get<0>(state_);
    }
    const T& operator*() const& {
        CHECK(ok());
        return std::get<0>(state_);
    }
    T&& operator*() && {
        CHECK(ok());
        return std::move(std::get<0>(state_));
    }
    T* operator->() { return &**this; }
    const T* operator->() const { return &**this; }

    const Error& error() const& {
        CHECK(!ok());
        return std::get<1>(state_);
    }
    Error&& error() && {
        CHECK(!ok());
        return std::move(std::get<1>(state_));
    }

  private:
    std::variant<T, Error> state_;
};

// Success without a value.
template <> class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}

    bool ok() const { return !error_.has_value(); }
    explicit operator bool() const { return ok(); }

    const Error& error() const& {
        CHECK(!ok());
        return *error_;
    }
    Error&& error() && {
        CHECK(!ok());
        return std::move(*error_);
    }

  private:
    std::optional<Error> error_;
};

} // namespace sonde
