// Defines the functions that fmt's headers only declare, for a program that links fmt statically. The first ones come
// from the header of fmt's implementation. The others are template instances that usually come from the library. If one
// is missing, the linker reports an error.
#include <fmt/format-inl.h>

namespace fmt::detail {

template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);

} // namespace fmt::detail
