// base: results, sources, diagnostics, suggestions, descriptors, globs, ELF files. The ELF tests read this program
// itself, and copies of it with one error each.
#include <gtest/gtest.h>

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>

#include "arch/architecture.h"
#include "base/byte_cursor.h"
#include "base/diag.h"
#include "base/elf_file.h"
#include "base/elf_notes.h"
#include "base/fd.h"
#include "base/glob.h"
#include "base/result.h"
#include "base/shared_libraries.h"
#include "base/source.h"
#include "base/suggest.h"
#include "base/symbol_parts.h"
#include "base/terminal_text.h"

namespace sonde {
namespace {

// A folder that is deleted at the end of the test.
class TempFolder {
  public:
    TempFolder() : path_((std::filesystem::temp_directory_path() / "sonde-test-XXXXXX").string()) {
        EXPECT_NE(mkdtemp(path_.data()), nullptr);
    }
    ~TempFolder() { std::filesystem::remove_all(path_); }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;

    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    std::string write(const std::string& name, std::string_view text, mode_t mode = 0644) const {
        EXPECT_TRUE(write_file(*this / name, text).ok());
        EXPECT_EQ(chmod((*this / name).c_str(), mode), 0);
        return *this / name;
    }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// ---- result
// -----------------------------------------------------------------------------------------------------------

TEST(TerminalText, EscapesWhatActs) {
    EXPECT_EQ(terminal_text("plain\n\ttext"), "plain\n\ttext");
    EXPECT_EQ(terminal_text("\033[31m\r\a\x7f"), "\\033[31m\\015\\007\\177");
    EXPECT_EQ(terminal_text("caf\xc3\xa9 \xe2\x82\xac"), "caf\xc3\xa9 \xe2\x82\xac");
    EXPECT_EQ(terminal_text("\xc2\x9b"
                            "31m"),
              "\\302\\23331m");                                  // C1, as UTF-8
    EXPECT_EQ(terminal_text("\x9b\xff\xc3"), "\\233\\377\\303"); // and not as UTF-8
    EXPECT_EQ(terminal_text(""), "");
}

TEST(Result, ErrorsCarryContextAndErrno) {
    Error error = errno_error("cannot read `x`", ENOENT);
    EXPECT_EQ(error.message, "cannot read `x`: no such file or directory");
    EXPECT_EQ(error.os_error, ENOENT);
    EXPECT_EQ(std::move(error).in("library").message, "library: cannot read `x`: no such file or directory");
    EXPECT_EQ(errno_error("", EPERM).message, "operation not permitted");
}

TEST(Result, AccessOnTheWrongSideIsABug) {
    Result<int> refused = Error("no");
    EXPECT_DEATH((void)*refused, "internal error at .*result.h");
    Result<int> value = 3;
    EXPECT_DEATH((void)value.error(), "internal error");
}

// ---- source
// -----------------------------------------------------------------------------------------------------------

TEST(Sources, LinesAndColumns) {
    Sources sources;
    FileId file = sources.add("a.stp", "one\n\tthree\r\n\nend");
    EXPECT_EQ(sources.place({file, 0, 1}), "a.stp:1:1");
    EXPECT_EQ(sources.place({file, 3, 4}), "a.stp:1:4"); // the newline belongs to its line
    EXPECT_EQ(sources.place({file, 5, 6}), "a.stp:2:2");
    EXPECT_EQ(sources.place({file, 16, 16}), "a.stp:4:4"); // the end
    EXPECT_EQ(sources.place({file, 900, 901}), "a.stp:4:4");
    EXPECT_EQ(sources.line_text(file, 1), "one");
    EXPECT_EQ(sources.line_text(file, 2), "\tthree");
    EXPECT_EQ(sources.line_text(file, 3), "");
    EXPECT_EQ(sources.line_text(file, 4), "end");
    EXPECT_EQ(sources.line_text(file, 5), "");
    EXPECT_EQ(sources.text(Range{file, 13, 900}), "end");
    EXPECT_EQ(sources.name(0), "<built-in>");
    EXPECT_EQ(sources.place({}), "<built-in>");
}

TEST(Sources, EmptyTextHasOneLine) {
    Sources sources;
    FileId file = sources.add("e", "", true);
    EXPECT_EQ(sources.place({file, 0, 0}), "e:1:1");
    EXPECT_EQ(sources.line_text(file, 1), "");
    EXPECT_TRUE(sources.is_tapset(file));
}

TEST(Sources, TextsDoNotMove) {
    Sources sources;
    std::string_view first = sources.text(sources.add("a", "short"));
    for (int i = 0; i < 100; i++)
        sources.add("b", "x");
    EXPECT_EQ(first.data(), sources.text(1).data());
}

TEST(Range, Join) {
    Range joined = Range::join({1, 5, 7}, {1, 2, 6});
    EXPECT_EQ(joined.begin, 2u);
    EXPECT_EQ(joined.end, 7u);
    EXPECT_EQ(Range::join({1, 5, 7}, {2, 2, 6}).file, 1u);
    EXPECT_EQ(Range::join({}, {2, 2, 6}).begin, 2u);
    EXPECT_EQ(Range::join({1, 5, 7}, {}).begin, 5u);
}

// ---- diagnostics
// ------------------------------------------------------------------------------------------------------

struct DiagTest : testing::Test {
    Sources sources;
    Diagnostics diags{sources};

    Range find(FileId file, std::string_view part) {
        auto at = static_cast<uint32_t>(sources.text(file).find(part));
        return {file, at, at + static_cast<uint32_t>(part.size())};
    }
};

TEST_F(DiagTest, RendersPlaceSnippetNotesAndHelp) {
    FileId file = sources.add("file.stp", "global n\n\nprobe begin {\n\tfoo(1)\n}\n");
    diags.report(DiagId::UnknownFunction, find(file, "foo"), "unknown function `foo`")
        .note(find(file, "n"), "not this one")
        .note({}, "there are no others")
        .suggest("")
        .suggest("for");
    EXPECT_EQ(diags.render(false), "error[unknown-function]: unknown function `foo`\n"
                                   " --> file.stp:4:2\n"
                                   "  |\n"
                                   "4 | \tfoo(1)\n"
                                   "  | \t^^^\n"
                                   "note: not this one\n"
                                   " --> file.stp:1:8\n"
                                   "  |\n"
                                   "1 | global n\n"
                                   "  |        ^\n"
                                   "note: there are no others\n"
                                   "help: did you mean `for`?\n");
}

TEST_F(DiagTest, GutterIsAsWideAsTheWidestLineNumber) {
    FileId file = sources.add("f", std::string(9, '\n') + "x");
    diags.report(DiagId::Syntax, {file, 9, 10}, "no").note({file, 0, 0}, "here");
    EXPECT_EQ(diags.render(false), "error[syntax]: no\n"
                                   "  --> f:10:1\n"
                                   "   |\n"
                                   "10 | x\n"
                                   "   | ^\n"
                                   "note: here\n"
                                   "  --> f:1:1\n"
                                   "   |\n"
                                   " 1 | \n"
                                   "   | ^\n");
}

TEST_F(DiagTest, UnderlineIsClippedToTheLine) {
    FileId file = sources.add("f", "ab {\n}\n");
    diags.report(DiagId::Syntax, {file, 3, 6}, "several lines");
    EXPECT_TRUE(contains(diags.render(false), "1 | ab {\n  |    ^\n"));
}

TEST_F(DiagTest, EndOfFileGetsOneCaret) {
    FileId file = sources.add("f", "probe");
    diags.report(DiagId::Syntax, {file, 5, 5}, "unexpected end");
    EXPECT_TRUE(contains(diags.render(false), "1 | probe\n  |      ^\n"));
}

TEST_F(DiagTest, CaretsUnderATabFillIt) {
    // The text begins in column 4, so the tab after "x" reaches from column 5 to 8.
    FileId file = sources.add("f", "x\ty");
    diags.report(DiagId::Syntax, {file, 0, 3}, "all");
    EXPECT_TRUE(contains(diags.render(false), "1 | x\ty\n  | ^^^^^\n"));
}

TEST_F(DiagTest, CountsCharactersNotBytes) {
    FileId file = sources.add("f", "\"\xc3\xa4\xe2\x82\xac\" x");
    diags.report(DiagId::Syntax, find(file, "x"), "no");
    EXPECT_TRUE(contains(diags.render(false), "\n  |      ^\n"));
}

TEST_F(DiagTest, ControlCharactersDoNotReachTheTerminal) {
    FileId file = sources.add("f", "a\033[31m\x7f");
    diags.report(DiagId::BadCharacter, {file, 1, 2}, "bad character `\033`");
    std::string text = diags.render(false);
    EXPECT_EQ(text.find('\033'), std::string::npos);
    EXPECT_TRUE(contains(text, "1 | a?[31m?\n  |  ^\n"));
}

TEST_F(DiagTest, OfALongLineThereIsWhatIsAround) {
    std::string left(1000, 'l'), right(100'000, 'r');
    FileId file = sources.add("f", left + "x" + right);
    diags.report(DiagId::Syntax, {file, 1000, 1001}, "no");
    std::string text = diags.render(false);
    EXPECT_TRUE(contains(text, " --> f:1:1001\n"));
    EXPECT_TRUE(contains(text, "1 | ..." + left.substr(0, 100) + "x" + right.substr(0, 299) + "...\n"));
    EXPECT_TRUE(contains(text, "  | " + std::string(103, ' ') + "^\n"));
}

TEST_F(DiagTest, WithoutAPlaceThereIsNoSnippet) {
    diags.report(DiagId::BadArgument, {}, "no");
    EXPECT_EQ(diags.render(false), "error[bad-argument]: no\n");
}

TEST_F(DiagTest, ColorIsOnlyAdded) {
    FileId file = sources.add("f", "x");
    diags.report(DiagId::UnusedVariable, {file, 0, 1}, "unused").note({}, "n").help("h");
    std::string colored = diags.render(true), plain;
    EXPECT_TRUE(contains(colored, "\033[1;33mwarning[unused-variable]\033[0m"));
    for (size_t i = 0; i < colored.size(); i++) {
        if (colored[i] == '\033')
            i = colored.find('m', i);
        else
            plain += colored[i];
    }
    EXPECT_EQ(plain, diags.render(false));
}

TEST_F(DiagTest, WarningOptions) {
    FileId file = sources.add("f", "x");
    FileId library = sources.add("l", "x", true);
    diags.report(DiagId::UnusedVariable, {file, 0, 1}, "kept");
    diags.report(DiagId::UnusedVariable, {library, 0, 1}, "not the user's");
    EXPECT_FALSE(diags.has_errors());
    ASSERT_EQ(diags.all().size(), 1u);
    EXPECT_EQ(diags.all()[0].severity, Severity::Warning);

    diags.warnings_fatal = true;
    diags.report(DiagId::UnusedVariable, {file, 0, 1}, "an error now");
    EXPECT_EQ(diags.error_count(), 1u);
    EXPECT_EQ(diags.all()[1].severity, Severity::Error);
    EXPECT_TRUE(contains(diags.render(false), "error[unused-variable]: an error now"));

    diags.warnings_off = true;
    diags.report(DiagId::UnusedVariable, {file, 0, 1}, "dropped").note({}, "nowhere");
    EXPECT_EQ(diags.all().size(), 2u);
    EXPECT_EQ(diags.error_count(), 1u);
}

TEST_F(DiagTest, SuppressCountsAndKeepsNothing) {
    diags.warnings_fatal = true;
    {
        Diagnostics::Suppress outer(diags);
        diags.report(DiagId::Syntax, {}, "one").note({}, "nowhere").help("nowhere");
        EXPECT_EQ(outer.errors(), 1u);
        {
            Diagnostics::Suppress inner(diags);
            EXPECT_EQ(inner.errors(), 0u);
            diags.report(DiagId::UnusedVariable, {}, "a warning is not an error here");
            diags.report(DiagId::Syntax, {}, "two");
            EXPECT_EQ(inner.errors(), 1u);
        }
        diags.report(DiagId::Syntax, {}, "three");
        EXPECT_EQ(outer.errors(), 2u); // the inner guard's do not count
    }
    EXPECT_FALSE(diags.has_errors());
    EXPECT_TRUE(diags.all().empty());
    EXPECT_EQ(diags.render(false), "");
    diags.report(DiagId::Syntax, {}, "kept");
    EXPECT_TRUE(diags.has_errors());
}

TEST_F(DiagTest, LaterReportsDoNotBreakABuilder) {
    DiagBuilder first = diags.report(DiagId::Syntax, {}, "first");
    for (int i = 0; i < 1000; i++)
        diags.report(DiagId::Syntax, {}, "more");
    first.help("late");
    EXPECT_EQ(diags.all().front().helps, std::vector<std::string>{"late"});
}

TEST(Diag, Names) {
    EXPECT_STREQ(diag_name(DiagId::BadCharacter), "bad-character");
    EXPECT_STREQ(diag_name(DiagId::SideEffectFree), "side-effect-free");
}

// ---- suggestions
// ------------------------------------------------------------------------------------------------------

TEST(Suggest, NearNames) {
    std::vector<std::string> names = {"print", "printf", "println", "sprintf", "execname", "pid", "tid", "user_string"};
    EXPECT_EQ(nearest_name("pritn", names), "print");
    EXPECT_EQ(nearest_name("prinft", names), "printf");
    EXPECT_EQ(nearest_name("execnam", names), "execname");
    EXPECT_EQ(nearest_name("userstring", names), "user_string");
    EXPECT_EQ(nearest_name("string_user", names), "user_string");
    EXPECT_EQ(nearest_name("PID", names), "pid");
    EXPECT_EQ(nearest_name("pd", names), "pid");
}

TEST(Suggest, NothingNear) {
    std::vector<std::string> names = {"print", "x", "ab", ""};
    EXPECT_EQ(nearest_name("zzz", names), "");
    EXPECT_EQ(nearest_name("y", names), "");
    EXPECT_EQ(nearest_name("", names), "");
    EXPECT_EQ(nearest_name("print", {"print"}), ""); // an exact match is not a suggestion
    EXPECT_EQ(nearest_name("print", {}), "");
}

TEST(Suggest, SeveralNearestFirst) {
    std::vector<std::string> names = {"counter_b", "count", "counter", "counter", "coutner"};
    EXPECT_EQ(nearest_names("countre", names, 3), (std::vector<std::string>{"counter", "coutner", "count"}));
    EXPECT_EQ(nearest_names("countre", names, 1), std::vector<std::string>{"counter"});
    EXPECT_TRUE(nearest_names("countre", names, 0).empty());
}

// ---- descriptors and files
// --------------------------------------------------------------------------------------------

TEST(Fd, OwnsAndMoves) {
    TempFolder folder;
    int raw = -1;
    {
        Fd fd(open(folder.path().c_str(), O_RDONLY | O_DIRECTORY));
        ASSERT_TRUE(fd.valid());
        raw = fd.get();
        Fd other = std::move(fd);
        EXPECT_EQ(other.get(), raw);
        fd = std::move(other);
        EXPECT_EQ(fd.get(), raw);
    }
    EXPECT_EQ(fcntl(raw, F_GETFD), -1);
}

TEST(Files, ReadAndWrite) {
    TempFolder folder;
    std::string big(300000, 'x');
    big[5] = '\0';
    ASSERT_TRUE(write_file(folder / "big", big).ok());
    Result<std::string> text = read_file(folder / "big");
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(*text, big);
    Result<std::string> proc = read_file("/proc/self/status"); // its size is unknown beforehand
    ASSERT_TRUE(proc.ok());
    EXPECT_TRUE(contains(*proc, "Name:"));
}

TEST(Files, Errors) {
    TempFolder folder;
    EXPECT_EQ(read_file(folder / "none").error().message,
              "cannot read `" + (folder / "none") + "`: no such file or directory");
    EXPECT_EQ(read_file(folder.path()).error().message, "cannot read `" + folder.path() + "`: is a directory");
    EXPECT_EQ(write_file(folder / "no/where", "x").error().os_error, ENOENT);
    Result<Fd> full = open_file("/dev/full", O_WRONLY);
    ASSERT_TRUE(full.ok());
    EXPECT_EQ(write_all(full->get(), "x", "/dev/full").error().message,
              "cannot write `/dev/full`: no space left on device");
}

// ---- globs
// ------------------------------------------------------------------------------------------------------------

TEST(Glob, Matches) {
    struct Row {
        const char *pattern, *text;
        bool matches;
    };
    const Row rows[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "a/b", true},
        {"a*c", "abc", true},
        {"a*c", "abcd", false},
        {"*ab", "aab", true},
        {"a*b*c", "aXbYbZc", true},
        {"**a**", "bab", true},
        {"?", "", false},
        {"?", "/", true},
        {"a?c", "abc", true},
        {"[abc]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[!a-c]x", "dx", true},
        {"[^a-c]x", "ax", false},
        {"[]]", "]", true},
        {"[]-]", "-", true},
        {"[a-]", "-", true},
        {"[!]]", "]", false},
        {"[", "[", true},
        {"operator[", "operator[", true},
        {"a[b", "a[b", true},
        {"[\\]]", "]", true},
        {"operator\\*", "operator*", true},
        {"operator\\*", "operatorx", false},
        {"a\\", "a\\", true},
        {"[\xe0-\xff]", "\xe4", true},
        {"*[0-9]_end", "a1_2_end", true},
    };
    for (const Row& row : rows)
        EXPECT_EQ(glob_match(row.pattern, row.text), row.matches) << row.pattern << " against " << row.text;
}

TEST(Glob, ManyStarsAreNotExponential) {
    std::string text(20000, 'a');
    EXPECT_FALSE(glob_match("a*a*a*a*a*a*a*a*a*b", text));
}

TEST(Glob, HasWildcard) {
    EXPECT_FALSE(has_wildcard("main"));
    EXPECT_FALSE(has_wildcard("ns::f(int)"));
    for (const char* pattern : {"*", "a?", "[ab]", "a\\*"})
        EXPECT_TRUE(has_wildcard(pattern)) << pattern;
}

TEST(Glob, ExpandsPaths) {
    TempFolder folder;
    folder.write("b.so", "");
    folder.write("a.so", "");
    folder.write("c.txt", "");
    EXPECT_EQ(expand_path_glob(folder / "*.so"), (std::vector<std::string>{folder / "a.so", folder / "b.so"}));
    EXPECT_TRUE(expand_path_glob(folder / "*.none").empty());
}

// Sets $PATH and the working folder, and restores both.
class Surroundings {
  public:
    Surroundings(const std::string& path, const std::string& folder) : folder_(std::filesystem::current_path()) {
        if (const char* old = std::getenv("PATH"))
            path_ = old;
        setenv("PATH", path.c_str(), 1);
        std::filesystem::current_path(folder);
    }
    ~Surroundings() {
        setenv("PATH", path_.c_str(), 1);
        std::filesystem::current_path(folder_);
    }
    Surroundings(const Surroundings&) = delete;
    Surroundings& operator=(const Surroundings&) = delete;

  private:
    std::filesystem::path folder_;
    std::string path_;
};

TEST(FindInPath, BareNames) {
    TempFolder one, two;
    one.write("plain", "", 0644);
    two.write("plain", "", 0755);
    one.write("only-plain", "", 0644);
    std::filesystem::create_directory(one / "folder");
    Surroundings here(one.path() + ":" + two.path(), one.path());
    EXPECT_EQ(*find_in_path("plain"), two / "plain"); // files that are not executable are skipped
    EXPECT_EQ(find_in_path("only-plain").error().message, "`" + (one / "only-plain") + "` is not executable");
    EXPECT_EQ(find_in_path("none").error().message, "`none` is not in $PATH");
    EXPECT_EQ(find_in_path("folder").error().message, "`folder` is not in $PATH");
    EXPECT_FALSE(find_in_path("").ok());
    setenv("PATH", two.path().c_str(), 1);
    EXPECT_TRUE(contains(find_in_path("only-plain").error().message, "write `./only-plain`"));
    EXPECT_EQ(*find_file("only-plain"), one / "only-plain"); // in the working folder, not executable
    EXPECT_EQ(*find_file("plain"), two / "plain");
    EXPECT_EQ(find_file("none").error().message, "`none` is neither in $PATH nor in the working folder");
    EXPECT_EQ(find_file("folder").error().message,
              "`folder` is not in $PATH, and the one in the working folder is not a regular file");
    EXPECT_FALSE(find_file("").ok());
    setenv("PATH", "", 1); // the working folder
    std::filesystem::current_path(two.path());
    EXPECT_EQ(*find_in_path("plain"), two / "plain");
}

TEST(FindInPath, Paths) {
    TempFolder folder;
    folder.write("lib.so", "", 0644);
    Surroundings here("/nowhere", folder.path());
    EXPECT_EQ(*find_in_path(folder / "lib.so"), folder / "lib.so");
    EXPECT_EQ(*find_in_path("./lib.so"), folder / "lib.so");
    EXPECT_EQ(*find_in_path(".//./lib.so"), folder / "lib.so");
    EXPECT_EQ(find_in_path("./none").error().message, "`./none` does not exist");
    EXPECT_EQ(find_in_path("/").error().message, "`/` is not a regular file");
}

// ---- ELF files
// --------------------------------------------------------------------------------------------------------

extern "C" __attribute__((noinline, used)) int sonde_base_test_symbol(int x) { return x + 1; }

struct ElfTest : testing::Test {
    TempFolder folder;

    // A small program.
    std::string compile(const std::string& options) {
        folder.write("p.c", "int x; int main(void) { return x; }\n");
        std::string command = SONDE_COMPILER " " + options + " -o " + (folder / "p") + " " + (folder / "p.c");
        EXPECT_EQ(std::system(command.c_str()), 0);
        return folder / "p";
    }
    // The message for this machine's header after a change.
    std::string refuse(const std::function<void(Elf64_Ehdr&)>& edit) {
        std::string copy = read_file("/proc/self/exe")->substr(0, 4096);
        edit(*reinterpret_cast<Elf64_Ehdr*>(copy.data()));
        return refuse_bytes(copy);
    }
    std::string refuse_bytes(std::string_view bytes) {
        std::string path = folder.write("file", bytes);
        Result<ElfFile> file = ElfFile::open(path);
        if (file.ok())
            return "was opened";
        std::string context = "cannot open `" + path + "`: ";
        EXPECT_TRUE(file.error().message.starts_with(context)) << file.error().message;
        return file.error().message.substr(context.size());
    }
};

TEST_F(ElfTest, ReadsThisProgram) {
    Result<ElfFile> opened = ElfFile::open("/proc/self/exe");
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    ElfFile file = *std::move(opened);
    EXPECT_FALSE(file.is_debug_only());
    EXPECT_FALSE(file.segments().empty());
    EXPECT_TRUE(file.find_section(".text"));
    EXPECT_FALSE(file.find_section(".no-such-section"));

    const ElfSection* text = file.find_section(".text");
    ASSERT_TRUE(text);
    EXPECT_EQ(file.file_offset(text->address), text->offset);
    EXPECT_EQ(file.address_of_offset(text->offset), text->address);
    EXPECT_EQ(file.file_offset(UINT64_MAX), std::nullopt);
    EXPECT_EQ(file.section_data(".text").substr(0, 100), read_file("/proc/self/exe")->substr(text->offset, 100));
    EXPECT_EQ(file.section_data(".bss"), "");
    EXPECT_FALSE(file.debuglink());

    ElfSymbol found;
    file.for_each_symbol([&](const ElfSymbol& symbol) {
        if (symbol.name != "sonde_base_test_symbol")
            return true;
        found = symbol;
        return false;
    });
    EXPECT_EQ(found.name, "sonde_base_test_symbol");
    EXPECT_EQ(found.type, STT_FUNC);
    EXPECT_EQ(found.binding, STB_GLOBAL);
    EXPECT_GT(found.size, 0u);
    EXPECT_GE(found.address, text->address);
    EXPECT_LT(found.address, text->address + text->size);
}

TEST_F(ElfTest, Moves) {
    Result<ElfFile> a = ElfFile::open("/proc/self/exe");
    Result<ElfFile> b = ElfFile::open("/proc/self/exe");
    ASSERT_TRUE(a.ok() && b.ok());
    std::string_view name = a->sections()[1].name;
    *b = std::move(*a);
    EXPECT_EQ(b->sections()[1].name.data(), name.data());
    EXPECT_NE(b->section_data(".text"), "");
}

TEST_F(ElfTest, BuildIdAndDebuglink) {
    // The debug file is separate, as in packages.
    std::string p = compile("-g -Wl,--build-id=0x0123456789abcdef"), debug = folder / "p.debug";
    std::string command = SONDE_OBJCOPY " --only-keep-debug " + p + " " + debug +
                          " && " SONDE_OBJCOPY " --strip-debug --add-gnu-debuglink=" + debug + " " + p;
    ASSERT_EQ(std::system(command.c_str()), 0);
    Result<ElfFile> program = ElfFile::open(p), separate = ElfFile::open(debug);
    ASSERT_TRUE(program.ok() && separate.ok());
    EXPECT_EQ(program->build_id(), "0123456789abcdef");
    EXPECT_EQ(separate->build_id(), "0123456789abcdef");
    EXPECT_FALSE(program->is_debug_only());
    EXPECT_TRUE(separate->is_debug_only());
    std::optional<DebugLink> link = program->debuglink();
    ASSERT_TRUE(link);
    EXPECT_EQ(link->name, "p.debug");
    EXPECT_EQ(link->crc, elf_crc32(*read_file(debug)));

    // Without section headers, the build-id is found through the segments, and everything else still works.
    std::string bytes = *read_file(p);
    auto& header = *reinterpret_cast<Elf64_Ehdr*>(bytes.data());
    header.e_shoff = 0;
    header.e_shnum = header.e_shstrndx = 0;
    Result<ElfFile> bare = ElfFile::open(folder.write("bare", bytes));
    ASSERT_TRUE(bare.ok()) << bare.error().message;
    EXPECT_EQ(bare->build_id(), "0123456789abcdef");
    EXPECT_TRUE(bare->sections().empty());
    bare->for_each_symbol([](const ElfSymbol&) { return ADD_FAILURE(), false; });
    EXPECT_EQ(bare->segments().size(), program->segments().size());
}

TEST_F(ElfTest, Crc32) {
    EXPECT_EQ(elf_crc32("123456789"), 0xcbf43926u); // check value of the standard
    EXPECT_EQ(elf_crc32("56789", elf_crc32("1234")), 0xcbf43926u);
}

TEST_F(ElfTest, RefusesPaths) {
    EXPECT_EQ(ElfFile::open("/no/such/program").error().message,
              "cannot open `/no/such/program`: no such file or directory");
    EXPECT_EQ(ElfFile::open(folder.path()).error().message, "cannot open `" + folder.path() + "`: it is a directory");
    EXPECT_EQ(ElfFile::open("/dev/null").error().message, "cannot open `/dev/null`: it is not a regular file");
    ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
    EXPECT_FALSE(ElfFile::open(folder / "fifo").ok()); // and does not wait for a writer
    if (geteuid() != 0) {
        std::string secret = folder.write("secret", "x", 0);
        EXPECT_EQ(ElfFile::open(secret).error().message, "cannot open `" + secret + "`: permission denied");
    }
}

TEST_F(ElfTest, RefusesWhatIsNoProgram) {
    EXPECT_EQ(refuse_bytes(""), "it is empty, not an ELF file");
    EXPECT_EQ(refuse_bytes("hello"), "it is not an ELF file");
    EXPECT_EQ(refuse_bytes("#!/bin/sh\n"), "it is a script, not an ELF file; probe its interpreter");
    EXPECT_EQ(refuse([](Elf64_Ehdr& h) { h.e_ident[EI_CLASS] = ELFCLASS32; }),
              "it is a 32-bit ELF file; only 64-bit programs can be probed");
    EXPECT_EQ(refuse([](Elf64_Ehdr& h) { h.e_ident[EI_CLASS] = 7; }), "its ELF header is corrupt");
    EXPECT_EQ(refuse([](Elf64_Ehdr& h) { h.e_ident[EI_DATA] ^= 3; }), "its byte order is not this machine's");
    EXPECT_TRUE(
        refuse([](Elf64_Ehdr& h) { h.e_machine = EM_MIPS; }).starts_with("it is built for mips, but this machine"));
    EXPECT_EQ(refuse([](Elf64_Ehdr& h) { h.e_type = ET_REL; }),
              "it is an object file, not a linked program or library");
    EXPECT_EQ(refuse([](Elf64_Ehdr& h) { h.e_type = ET_CORE; }), "it is a core file, not a program or library");
    EXPECT_TRUE(contains(refuse([](Elf64_Ehdr& h) { h.e_phoff = UINT64_MAX - 8; }), "truncated"));
}

TEST_F(ElfTest, RefusesTruncatedFiles) {
    std::string bytes = *read_file(compile("-g"));
    for (size_t size : {size_t{4}, size_t{20}, size_t{63}, size_t{64}, size_t{200}, bytes.size() / 2, bytes.size() - 1})
        EXPECT_TRUE(contains(refuse_bytes(bytes.substr(0, size)), "the file is truncated")) << size;
    // Without the section table, the segments show it.
    auto& header = *reinterpret_cast<Elf64_Ehdr*>(bytes.data());
    header.e_shoff = 0;
    header.e_shnum = header.e_shstrndx = 0;
    EXPECT_TRUE(contains(refuse_bytes(bytes.substr(0, 2048)), "ends past its end"));
}

TEST_F(ElfTest, DamagedFilesAreSurvived) {
    // With any byte of a small program changed, opening fails with a message or succeeds, and nothing reads out of
    // bounds.
    std::string original = *read_file(compile("-Wl,--build-id"));
    uint64_t random = 88172645463325252u;
    auto next = [&random] {
        random ^= random << 13;
        random ^= random >> 7;
        return random ^= random << 17;
    };
    for (int round = 0; round < 300; round++) {
        std::string copy = original;
        // Half of the changes are in the headers, where they matter.
        for (int i = 0; i < 4; i++) {
            size_t at = i % 2 ? next() % copy.size() : copy.size() - 1 - next() % 2048;
            copy[at] = static_cast<char>(next());
        }
        Result<ElfFile> file = ElfFile::open(folder.write("damaged", copy));
        if (!file)
            continue;
        size_t symbols = 0;
        file->for_each_symbol([&](const ElfSymbol& symbol) { return symbols += symbol.name.size(), true; });
        file->build_id();
        file->debuglink();
        for (const ElfSection& section : file->sections())
            symbols += file->section_data(section.name).size();
        EXPECT_GT(symbols + 1, 0u);
    }
}

TEST(SharedLibraries, AreThoseThatThisProgramHasMapped) {
    std::vector<std::string> found = shared_libraries("/proc/self/exe", host_architecture().library_search()),
                             mapped = mapped_libraries(getpid());
    auto real = [](std::vector<std::string> paths) {
        std::set<std::string> out;
        for (const std::string& path : paths)
            out.insert(std::filesystem::canonical(path));
        return out;
    };
    EXPECT_EQ(real(found), real(mapped));
    EXPECT_FALSE(found.empty());
    auto here = reinterpret_cast<uint64_t>(&shared_libraries);
    std::optional<MappedAt> place = mapped_at(getpid(), here);
    ASSERT_TRUE(place);
    EXPECT_TRUE(std::filesystem::equivalent(place->path, "/proc/self/exe"));
    EXPECT_FALSE(mapped_at(getpid(), 1));
    EXPECT_TRUE(shared_libraries("/etc/passwd", host_architecture().library_search()).empty());
    EXPECT_TRUE(shared_libraries("/no/such/program", host_architecture().library_search()).empty());
}

// A note with the numbers and texts as they are in a file.
std::string note_bytes(uint32_t type, std::string_view owner, std::string_view contents, size_t alignment) {
    std::string out;
    for (const size_t number : {owner.size(), contents.size(), size_t{type}})
        for (size_t byte = 0; byte < 4; byte++)
            out += static_cast<char>(number >> 8 * byte);
    for (const std::string_view text : {owner, contents}) {
        out += text;
        out.resize((out.size() + alignment - 1) / alignment * alignment);
    }
    return out;
}

TEST(ElfNotes, ReadsNotes) {
    const std::string_view owner("GNU\0", 4);
    for (const size_t alignment : {4, 8}) {
        const std::string first = note_bytes(5, owner, "12345", alignment),
                          second = note_bytes(3, owner, "\x01\xab", alignment), both = first + second;
        const std::vector<ElfNote> notes = read_notes(both, alignment);
        ASSERT_EQ(notes.size(), 2U);
        EXPECT_EQ(notes[0].type, 5U);
        EXPECT_EQ(notes[0].owner, "GNU");
        EXPECT_EQ(notes[0].contents, "12345");
        EXPECT_EQ(to_hex(find_build_id(both, alignment)), "01ab");
        // Without the last padding, and without a part of the last note.
        EXPECT_EQ(to_hex(find_build_id(first + second.substr(0, 18), alignment)), "01ab");
        EXPECT_EQ(read_notes(first + second.substr(0, 17), alignment).size(), 1U);
    }
    EXPECT_TRUE(read_notes("").empty());
    EXPECT_TRUE(read_notes(std::string(12, '\xff')).empty());
    EXPECT_TRUE(find_build_id(note_bytes(3, "Go", "1", 4)).empty());
}

TEST(SymbolParts, ThunksNameTheirFunctions) {
    EXPECT_EQ(thunk_target("_ZThn16_N1C1fEv"), "_ZN1C1fEv");
    EXPECT_EQ(thunk_target("_ZTh8_N1C1fEv"), "_ZN1C1fEv");
    EXPECT_EQ(thunk_target("_ZTv0_n24_N1CD1Ev"), "_ZN1CD1Ev");
    EXPECT_EQ(thunk_target("_ZTch0_h16_N1C1fEv"), "_ZN1C1fEv");
    EXPECT_EQ(thunk_target("_ZTchn8_v0_n24_N1C1fEv"), "_ZN1C1fEv");
    EXPECT_EQ(thunk_target("_ZN1C1fEv"), "");
    EXPECT_EQ(thunk_target("_ZThn16"), "");
    EXPECT_EQ(thunk_target("_ZTV1C"), "");
}

TEST(SymbolParts, VariantsOfDestructorsAndConstructors) {
    using Names = std::vector<std::string>;
    EXPECT_EQ(variants_run_by("_ZN1CD0Ev"), (Names{"_ZN1CD1Ev", "_ZN1CD2Ev", "_ZN1CD4Ev"}));
    EXPECT_EQ(variants_run_by("_ZN1CD1Ev"), (Names{"_ZN1CD2Ev", "_ZN1CD4Ev"}));
    EXPECT_EQ(variants_run_by("_ZN1CC1EiPc"), (Names{"_ZN1CC2EiPc", "_ZN1CC4EiPc"}));
    EXPECT_EQ(variants_run_by("_ZN1CC1IiEET_"), (Names{"_ZN1CC2IiEET_", "_ZN1CC4IiEET_"}));
    EXPECT_EQ(variants_run_by("_ZN1CD4Ev"), Names());
    EXPECT_EQ(variants_run_by("_ZN1C1fEv"), Names());
    EXPECT_EQ(variants_run_by("D0E"), Names());
}

// Reading beyond the end fails once and for all, and gives zeros.
TEST(ByteCursor, EndsAtTheEnd) {
    ByteCursor in(std::string_view("\x01\x02\xe5\x8e\x26\x7f"
                                   "ab\0c",
                                   10),
                  0x1000);
    EXPECT_EQ(in.take<uint16_t>(), 0x0201);
    EXPECT_EQ(in.uleb(), 624485u);
    EXPECT_EQ(in.address(), 0x1005u);
    EXPECT_EQ(in.sleb(), -1);
    EXPECT_EQ(in.string(), "ab");
    EXPECT_EQ(in.rest(), 1u);
    EXPECT_EQ(in.take<uint32_t>(), 0u);
    EXPECT_TRUE(in.failed() && in.empty());
    in.seek(0);
    EXPECT_EQ(in.take<uint8_t>(), 0);
    EXPECT_EQ(in.take_bytes(1), "");

    ByteCursor endless(std::string_view("\x80\x80", 2));
    EXPECT_EQ(endless.uleb(), 0u);
    EXPECT_TRUE(endless.failed());
    ByteCursor huge(std::string_view("abc"));
    huge.skip(UINT64_MAX);
    EXPECT_TRUE(huge.failed());
    ByteCursor text(std::string_view("no end"));
    EXPECT_EQ(text.string(), "");
    EXPECT_TRUE(text.failed());
}

} // namespace
} // namespace sonde
