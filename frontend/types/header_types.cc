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

// The functions of libclang that are used, under their names without `clang_`. Its interface is the same in all
// versions since 16.
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
#define DECLARE(name) decltype(&clang_##name) name = nullptr;
    EACH_FUNCTION(DECLARE)
#undef DECLARE

    // Null: it is not installed.
    static const Clang* get() {
        static SharedLibrary file;
        static Clang clang;
        static const bool loaded = clang.load(file);
        return loaded ? &clang : nullptr;
    }

    std::string text(CXString string) const {
        const char* bytes = getCString(string);
        std::string out = bytes ? bytes : "";
        disposeString(string);
        return out;
    }

    // Calls `visit` for what is declared in `cursor`, one level deep.
    void each(CXCursor cursor, const std::function<void(CXCursor)>& visit) const {
        auto call = [](CXCursor child, CXCursor, CXClientData data) {
            (*static_cast<const std::function<void(CXCursor)>*>(data))(child);
            return CXChildVisit_Continue;
        };
        visitChildren(cursor, call, const_cast<std::function<void(CXCursor)>*>(&visit));
    }

    void each_field(CXType record, const std::function<void(CXCursor)>& visit) const {
        auto call = [](CXCursor field, CXClientData data) {
            (*static_cast<const std::function<void(CXCursor)>*>(data))(field);
            return CXVisit_Continue;
        };
        Type_visitFields(record, call, const_cast<std::function<void(CXCursor)>*>(&visit));
    }

    // Its name; empty where it has none, which newer versions write as "(unnamed at ...)".
    std::string name_of(CXCursor cursor) const {
        std::string name = Cursor_isAnonymous(cursor) ? "" : text(getCursorSpelling(cursor));
        return name.find('(') == std::string::npos ? name : "";
    }

  private:
    bool load(SharedLibrary& file) {
        if (!file.load({"libclang-19.so.19", "libclang-19.so.1", "libclang.so", "libclang-18.so.18",
                        "libclang-17.so.17", "libclang-16.so.16"}))
            return false;
        bool all = true;
#define FIND(name) all = file.find(name, "clang_" #name) && all;
        EACH_FUNCTION(FIND)
#undef FIND
#undef EACH_FUNCTION
        // Signals stay the session's.
        if (all)
            toggleCrashRecovery(0);
        return all;
    }
};

constexpr const char* unit_name = "/sonde/header.c"; // in memory only

std::vector<std::string> sorted_unique(std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

} // namespace

class HeaderTypes::Reader final : public TypeSource {
  public:
    // `includes`: lines of C.
    Reader(const Clang& clang, std::string includes, bool is_32_bit)
        : clang_(clang), includes_(std::move(includes)), is_32_bit_(is_32_bit), index_(clang.createIndex(0, 0)) {}
    ~Reader() {
        for (CXTranslationUnit unit : units_)
            clang_.disposeTranslationUnit(unit);
        clang_.disposeIndex(index_);
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    // Reads the headers alone. False: problem() says why.
    bool open() {
        Unit all = parse("");
        if (!all.handle || !all.problem.empty()) {
            problem_ = all.problem.empty() ? "libclang cannot read it" : all.problem;
            return false;
        }
        clang_.each(clang_.getTranslationUnitCursor(all.handle), [this](CXCursor at) { note_names(at); });
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
            clang_.each(clang_.getTranslationUnitCursor(unit.handle), [&](CXCursor at) {
                if (clang_.getCursorKind(at) == CXCursor_EnumDecl)
                    clang_.each(at, [&](CXCursor one) {
                        if (clang_.name_of(one) == fmt::format("{}value", wanted))
                            value = clang_.getEnumConstantDeclValue(one);
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
        clang_.each_field(from, [&](CXCursor field) {
            TypeMember member;
            member.name = clang_.name_of(field);
            member.type = type(clang_.getCursorType(field));
            long long position = clang_.Cursor_getOffsetOfField(field);
            if (position < 0)
                return;
            auto bits = static_cast<uint64_t>(position);
            member.byte_offset = bits / 8;
            if (clang_.Cursor_isBitField(field)) {
                member.bit_size = static_cast<uint32_t>(std::max(clang_.getFieldDeclBitWidth(field), 0));
                if (member.bit_size == 0) // ends a unit
                    return;
                place_bits(member, bits, strip(member.type)->size);
            }
            record.members.push_back(std::move(member));
        });
    }

  private:
    static constexpr const char* wanted = "__sonde_"; // in front of names that no header has

    struct Unit {
        CXTranslationUnit handle = nullptr;
        std::string problem;             // the first error in the header, or with it
        std::vector<unsigned> bad_lines; // of what follows the header, from 0
    };

    // Nothing but letters, digits and `others`: it cannot leave its declaration.
    static bool is_spelled_with(std::string_view text, std::string_view others) {
        return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) || others.find(c) != std::string_view::npos;
        });
    }

    Unit parse(const std::string& declarations) {
        std::string source = includes_ + declarations;
        auto first_line = static_cast<unsigned>(std::count(includes_.begin(), includes_.end(), '\n') + 1);
        CXUnsavedFile file = {unit_name, source.data(), source.size()};
        std::array<const char*, 6> arguments = {
            "-xc", "-std=gnu17", is_32_bit_ ? "-m32" : "-m64", "-ferror-limit=0", "-D_GNU_SOURCE", "-w"};
        Unit out;
        clang_.parseTranslationUnit2(index_, unit_name, arguments.data(), static_cast<int>(arguments.size()), &file, 1,
                                     CXTranslationUnit_SkipFunctionBodies, &out.handle);
        if (!out.handle)
            return out;
        units_.push_back(out.handle);
        for (unsigned i = 0; i < clang_.getNumDiagnostics(out.handle); i++) {
            CXDiagnostic one = clang_.getDiagnostic(out.handle, i);
            if (clang_.getDiagnosticSeverity(one) >= CXDiagnostic_Error) {
                CXFile where = nullptr;
                unsigned line = 0;
                clang_.getFileLocation(clang_.getDiagnosticLocation(one), &where, &line, nullptr, nullptr);
                std::string path = where ? clang_.text(clang_.getFileName(where)) : "";
                if (path == unit_name && line >= first_line)
                    out.bad_lines.push_back(line - first_line);
                else if (out.problem.empty())
                    out.problem =
                        path == unit_name || path.empty()
                            ? clang_.text(clang_.getDiagnosticSpelling(one))
                            : fmt::format("{}:{}: {}", path, line, clang_.text(clang_.getDiagnosticSpelling(one)));
            }
            clang_.disposeDiagnostic(one);
        }
        return out;
    }

    void note_names(CXCursor at) {
        std::string name = clang_.name_of(at);
        switch (clang_.getCursorKind(at)) {
        case CXCursor_StructDecl:
            type_names_.push_back("struct " + name);
            break;
        case CXCursor_UnionDecl:
            type_names_.push_back("union " + name);
            break;
        case CXCursor_EnumDecl:
            type_names_.push_back("enum " + name);
            clang_.each(at, [this](CXCursor one) { constant_names_.push_back(clang_.name_of(one)); });
            break;
        case CXCursor_TypedefDecl:
            type_names_.push_back(name);
            break;
        default:
            break;
        }
    }

    // Each way to read the name is a line of its own; one that is none leaves an error at its line.
    const Type* look_up(std::string name) {
        size_t pointers = name.find('*');
        std::string plain = name.substr(0, pointers);
        while (plain.ends_with(' '))
            plain.pop_back();
        std::string stars = pointers == std::string::npos ? "" : name.substr(pointers);
        if (!is_spelled_with(plain, "_ ") || stars.find_first_not_of("* ") != std::string::npos)
            return nullptr;
        std::string declarations;
        const std::array<const char*, 4> keywords = {"", "struct ", "union ", "enum "};
        for (size_t i = 0; i < keywords.size(); i++)
            declarations += fmt::format("typedef {}{} {}{};\n", keywords[i], plain, wanted, i);
        Unit unit = parse(declarations);
        if (!unit.handle)
            return nullptr;
        std::array<std::optional<CXType>, keywords.size()> ways;
        clang_.each(clang_.getTranslationUnitCursor(unit.handle), [&](CXCursor at) {
            if (clang_.getCursorKind(at) != CXCursor_TypedefDecl)
                return;
            std::string declared = clang_.name_of(at);
            for (size_t i = 0; i < keywords.size(); i++)
                if (declared == fmt::format("{}{}", wanted, i) &&
                    std::find(unit.bad_lines.begin(), unit.bad_lines.end(), i) == unit.bad_lines.end())
                    ways[i] = clang_.getTypedefDeclUnderlyingType(at);
        });
        for (const std::optional<CXType>& way : ways) {
            bool is_void = way && clang_.getCanonicalType(*way).kind == CXType_Void;
            if (!way || (clang_.Type_getSizeOf(*way) < 0 && !is_void))
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
        // Qualifiers, from the outside in.
        CXType plain = clang_.getUnqualifiedType(from);
        if (clang_.isConstQualifiedType(from) || clang_.isVolatileQualifiedType(from) ||
            clang_.isRestrictQualifiedType(from)) {
            const Type* out = type(plain);
            if (clang_.isRestrictQualifiedType(from))
                out = &wrap(Type::Restrict, out);
            if (clang_.isVolatileQualifiedType(from))
                out = &wrap(Type::Volatile, out);
            return clang_.isConstQualifiedType(from) ? &wrap(Type::Const, out) : out;
        }
        switch (from.kind) {
        case CXType_Void:
            return nullptr;
        case CXType_Elaborated:
            return type(clang_.Type_getNamedType(from));
        case CXType_Typedef: {
            CXCursor declared = clang_.getTypeDeclaration(from);
            Type& out = wrap(Type::Typedef, type(clang_.getTypedefDeclUnderlyingType(declared)));
            out.name = clang_.name_of(declared);
            return &out;
        }
        case CXType_Pointer:
            return &pointer_to(type(clang_.getPointeeType(from)));
        case CXType_Atomic:
            return &wrap(Type::Atomic, type(clang_.Type_getValueType(from)));
        case CXType_ConstantArray:
        case CXType_IncompleteArray: {
            Type& out = wrap(Type::Array, type(clang_.getArrayElementType(from)));
            out.size = 0;
            if (from.kind == CXType_ConstantArray) {
                out.count = static_cast<uint64_t>(clang_.getArraySize(from));
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
        CXType canonical = clang_.getCanonicalType(from);
        return canonical.kind != from.kind ? type(canonical) : basic(from);
    }

    uint64_t size_of(CXType from) { return static_cast<uint64_t>(std::max(clang_.Type_getSizeOf(from), 0LL)); }

    const Type* function(CXType from) {
        Type& out = wrap(Type::Function, type(clang_.getResultType(from)));
        out.size = 0;
        for (int i = 0; i < clang_.getNumArgTypes(from); i++) {
            TypeMember parameter;
            parameter.type = type(clang_.getArgType(from, static_cast<unsigned>(i)));
            out.members.push_back(std::move(parameter));
        }
        if (clang_.isFunctionTypeVariadic(from) && from.kind == CXType_FunctionProto)
            out.members.emplace_back().name = "...";
        return &out;
    }

    // One object for each declaration, in whichever unit.
    const Type* tagged(CXType from) {
        CXCursor declared = clang_.getTypeDeclaration(from);
        Type*& out = tagged_[clang_.text(clang_.getCursorUSR(declared))];
        if (out && !out->incomplete)
            return out;
        if (!out)
            out = &made_.emplace_back();
        out->name = clang_.name_of(declared);
        out->size = size_of(from);
        out->incomplete = clang_.Type_getSizeOf(from) < 0;
        if (from.kind == CXType_Enum) {
            out->kind = Type::Enum;
            clang_.each(declared, [&](CXCursor one) {
                int64_t value = clang_.getEnumConstantDeclValue(one);
                out->is_signed = out->is_signed || value < 0;
                out->enumerators.push_back({clang_.name_of(one), value});
            });
            return out;
        }
        out->kind = clang_.getCursorKind(declared) == CXCursor_UnionDecl ? Type::Union : Type::Struct;
        if (!out->incomplete) {
            out->source = this;
            records_.insert_or_assign(out, from);
        }
        return out;
    }

    const Type* basic(CXType from) {
        Type& out = made_.emplace_back();
        out.name = clang_.text(clang_.getTypeSpelling(from));
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

    const Clang& clang_;
    const std::string includes_;
    const bool is_32_bit_;
    const CXIndex index_;
    std::string problem_;
    std::vector<CXTranslationUnit> units_; // types that are not complete yet are read from these
    std::vector<std::string> type_names_, constant_names_;
    std::unordered_map<std::string, const Type*> found_;
    std::deque<Type> made_;
    std::map<std::string, Type*> tagged_; // by the declaration's unified symbol resolution, libclang's name for it
    std::unordered_map<const Type*, CXType> records_; // whose members are not there yet
};

HeaderTypes::HeaderTypes(std::unique_ptr<Reader> reader) : reader_(std::move(reader)) {}
HeaderTypes::~HeaderTypes() = default;

Result<std::unique_ptr<HeaderTypes>> HeaderTypes::open(const std::string& name, bool is_32_bit) {
    // It becomes a line of C.
    if (name.empty() || name.find_first_of("<>\"\n\r") != std::string::npos || name.find('\0') != std::string::npos)
        return Error(fmt::format("`<{}>` is no header's name", name));
    return read(fmt::format("#include <{}>\n", name), is_32_bit);
}

Result<std::unique_ptr<HeaderTypes>> HeaderTypes::open_system() {
    std::string includes;
    for (const char* name : {"errno.h",         "fcntl.h",         "limits.h",           "poll.h",
                             "sched.h",         "signal.h",        "stdint.h",           "sys/epoll.h",
                             "sys/ioctl.h",     "sys/mman.h",      "sys/mount.h",        "sys/prctl.h",
                             "sys/ptrace.h",    "sys/resource.h",  "sys/socket.h",       "sys/stat.h",
                             "sys/time.h",      "sys/un.h",        "sys/wait.h",         "netinet/in.h",
                             "netinet/tcp.h",   "netinet/udp.h",   "linux/capability.h", "linux/futex.h",
                             "linux/netlink.h", "linux/seccomp.h", "linux/securebits.h", "linux/magic.h"})
        includes += fmt::format("#if __has_include(<{0}>)\n#include <{0}>\n#endif\n", name);
    return read(includes, false);
}

Result<std::unique_ptr<HeaderTypes>> HeaderTypes::read(const std::string& includes, bool is_32_bit) {
    const Clang* clang = Clang::get();
    if (!clang)
        return Error("headers are read by libclang, which is not installed (Debian: libclang1-19)");
    auto reader = std::make_unique<Reader>(*clang, includes, is_32_bit);
    if (!reader->open())
        return Error(reader->problem());
    return std::unique_ptr<HeaderTypes>(new HeaderTypes(std::move(reader)));
}

const Type* HeaderTypes::find_type(std::string_view name) { return reader_->find_type(std::string(name)); }
std::vector<std::string> HeaderTypes::type_names() { return reader_->type_names(); }
std::optional<int64_t> HeaderTypes::constant(std::string_view expression) { return reader_->constant(expression); }
std::vector<std::string> HeaderTypes::constant_names() { return reader_->constant_names(); }

} // namespace sonde
