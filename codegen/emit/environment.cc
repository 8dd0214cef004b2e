// Addresses of a handler's words. A function gets the addresses of two words of HandlerWords as arguments. The others
// are at constant distances, so they need no arguments of their own.
#include "codegen/emit/environment.h"

#include "codegen/emit/emitter.h"

namespace sonde {

llvm::Value* error_details(Emitter& e, const Environment& env, uint64_t field) {
    return e.offset(env.error, offsetof(HandlerWords, error_details) - offsetof(HandlerWords, error_site) + field);
}

llvm::Value* error_argument(Emitter& e, const Environment& env) {
    return error_details(e, env, offsetof(plan::ErrorDetails, argument));
}

llvm::Value* decision_place(Emitter& e, const Environment& env) {
    return e.offset(env.budget, offsetof(HandlerWords, decision) - offsetof(HandlerWords, budget));
}

} // namespace sonde
