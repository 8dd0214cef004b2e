// A library that is loaded when it is wanted, since most sessions never need it. It stays loaded.
#pragma once

#include <dlfcn.h>

#include <initializer_list>

namespace sonde {

class SharedLibrary {
  public:
    // Loads the first of `names` that the loader finds; false if it finds none.
    bool load(std::initializer_list<const char*> names) {
        for (const char* name : names)
            if ((handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL)))
                return true;
        return false;
    }

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
