// Reads C types with libclang. To look up the type `stat*` in <sys/stat.h>, it compiles this text, which exists in
// memory only:
//
//     #include <sys/stat.h>
//     typedef stat __sonde_0;
//     typedef struct stat __sonde_1;
//     typedef union stat __sonde_2;
//     typedef enum stat __sonde_3;
//
// Each line that is wrong causes an error in that line. The first line without one has the meaning of the name.
// Constants are evaluated in a similar way. The name is inserted into C text, so it is checked first: it may only
// contain characters that cannot end the declaration.
//
// libclang is loaded at run time, and its functions are called through pointers. So sonde does not depend on it.
#include "frontend/types/header_types.h"

#include <clang-c/Index.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "base/shared_library.h"

namespace sonde {
namespace {

// The functions of libclang that are used here, by their own names. They are the same in all versions since 16.
struct Clang {
#define EACH_FUNCTION(X)                                                                                               \
    X(toggleCrashRecovery)                                                                                             \
    X(createIndex)                                                                                                     \
    X(disposeIndex)                                                                                                    \
    X(parseTranslationUnit2)                                                                                           \
    X(disposeTranslationUnit)                                                                                          \
    X(getNumDiagnostics)                                                                                               \
    X(getDiagnostic)                                                                                                   \
    X(disposeDiagnostic)                                                                                               \
    X(getDiagnosticSeverity)                                                                                           \
    X(getDiagnosticSpelling)                                                                                           \
    X(getDiagnosticLocation)                                                                                           \
    X(getFileLocation)                                                                                                 \
    X(getFileName)                                                                                                     \
    X(getTranslationUnitCursor)                                                                                        \
    X(visitChildren)                                                                                                   \
    X(Type_visitFields)                                                                                                \
    X(getCursorKind)                                                                                                   \
    X(getCursorSpelling)                                                                                               \
    X(getCursorUSR)                                                                                                    \
    X(getCursorType)                                                                                                   \
    X(Cursor_isAnonymous)                                                                                              \
    X(Cursor_isBitField)                                                                                               \
    X(getFieldDeclBitWidth)                                                                                            \
    X(Cursor_getOffsetOfField)                                                                                         \
    X(getEnumConstantDeclValue)                                                                                        \
    X(getTypedefDeclUnderlyingType)                                                                                    \
    X(getTypeDeclaration)                                                                                              \
    X(getTypeSpelling)                                                                                                 \
    X(getCanonicalType)                                                                                                \
    X(getUnqualifiedType)                                                                                              \
    X(isConstQualifiedType)                                                                                            \
    X(isVolatileQualifiedType)                                                                                         \
    X(isRestrictQualifiedType)                                                                                         \
    X(Type_getSizeOf)                                                                                                  \
    X(Type_getNamedType)                                                                                               \
    X(Type_getValueType)                                                                                               \
    X(getPointeeType)                                                                                                  \
    X(getArrayElementType)                                                                                             \
    X(getArraySize)                                                                                                    \
    X(getResultType)                                                                                                   \
    X(getNumArgTypes)                                                                                                  \
    X(getArgType)                                                                                                      \
    X(isFunctionTypeVariadic)                                                                                          \
    X(getCString)                                                                                                      \
    X(disposeString)
#define DECLARE(name) decltype(&::clang_##name) clang_##name = nullptr;
    EACH_FUNCTION(DECLARE)
#undef DECLARE

    // Returns null if libclang is not installed.
    static const Clang* get() {
        static SharedLibrary file;
        static Clang clang;
        static const bool loaded = clang.load(file);
        return loaded ? &clang : nullptr;
    }

    std::string text(CXString string) const {
        const char* bytes = clang_getCString(string);
        std::string out = bytes ? bytes : "";
        clang_disposeString(string);
        return out;
    }

    // Calls `visit` for each direct child of `cursor`.
    void each(CXCursor cursor, const std::function<void(CXCursor)>& visit) const {
        auto call = [](CXCursor child, CXCursor, CXClientData data) {
            (*static_cast<const std::function<void(CXCursor)>*>(data))(child);
            return CXChildVisit_Continue;
        };
        clang_visitChildren(cursor, call, const_cast<std::function<void(CXCursor)>*>(&visit));
    }

    void each_field(CXType record, const std::function<void(CXCursor)>& visit) const {
        auto call = [](CXCursor field, CXClientData data) {
            (*static_cast<const std::function<void(CXCursor)>*>(data))(field);
            return CXVisit_Continue;
        };
        clang_Type_visitFields(record, call, const_cast<std::function<void(CXCursor)>*>(&visit));
    }

    // Returns the name, or "" for an unnamed declaration, which newer versions spell "(unnamed at ...)".
    std::string name_of(CXCursor cursor) const {
        std::string name = clang_Cursor_isAnonymous(cursor) ? "" : text(clang_getCursorSpelling(cursor));
        return name.find('(') == std::string::npos ? name : "";
    }

  private:
    bool load(SharedLibrary& file) {
        if (!file.load({"libclang-19.so.19", "libclang-19.so.1", "libclang.so", "libclang-18.so.18",
                        "libclang-17.so.17", "libclang-16.so.16"}))
            return false;
        bool all = true;
#define FIND(name) all = file.find(clang_##name, "clang_" #name) && all;
        EACH_FUNCTION(FIND)
#undef FIND
#undef EACH_FUNCTION
        return all;
    }
};

constexpr const char* unit_name = "/sonde/header.c"; // exists in memory only

void run_outside(const HeaderTarget& target, const std::function<void()>& run) {
    if (target.outside)
        target.outside(run);
    else
        run();
}

std::vector<std::string> sorted_unique(std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

} // namespace

class HeaderTypes::Reader final : public TypeSource {
  public:
    // `includes` are lines of C.
    Reader(const Clang& clang, std::string includes, bool is_32_bit, const HeaderTarget& target)
        : lib_(clang), includes_(std::move(includes)), is_32_bit_(is_32_bit), target_(target),
          index_(clang.clang_createIndex(0, 0)) {}
    ~Reader() {
        for (CXTranslationUnit unit : units_)
            lib_.clang_disposeTranslationUnit(unit);
        lib_.clang_disposeIndex(index_);
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    // Reads the headers without a lookup. Returns false and sets problem() on failure.
    bool open() {
        Unit all = parse("");
        if (!all.handle || !all.problem.empty()) {
            problem_ = all.problem.empty() ? "libclang cannot read it" : all.problem;
            return false;
        }
        lib_.each(lib_.clang_getTranslationUnitCursor(all.handle), [this](CXCursor at) { note_names(at); });
        return true;
    }
    const std::string& problem() const { return problem_; }

    const Type* find_type(const std::string& name) {
        auto [known, is_new] = found_.try_emplace(name, nullptr);
        if (is_new)
            known->second = look_up(name);
        return known->second;
    }

    std::optional<int64_t> constant(std::string_view expression) {
        if (!is_spelled_with(expression, "_ ()+-*/%<>&|^~!?:="))
            return std::nullopt;
        Unit unit = parse(fmt::format("enum {{ {}value = ({}) }};\n", wanted, expression));
        std::optional<int64_t> value;
        if (unit.handle && unit.bad_lines.empty())
            lib_.each(lib_.clang_getTranslationUnitCursor(unit.handle), [&](CXCursor at) {
                if (lib_.clang_getCursorKind(at) == CXCursor_EnumDecl)
                    lib_.each(at, [&](CXCursor one) {
                        if (lib_.name_of(one) == fmt::format("{}value", wanted))
                            value = lib_.clang_getEnumConstantDeclValue(one);
                    });
            });
        return value;
    }

    std::vector<std::string> type_names() const { return sorted_unique(type_names_); }
    std::vector<std::string> constant_names() const { return sorted_unique(constant_names_); }

    void complete(Type& record) override {
        auto origin = records_.find(&record);
        if (origin == records_.end())
            return;
        CXType from = origin->second;
        records_.erase(origin);
        lib_.each_field(from, [&](CXCursor field) {
            TypeMember member;
            member.name = lib_.name_of(field);
            member.type = type(lib_.clang_getCursorType(field));
            long long position = lib_.clang_Cursor_getOffsetOfField(field);
            if (position < 0)
                return;
            auto bits = static_cast<uint64_t>(position);
            member.byte_offset = bits / 8;
            if (lib_.clang_Cursor_isBitField(field)) {
                member.bit_size = static_cast<uint32_t>(std::max(lib_.clang_getFieldDeclBitWidth(field), 0));
                if (member.bit_size == 0) // a bit field of width 0 only ends a storage unit
                    return;
                place_bits(member, bits, strip(member.type)->size);
            }
            record.members.push_back(std::move(member));
        });
    }

  private:
    static constexpr const char* wanted = "__sonde_"; // prefix for declared names; no header uses it

    struct Unit {
        CXTranslationUnit handle = nullptr;
        std::string problem;             // the first error inside the header, or at the #include
        std::vector<unsigned> bad_lines; // lines with errors after the header, counted from 0
    };

    // Whether the text consists of letters, digits and `others` only, so that it cannot end the declaration into which
    // it is inserted.
    static bool is_spelled_with(std::string_view text, std::string_view others) {
        return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) || others.find(c) != std::string_view::npos;
        });
    }

    // Compiles the includes followed by `declarations`, with one declaration per line. Errors in these lines go to
    // bad_lines, all others to `problem`.
    Unit parse(const std::string& declarations) {
        std::string source = includes_ + declarations;
        auto first_line = static_cast<unsigned>(std::count(includes_.begin(), includes_.end(), '\n') + 1);
        CXUnsavedFile file = {unit_name, source.data(), source.size()};
        std::vector<const char*> arguments = {
            "-xc", "-std=gnu17", is_32_bit_ ? "-m32" : "-m64", "-ferror-limit=0", "-D_GNU_SOURCE", "-w"};
        const std::string triple = "--target=" + target_.triple, root = "--sysroot=" + target_.root;
        if (!target_.triple.empty())
            arguments.push_back(triple.c_str());
        if (!target_.root.empty())
            arguments.push_back(root.c_str());
        Unit out;
        // If libclang crashes, only this unit is lost. Switching recovery off afterwards restores the session's signal
        // handlers, which creating the index had replaced.
        lib_.clang_toggleCrashRecovery(1);
        run_outside(target_, [&] {
            lib_.clang_parseTranslationUnit2(index_, unit_name, arguments.data(), static_cast<int>(arguments.size()),
                                             &file, 1, CXTranslationUnit_SkipFunctionBodies, &out.handle);
        });
        lib_.clang_toggleCrashRecovery(0);
        if (!out.handle)
            return out;
        units_.push_back(out.handle);
        for (unsigned i = 0; i < lib_.clang_getNumDiagnostics(out.handle); i++) {
            CXDiagnostic one = lib_.clang_getDiagnostic(out.handle, i);
            if (lib_.clang_getDiagnosticSeverity(one) >= CXDiagnostic_Error) {
                CXFile where = nullptr;
                unsigned line = 0;
                lib_.clang_getFileLocation(lib_.clang_getDiagnosticLocation(one), &where, &line, nullptr, nullptr);
                std::string path = where ? lib_.text(lib_.clang_getFileName(where)) : "";
                if (path == unit_name && line >= first_line)
                    out.bad_lines.push_back(line - first_line);
                else if (out.problem.empty())
                    out.problem =
                        path == unit_name || path.empty()
                            ? lib_.text(lib_.clang_getDiagnosticSpelling(one))
                            : fmt::format("{}:{}: {}", path, line, lib_.text(lib_.clang_getDiagnosticSpelling(one)));
            }
            lib_.clang_disposeDiagnostic(one);
        }
        return out;
    }

    void note_names(CXCursor at) {
        std::string name = lib_.name_of(at);
        switch (lib_.clang_getCursorKind(at)) {
        case CXCursor_StructDecl:
            type_names_.push_back("struct " + name);
            break;
        case CXCursor_UnionDecl:
            type_names_.push_back("union " + name);
            break;
        case CXCursor_EnumDecl:
            type_names_.push_back("enum " + name);
            lib_.each(at, [this](CXCursor one) { constant_names_.push_back(lib_.name_of(one)); });
            break;
        case CXCursor_TypedefDecl:
            type_names_.push_back(name);
            break;
        default:
            break;
        }
    }

    // Declares one line for each possible meaning of the name. A meaning that is not valid causes an error in its line.
    const Type* look_up(const std::string& name) {
        size_t pointers = name.find('*');
        std::string plain = name.substr(0, pointers);
        while (plain.ends_with(' '))
            plain.pop_back();
        std::string stars = pointers == std::string::npos ? "" : name.substr(pointers);
        if (!is_spelled_with(plain, "_ ") || stars.find_first_not_of("* ") != std::string::npos)
            return nullptr;
        std::string declarations;
        // `stat` can be a typedef, or the tag of a struct, union or enum. Try all; a typedef takes precedence.
        const std::array<const char*, 4> keywords = {"", "struct ", "union ", "enum "};
        for (size_t i = 0; i < keywords.size(); i++)
            declarations += fmt::format("typedef {}{} {}{};\n", keywords[i], plain, wanted, i);
        Unit unit = parse(declarations);
        if (!unit.handle)
            return nullptr;
        std::array<std::optional<CXType>, keywords.size()> ways;
        lib_.each(lib_.clang_getTranslationUnitCursor(unit.handle), [&](CXCursor at) {
            if (lib_.clang_getCursorKind(at) != CXCursor_TypedefDecl)
                return;
            std::string declared = lib_.name_of(at);
            for (size_t i = 0; i < keywords.size(); i++)
                if (declared == fmt::format("{}{}", wanted, i) &&
                    std::find(unit.bad_lines.begin(), unit.bad_lines.end(), i) == unit.bad_lines.end())
                    ways[i] = lib_.clang_getTypedefDeclUnderlyingType(at);
        });
        for (const std::optional<CXType>& way : ways) {
            bool is_void = way && lib_.clang_getCanonicalType(*way).kind == CXType_Void;
            if (!way || (lib_.clang_Type_getSizeOf(*way) < 0 && !is_void))
                continue;
            const Type* out = type(*way);
            for (char c : stars)
                if (c == '*')
                    out = &pointer_to(out);
            return out;
        }
        return nullptr;
    }

    Type& pointer_to(const Type* target) {
        Type& out = made_.emplace_back();
        out.kind = Type::Pointer;
        out.size = is_32_bit_ ? 4 : 8;
        out.target = target;
        return out;
    }

    Type& wrap(Type::Kind kind, const Type* target) {
        Type& out = made_.emplace_back();
        out.kind = kind;
        out.target = target;
        out.size = target ? target->size : 0;
        return out;
    }

    const Type* type(CXType from) {
        // Convert the qualifiers, from the outside in.
        CXType plain = lib_.clang_getUnqualifiedType(from);
        if (lib_.clang_isConstQualifiedType(from) || lib_.clang_isVolatileQualifiedType(from) ||
            lib_.clang_isRestrictQualifiedType(from)) {
            const Type* out = type(plain);
            if (lib_.clang_isRestrictQualifiedType(from))
                out = &wrap(Type::Restrict, out);
            if (lib_.clang_isVolatileQualifiedType(from))
                out = &wrap(Type::Volatile, out);
            return lib_.clang_isConstQualifiedType(from) ? &wrap(Type::Const, out) : out;
        }
        switch (from.kind) {
        case CXType_Void:
            return nullptr;
        case CXType_Elaborated:
            return type(lib_.clang_Type_getNamedType(from));
        case CXType_Typedef: {
            CXCursor declared = lib_.clang_getTypeDeclaration(from);
            Type& out = wrap(Type::Typedef, type(lib_.clang_getTypedefDeclUnderlyingType(declared)));
            out.name = lib_.name_of(declared);
            return &out;
        }
        case CXType_Pointer:
            return &pointer_to(type(lib_.clang_getPointeeType(from)));
        case CXType_Atomic:
            return &wrap(Type::Atomic, type(lib_.clang_Type_getValueType(from)));
        case CXType_ConstantArray:
        case CXType_IncompleteArray: {
            Type& out = wrap(Type::Array, type(lib_.clang_getArrayElementType(from)));
            out.size = 0;
            if (from.kind == CXType_ConstantArray) {
                out.count = static_cast<uint64_t>(lib_.clang_getArraySize(from));
                out.size = size_of(from);
            }
            return &out;
        }
        case CXType_FunctionProto:
        case CXType_FunctionNoProto:
            return function(from);
        case CXType_Record:
        case CXType_Enum:
            return tagged(from);
        default:
            break;
        }
        CXType canonical = lib_.clang_getCanonicalType(from);
        return canonical.kind != from.kind ? type(canonical) : basic(from);
    }

    uint64_t size_of(CXType from) { return static_cast<uint64_t>(std::max(lib_.clang_Type_getSizeOf(from), 0LL)); }

    const Type* function(CXType from) {
        Type& out = wrap(Type::Function, type(lib_.clang_getResultType(from)));
        out.size = 0;
        for (int i = 0; i < lib_.clang_getNumArgTypes(from); i++) {
            TypeMember parameter;
            parameter.type = type(lib_.clang_getArgType(from, static_cast<unsigned>(i)));
            out.members.push_back(std::move(parameter));
        }
        if (lib_.clang_isFunctionTypeVariadic(from) && from.kind == CXType_FunctionProto)
            out.members.emplace_back().name = "...";
        return &out;
    }

    // Returns one object for each declaration, in whichever translation unit it is seen.
    const Type* tagged(CXType from) {
        CXCursor declared = lib_.clang_getTypeDeclaration(from);
        Type*& out = tagged_[lib_.text(lib_.clang_getCursorUSR(declared))];
        if (out && !out->incomplete)
            return out;
        if (!out)
            out = &made_.emplace_back();
        out->name = lib_.name_of(declared);
        out->size = size_of(from);
        out->incomplete = lib_.clang_Type_getSizeOf(from) < 0;
        if (from.kind == CXType_Enum) {
            out->kind = Type::Enum;
            lib_.each(declared, [&](CXCursor one) {
                int64_t value = lib_.clang_getEnumConstantDeclValue(one);
                out->is_signed = out->is_signed || value < 0;
                out->enumerators.push_back({lib_.name_of(one), value});
            });
            return out;
        }
        out->kind = lib_.clang_getCursorKind(declared) == CXCursor_UnionDecl ? Type::Union : Type::Struct;
        if (!out->incomplete) {
            out->source = this;
            records_.insert_or_assign(out, from);
        }
        return out;
    }

    const Type* basic(CXType from) {
        Type& out = made_.emplace_back();
        out.name = lib_.text(lib_.clang_getTypeSpelling(from));
        out.size = size_of(from);
        switch (from.kind) {
        case CXType_Bool:
            out.kind = Type::Boolean;
            break;
        case CXType_Char_S:
        case CXType_SChar:
            out.kind = Type::Character;
            out.is_signed = true;
            break;
        case CXType_Char_U:
        case CXType_UChar:
            out.kind = Type::Character;
            break;
        case CXType_Short:
        case CXType_Int:
        case CXType_Long:
        case CXType_LongLong:
        case CXType_Int128:
            out.kind = Type::Integer;
            out.is_signed = true;
            break;
        case CXType_UShort:
        case CXType_UInt:
        case CXType_ULong:
        case CXType_ULongLong:
        case CXType_UInt128:
            out.kind = Type::Integer;
            break;
        case CXType_Float:
        case CXType_Double:
        case CXType_LongDouble:
        case CXType_Float128:
        case CXType_Half:
            out.kind = Type::Float;
            break;
        default:
            break;
        }
        return &out;
    }

    const Clang& lib_;
    const std::string includes_;
    const bool is_32_bit_;
    const HeaderTarget target_;
    const CXIndex index_;
    std::string problem_;
    std::vector<CXTranslationUnit> units_; // types that are not complete yet are read from these
    std::vector<std::string> type_names_, constant_names_;
    std::unordered_map<std::string, const Type*> found_;
    std::deque<Type> made_;
    std::map<std::string, Type*> tagged_; // by libclang's unified symbol resolution (USR) of the declaration
    std::unordered_map<const Type*, CXType> records_; // their members were not read yet
};

HeaderTypes::HeaderTypes(std::unique_ptr<Reader> reader) : reader_(std::move(reader)) {}
HeaderTypes::~HeaderTypes() = default;

Result<std::unique_ptr<HeaderTypes>> HeaderTypes::open(const std::string& name, bool is_32_bit,
                                                       const HeaderTarget& target) {
    // The name becomes part of a line of C.
    if (name.empty() || name.find_first_of("<>\"\n\r") != std::string::npos || name.find('\0') != std::string::npos)
        return Error(fmt::format("`<{}>` is not a header's name", name));
    return read(fmt::format("#include <{}>\n", name), is_32_bit, target);
}

Result<std::unique_ptr<HeaderTypes>> HeaderTypes::open_system(const HeaderTarget& target) {
    std::string includes;
    for (const char* name : {"errno.h",         "fcntl.h",         "limits.h",           "poll.h",
                             "sched.h",         "signal.h",        "stdint.h",           "sys/epoll.h",
                             "sys/ioctl.h",     "sys/mman.h",      "sys/mount.h",        "sys/prctl.h",
                             "sys/ptrace.h",    "sys/resource.h",  "sys/socket.h",       "sys/stat.h",
                             "sys/time.h",      "sys/un.h",        "sys/wait.h",         "netinet/in.h",
                             "netinet/tcp.h",   "netinet/udp.h",   "linux/capability.h", "linux/futex.h",
                             "linux/netlink.h", "linux/seccomp.h", "linux/securebits.h", "linux/magic.h"})
        includes += fmt::format("#if __has_include(<{0}>)\n#include <{0}>\n#endif\n", name);
    return read(includes, false, target);
}

Result<std::unique_ptr<HeaderTypes>> HeaderTypes::read(const std::string& includes, bool is_32_bit,
                                                       const HeaderTarget& target) {
    const Clang* clang = nullptr;
    run_outside(target, [&] { clang = Clang::get(); });
    if (!clang)
        return Error(
            can_load_libraries()
                ? "reading headers needs libclang, which is not installed (Debian: libclang1-19)"
                : "reading headers needs libclang, which this static sonde cannot load; use sonde from a package");
    auto reader = std::make_unique<Reader>(*clang, includes, is_32_bit, target);
    if (!reader->open())
        return Error(reader->problem());
    return std::unique_ptr<HeaderTypes>(new HeaderTypes(std::move(reader)));
}

const Type* HeaderTypes::find_type(std::string_view name) { return reader_->find_type(std::string(name)); }
std::vector<std::string> HeaderTypes::type_names() { return reader_->type_names(); }
std::optional<int64_t> HeaderTypes::constant(std::string_view expression) { return reader_->constant(expression); }
std::vector<std::string> HeaderTypes::constant_names() { return reader_->constant_names(); }

} // namespace sonde
