// C types from header files, for what no debug information tells of: `@cast(p, "struct stat", "<sys/stat.h>")`.
//
// The headers are read by libclang, as a library that is loaded for this: there is no compiler run, and nobody needs
// it who names no header. What a name means is asked of C itself: each lookup is a translation unit that includes the
// header and declares something with that name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "frontend/types/type.h"

namespace sonde {

class HeaderTypes {
  public:
    // `name` as in `#include <name>`; it is looked for where C compilers look, and in the folders of CPATH and
    // C_INCLUDE_PATH. Types have the sizes that they have in programs of x86-64, or of i386 (`is_32_bit`). Errors: no
    // libclang is installed, there is no such header, or it is not C.
    static Result<std::unique_ptr<HeaderTypes>> open(const std::string& name, bool is_32_bit);
    // What programs say to the kernel: the headers of errors, files, signals, sockets, memory and the like that are
    // installed. Errors: no libclang is.
    static Result<std::unique_ptr<HeaderTypes>> open_system();
    ~HeaderTypes();
    HeaderTypes(const HeaderTypes&) = delete;
    HeaderTypes& operator=(const HeaderTypes&) = delete;

    // A type as C writes it, "struct stat", "size_t", "unsigned char*"; the keyword may be missing. Null if there is
    // none, or if nothing says what is in it.
    const Type* find_type(std::string_view name);
    // What find_type() finds, for "did you mean"; sorted, unique.
    std::vector<std::string> type_names();
    // The value of an integer constant expression of enumerators, macros, numbers and C's operators; nullopt if it is
    // none.
    std::optional<int64_t> constant(std::string_view expression);
    // Enumerators, for "did you mean"; sorted, unique.
    std::vector<std::string> constant_names();

  private:
    class Reader;
    static Result<std::unique_ptr<HeaderTypes>> read(const std::string& includes, bool is_32_bit);
    explicit HeaderTypes(std::unique_ptr<Reader> reader);
    std::unique_ptr<Reader> reader_;
};

} // namespace sonde
