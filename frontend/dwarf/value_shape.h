// Describes a value by its scalars, for the rules by which calls pass values (arch/value_passing.h).
#pragma once

#include "arch/value_passing.h"

namespace sonde {

struct Type;
class TypeReader;

// `type` must be complete. The shape does not show whether C++ passes an object by address (class_passing.h).
ValueShape value_shape(TypeReader& types, const Type* type);

} // namespace sonde
