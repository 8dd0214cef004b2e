// The functions of source files, as an editor shows lenses above them: found in correct files, and no crash in others.
#include "driver/lsp/source_functions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sonde::lsp {
namespace {

using Found = std::vector<SourceFunction>;

TEST(SourceFunctions, OfC) {
    const char* text = R"(#include <stdio.h>
#define TWICE(x) { f(x); \
                   f(x); }
struct item { const char *name; int (*price)(void); };
static struct item items[] = {{"tea {", 0}};
enum color { RED };
/* int no(void) { */
struct item *find(int number) {
    // the first one
    if (number < 3) {
        return items;
    }
    return NULL;
}
int main(void)
{
    printf("}");
}
)";
    EXPECT_EQ(find_functions(text, SourceLanguage::C), (Found{{7, 9}, {14, 16}}));
}

TEST(SourceFunctions, OfCpp) {
    const char* text = R"(namespace shop {
class Cart : public Base<int(int)> {
  public:
    Cart() : sum_(1'000) {
        add(1);
    }
    int total() const override { return sum_; }
};
int Cart::operate(char c)
{
    auto f = [&](int x) { return x; };
    return c == '{' ? f(1) : 2;
}
}
extern "C" {
int plain(int x) {
    return x;
}
}
)";
    EXPECT_EQ(find_functions(text, SourceLanguage::C), (Found{{3, 4}, {6, 6}, {8, 10}, {15, 16}}));
}

TEST(SourceFunctions, OfRust) {
    const char* text = R"(struct Cart<'a> { name: &'a str }
impl<'a> Cart<'a> {
    pub async fn total(&self, c: char) -> u64 {
        if c == '{' { return 1; }
        2
    }
}
fn main() {
    let f = |x: u64| { x };
}
)";
    EXPECT_EQ(find_functions(text, SourceLanguage::Rust), (Found{{2, 3}, {7, 8}}));
}

TEST(SourceFunctions, OfGo) {
    const char* text = "type T struct {\n\ta int\n}\nfunc (t *T) Total(n int) int {\n\ts := `{`\n\treturn n\n}\n";
    EXPECT_EQ(find_functions(text, SourceLanguage::Go), (Found{{3, 4}}));
}

TEST(SourceFunctions, OfPython) {
    const char* text = "\"\"\"\ndef no(): pass\n\"\"\"\nclass A:\n    def total(self):\n        return 1\nasync def "
                       "main():\n    pass\n";
    EXPECT_EQ(find_functions(text, SourceLanguage::Python), (Found{{4, 4}, {6, 6}}));
}

TEST(SourceFunctions, OfOtherFilesAndOfTextsThatAreNotComplete) {
    EXPECT_TRUE(find_functions("int main() {}", language_of_file("file:///notes.txt")).empty());
    for (const SourceLanguage language :
         {SourceLanguage::C, SourceLanguage::Rust, SourceLanguage::Go, SourceLanguage::Python})
        for (const char* text : {"", "{", "}", "(", "f(", "f() {", "/*", "//", "\"", "'", "#", "`", "R\"(",
                                 "int f(\"a\\", "}}}{{{", "class : (", "\"\"\"", "def "})
            EXPECT_LE(find_functions(text, language).size(), 1U) << text;
}

TEST(SourceFunctions, LanguagesAreKnownByTheFile) {
    EXPECT_EQ(language_of_file("file:///a/b.cc"), SourceLanguage::C);
    EXPECT_EQ(language_of_file("file:///a.b/c.rs"), SourceLanguage::Rust);
    EXPECT_EQ(language_of_file("file:///a.go"), SourceLanguage::Go);
    EXPECT_EQ(language_of_file("file:///a.py"), SourceLanguage::Python);
    EXPECT_EQ(language_of_file("file:///Makefile"), SourceLanguage::Unknown);
}

} // namespace
} // namespace sonde::lsp
