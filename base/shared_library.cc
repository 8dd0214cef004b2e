#include "base/shared_library.h"

namespace sonde {

#ifdef SONDE_LOADS_NO_LIBRARIES
bool can_load_libraries() { return false; }
bool SharedLibrary::load(std::initializer_list<const char*>) { return false; }
#else
bool can_load_libraries() { return true; }
bool SharedLibrary::load(std::initializer_list<const char*> names) {
    for (const char* name : names)
        if ((handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL)))
            return true;
    return false;
}
#endif

} // namespace sonde
