// A plugin for clang-tidy that limits checks to our own declarations. The declarations of system headers are most of a
// file that includes LLVM's. Findings in these are not shown anyway, but the checks would take ten times as long as
// everything else. clangd does the same.
#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>

namespace {

using namespace clang;

// Called for the whole file before anything in it, and selects the declarations to check.
class ScopeCheck : public tidy::ClangTidyCheck {
  public:
    using ClangTidyCheck::ClangTidyCheck;

    void registerMatchers(ast_matchers::MatchFinder* finder) override {
        finder->addMatcher(ast_matchers::translationUnitDecl().bind("file"), this);
    }

    void check(const ast_matchers::MatchFinder::MatchResult& found) override {
        std::vector<Decl*> ours;
        for (Decl* declaration : found.Context->getTranslationUnitDecl()->decls()) {
            SourceLocation place = found.SourceManager->getExpansionLoc(declaration->getLocation());
            if (place.isValid() && !found.SourceManager->isInSystemHeader(place)) {
                ours.push_back(declaration);
            }
        }
        found.Context->setTraversalScope(ours);
    }
};

class ScopeModule : public tidy::ClangTidyModule {
  public:
    void addCheckFactories(tidy::ClangTidyCheckFactories& factories) override {
        factories.registerCheck<ScopeCheck>("sonde-scope");
    }
};

tidy::ClangTidyModuleRegistry::Add<ScopeModule> scope_module("sonde-scope", "Looks at our declarations only.");

} // namespace
