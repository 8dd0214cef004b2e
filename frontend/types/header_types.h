// C types from header files, for types without debug information: `@cast(p, "struct stat", "<sys/stat.h>")`.
//
// libclang reads the headers. It is loaded as a shared library only if a script names a header, so no compiler is run,
// and most users do not need it. To find the meaning of a name, each lookup compiles a small translation unit that
// includes the header and uses the name in a declaration. So C itself decides, including macros and typedefs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "frontend/types/type.h"

namespace sonde {

// The programs for which headers are read. By default, these are programs of this machine.
struct HeaderTarget {
    std::string triple; // LLVM's name of the processor; empty: this machine's
    std::string root;   // the headers are in this folder; empty: in the root directory
    // Runs a function with the root directory of this machine, where libclang is; null: it is the root directory.
    std::function<void(const std::function<void()>&)> outside = nullptr;
};

// Owns the types that it returns.
class HeaderTypes {
  public:
    // Opens the header `name`, as in `#include <name>`. Searches the compiler's default directories, and those in CPATH
    // and C_INCLUDE_PATH. Types have the sizes of the target's programs, or of its 32-bit programs if `is_32_bit`.
    // Fails if libclang is not installed, if the header does not exist, or if it is not valid C.
    static Result<std::unique_ptr<HeaderTypes>> open(const std::string& name, bool is_32_bit,
                                                     const HeaderTarget& target = {});
    // Opens the system's headers for communication with the kernel: errors, files, signals, sockets, memory and similar
    // topics, as far as they are installed. Fails if libclang is not installed.
    static Result<std::unique_ptr<HeaderTypes>> open_system(const HeaderTarget& target = {});
    ~HeaderTypes();
    HeaderTypes(const HeaderTypes&) = delete;
    HeaderTypes& operator=(const HeaderTypes&) = delete;

    // Returns a type by its C name: "struct stat", "size_t", "unsigned char*". The keyword may be omitted. Returns null
    // if the type does not exist or is incomplete.
    const Type* find_type(std::string_view name);
    // Returns the names that find_type() finds, sorted without duplicates, for "did you mean".
    std::vector<std::string> type_names();
    // Evaluates a C integer constant expression of enumerators, macros, numbers and operators. Returns nullopt if it is
    // not one.
    std::optional<int64_t> constant(std::string_view expression);
    // Returns all enumerators, sorted without duplicates, for "did you mean".
    std::vector<std::string> constant_names();

  private:
    class Reader;
    static Result<std::unique_ptr<HeaderTypes>> read(const std::string& includes, bool is_32_bit,
                                                     const HeaderTarget& target);
    explicit HeaderTypes(std::unique_ptr<Reader> reader);
    std::unique_ptr<Reader> reader_;
};

} // namespace sonde
