// Coroutines, with tasks that continue with the coroutine that waits for them. Each coroutine notes the line at which
// it waits, so the program knows its own chain: it prints the chain when the innermost one runs, and when it is
// suspended.
#include <coroutine>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

std::vector<std::string> chain;
void enter(const char* name, int line) { chain.push_back(std::string(name) + ":" + std::to_string(line)); }
void leave() { chain.pop_back(); }
void print_chain(const char* what) {
    std::printf("%s", what);
    for (size_t i = chain.size(); i-- > 0;)
        std::printf(" %s", chain[i].c_str());
    std::printf("\n");
}

struct Promise {
    std::coroutine_handle<> continuation;
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Final {
        bool await_ready() noexcept { return false; }
        template <typename P> std::coroutine_handle<> await_suspend(std::coroutine_handle<P> ended) noexcept {
            std::coroutine_handle<> next = ended.promise().continuation;
            return next ? next : std::noop_coroutine();
        }
        void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void unhandled_exception() { std::terminate(); }
};
struct Task {
    struct promise_type : Promise {
        int value = 0;
        Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
        void return_value(int result) { value = result; }
    };
    std::coroutine_handle<promise_type> handle;
    explicit Task(std::coroutine_handle<promise_type> made) : handle(made) {}
    Task(Task&& other) : handle(std::exchange(other.handle, {})) {}
    ~Task() {
        if (handle)
            handle.destroy();
    }
    bool await_ready() { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) {
        handle.promise().continuation = waiting;
        return handle;
    }
    int await_resume() { return handle.promise().value; }
};

std::coroutine_handle<> waiting;
struct Gate {
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> one) { waiting = one; }
    int await_resume() { return 3; }
};

__attribute__((noinline)) void suspended(std::coroutine_handle<>* innermost) {
    __asm__ volatile("" : : "r"(innermost) : "memory");
    print_chain("suspended");
}
__attribute__((noinline)) void made(Task* task) { __asm__ volatile("" : : "r"(task) : "memory"); }
__attribute__((noinline)) void ended(Task* task) { __asm__ volatile("" : : "r"(task) : "memory"); }
__attribute__((noinline)) int work(int n) {
    __asm__ volatile("" : "+r"(n) : : "memory");
    print_chain("running");
    return n + 1;
}

// A coroutine must note the line of its own co_await.
// clang-format off
namespace shop {
Task audit(int n) {
    enter("shop::audit", __LINE__); int a = co_await Gate{}; leave();
    enter("shop::audit", __LINE__); a += work(n); leave(); // running
    enter("shop::audit", __LINE__); a += co_await Gate{}; leave();
    co_return a;
}
struct Till {
    int count = 0;
    Task pay(int n) {
        enter("shop::Till::pay", __LINE__); int a = co_await audit(n); leave();
        enter("shop::Till::pay", __LINE__); int b = co_await audit(n + 1); leave();
        count += a + b;
        co_return count;
    }
};
template <typename T> Task generic(T n) {
    Till till;
    enter("shop::generic<int>", __LINE__); int a = co_await till.pay(n); leave();
    co_return a;
}
}

#ifdef __clang__
constexpr const char* lambda_name = "day()::$_0::operator()";
#else
constexpr const char* lambda_name = "day()::{lambda(int)#1}::operator()";
#endif

Task day() {
    enter("day", __LINE__); int a = co_await shop::generic<int>(4); leave();
    auto lambda = [](int n) -> Task {
        enter(lambda_name, __LINE__); int b = co_await shop::audit(n); leave();
        co_return b;
    };
    enter("day", __LINE__); int b = co_await lambda(a); leave();
    co_return a + b;
}

// clang-format on

int main() {
    Task task = day();
    made(&task);
    task.handle.resume();
    while (!task.handle.done()) {
        suspended(&waiting);
        waiting.resume();
    }
    ended(&task);
}
