// A library that is loaded when it is wanted, since most sessions never need it. It stays loaded.
#pragma once

#include <dlfcn.h>

#include <initializer_list>

namespace sonde {

// False in a program that has the C library inside (packaging/static.cmake): a library would bring another one.
bool can_load_libraries();

class SharedLibrary {
  public:
    // Loads the first of `names` that the loader finds; false if it finds none, or if libraries cannot be loaded.
    bool load(std::initializer_list<const char*> names);

    bool loaded() const { return handle_ != nullptr; }

    // Lets `function` point at that one of the library's; false if it has none.
    template <typename Function> bool find(Function*& function, const char* name) const {
        function = reinterpret_cast<Function*>(dlsym(handle_, name));
        return function != nullptr;
    }

  private:
    void* handle_ = nullptr;
};

} // namespace sonde
