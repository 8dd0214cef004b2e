// The functions of the library fmt that headers only declare, for a program that has fmt inside: those that its
// implementation's header defines, and the instances that are taken from the library otherwise. What should be missing
// is missed by the linker.
#include <fmt/format-inl.h>

namespace fmt::detail {

template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);

} // namespace fmt::detail
