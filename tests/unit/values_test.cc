// Types of C++ and Rust: their namespaces, template arguments and variants; and the locations of results of Rust
// functions.
#include <gtest/gtest.h>

#include "frontend/dwarf/dwarf_module.h"

namespace sonde {
namespace {

std::unique_ptr<DwarfModule> open_module(const std::string& name) {
    Result<std::unique_ptr<DwarfModule>> module = DwarfModule::open(SONDE_TRIGGERS "/" + name);
    EXPECT_TRUE(module.ok()) << name;
    return module.ok() ? *std::move(module) : nullptr;
}

FunctionInstance function(DwarfModule& module, const std::string& text) {
    Result<FunctionPattern> pattern = FunctionPattern::parse(text);
    EXPECT_TRUE(pattern.ok()) << text;
    std::vector<FunctionInstance> found = module.functions(*pattern);
    EXPECT_EQ(found.size(), 1u) << text;
    return found.empty() ? FunctionInstance() : found[0];
}

// The type of a parameter, or the type that it refers to.
const Type* parameter(DwarfModule& module, const std::string& name, const std::string& parameter) {
    for (const Variable& variable : module.parameters(function(module, name)))
        if (variable.name == parameter) {
            const Type* type = strip(variable.type);
            if (type->kind == Type::Reference || type->kind == Type::Pointer)
                type = strip(type->target);
            return complete(type);
        }
    ADD_FAILURE() << "no parameter " << parameter;
    return nullptr;
}

TEST(Values, CxxTypes) {
    auto module = open_module("cxx_values-O0");
    const Type* vector = parameter(*module, "shop::sequences", "numbers");
    EXPECT_EQ(vector->scope, "std::");
    ASSERT_FALSE(vector->arguments.empty());
    EXPECT_EQ(type_name(vector->arguments[0]), "int");
    const Type* text = parameter(*module, "shop::text", "plain");
    EXPECT_EQ(text->scope + text->name.substr(0, 12), "std::__cxx11::basic_string");
    const Type* variant = parameter(*module, "shop::wrappers", "variant");
    ASSERT_EQ(variant->arguments.size(), 2u); // of a parameter pack
    EXPECT_EQ(type_name(variant->arguments[0]), "int");
}

TEST(Values, Signatures) {
    auto module = open_module("cxx_values-O0");
    EXPECT_EQ(module->signature(function(*module, "shop::over(int,const char*)")), "(int, char const*)");
    EXPECT_EQ(module->signature(function(*module, "over( const std::string & )")),
              "(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)");
    EXPECT_EQ(module->functions(*FunctionPattern::parse("shop::over")).size(), 4u);
    EXPECT_TRUE(module->functions(*FunctionPattern::parse("shop::over(long)")).empty());
    EXPECT_TRUE(module->functions(*FunctionPattern::parse("Item::total(int)")).empty()); // it is const
    function(*module, "Item::total(int) const");
}

TEST(Values, PatternsWithParentheses) {
    auto parsed = [](const char* text) {
        FunctionPattern pattern = *FunctionPattern::parse(text);
        return pattern.function + " | " + pattern.parameters;
    };
    EXPECT_EQ(parsed("f(int)"), "f | (int)");
    EXPECT_EQ(parsed("f(void (*)(int)) const@a.cc"), "f | (void (*)(int)) const");
    EXPECT_EQ(parsed("(anonymous namespace)::f"), "(anonymous namespace)::f | ");
    EXPECT_EQ(parsed("C::operator()"), "C::operator() | ");
    EXPECT_EQ(parsed("C::operator()(int)"), "C::operator() | (int)");
}

TEST(Values, RustTypes) {
    auto module = open_module("rust_values-O0");
    const Type* some = parameter(*module, "rust_values::enums", "some");
    ASSERT_EQ(some->variants.size(), 2u);
    ASSERT_TRUE(some->tag);
    EXPECT_EQ(some->members[some->variants[0].member].name, "None");
    EXPECT_EQ(some->variants[0].tag, 0);
    EXPECT_EQ(some->variants[1].tag, 1);
    const Type* niche = parameter(*module, "rust_values::enums", "niche"); // a null pointer is None
    ASSERT_EQ(niche->variants.size(), 2u);
    EXPECT_EQ(niche->variants[0].tag, 0);
    EXPECT_FALSE(niche->variants[1].tag);
    const Type* numbers = parameter(*module, "rust_values::sequences", "numbers");
    EXPECT_EQ(numbers->scope, "alloc::vec::");
    EXPECT_EQ(type_name(numbers->arguments.at(0)), "i32");
}

TEST(Values, RustNames) {
    for (const char* name : {"rust_values-O0", "rust_values-O2"}) {
        auto module = open_module(name);
        EXPECT_EQ(function(*module, "shop::Item::total").name, "rust_values::shop::Item::total");
        EXPECT_EQ(function(*module, "<rust_values::shop::Item as core::fmt::Display>::fmt").name,
                  "<rust_values::shop::Item as core::fmt::Display>::fmt");
    }
    auto module = open_module("rust_values-O0");
    EXPECT_EQ(module->functions(*FunctionPattern::parse("rust_values::twice")).size(), 2u);
    function(*module, "rust_values::twice<i32>");
    function(*module, "rust_values::main::{closure#0}");
}

TEST(Values, RustResults) {
    auto module = open_module("rust_values-O0");
    Location pair = module->calling_convention().result_location(function(*module, "rust_values::maybe"));
    ASSERT_EQ(pair.kind, Location::Pieces);
    ASSERT_EQ(pair.pieces.size(), 2u);
    EXPECT_EQ(pair.pieces[0].place.reg, 0);
    EXPECT_EQ(pair.pieces[1].place.reg, 1);
    EXPECT_EQ(module->calling_convention().result_location(function(*module, "rust_values::named")).kind,
              Location::Memory);
}

} // namespace
} // namespace sonde
