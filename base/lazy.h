// A value that is computed when it is first needed.
#pragma once

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace sonde {

// Not for several threads: the first call writes.
template <typename T> class Lazy {
  public:
    Lazy(T value) : value_(std::move(value)) {}
    // `compute` is called once, at the first use.
    template <typename F>
        requires std::is_invocable_r_v<T, F>
    Lazy(F compute) : compute_(std::move(compute)) {}

    const T& operator()() const {
        if (!value_)
            value_ = compute_();
        return *value_;
    }

  private:
    std::function<T()> compute_;
    mutable std::optional<T> value_;
};

} // namespace sonde
