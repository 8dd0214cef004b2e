// A library that is loaded when it is needed, because most sessions do not need it. It is never unloaded.
#pragma once

#include <dlfcn.h>

#include <initializer_list>

namespace sonde {

// False in a program with a statically linked C library (packaging/static.cmake), because a shared library would load a
// second one.
bool can_load_libraries();

// A handle of dlopen(3).
class SharedLibrary {
  public:
    // Loads the first of `names` that the loader finds. Returns false if there is none, or if libraries cannot be
    // loaded.
    bool load(std::initializer_list<const char*> names);

    bool loaded() const { return handle_ != nullptr; }

    // Sets `function` to the library's function of this name. Returns false if the library lacks it.
    template <typename Function> bool find(Function*& function, const char* name) const {
        function = reinterpret_cast<Function*>(dlsym(handle_, name));
        return function != nullptr;
    }

  private:
    void* handle_ = nullptr;
};

} // namespace sonde
