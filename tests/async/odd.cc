// Chains that end in an unusual way. stop() gets the handle of the innermost coroutine.
#include <coroutine>
#include <cstdint>
#include <exception>

__attribute__((noinline)) void stop(std::coroutine_handle<>* innermost, const char* what) {
    __asm__ volatile("" : : "r"(innermost), "r"(what) : "memory");
}

template <int kind> struct Task {
    struct One {
        std::coroutine_handle<> continuation;
    };
    struct None {
        int nothing = 0;
    };
    struct Two {
        std::coroutine_handle<> left, right;
    };
    struct Named {
        std::coroutine_handle<> self, continuation;
    };
    template <typename Base> struct With : Base {
        Task get_return_object() { return {std::coroutine_handle<With>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    template <int, typename = void> struct Chosen {
        using type = With<One>;
    };
    template <typename T> struct Chosen<1, T> {
        using type = With<None>;
    };
    template <typename T> struct Chosen<2, T> {
        using type = With<Two>;
    };
    template <typename T> struct Chosen<3, T> {
        using type = With<Named>;
    };
    using promise_type = typename Chosen<kind>::type;
    std::coroutine_handle<promise_type> handle;
};

Task<0> one(int) { co_await std::suspend_always{}; }
Task<1> none(int) { co_await std::suspend_always{}; }
Task<2> two(int) { co_await std::suspend_always{}; }
Task<3> named(int) { co_await std::suspend_always{}; }

int main() {
    Task<0> a = one(1), b = one(2);
    std::coroutine_handle<> handle = a.handle;
    stop(&handle, "not started");
    a.handle.resume();
    stop(&handle, "nobody");
    a.handle.promise().continuation = b.handle;
    b.handle.promise().continuation = a.handle;
    stop(&handle, "cycle");
    a.handle.promise().continuation = std::coroutine_handle<>::from_address(reinterpret_cast<void*>(0x1234));
    stop(&handle, "memory");
    std::uintptr_t words[] = {0, 0x4711, 0, 0};
    a.handle.promise().continuation = std::coroutine_handle<>::from_address(words);
    stop(&handle, "unknown");
    a.handle.promise().continuation = std::noop_coroutine();
    stop(&handle, "noop");
    a.handle.resume();
    stop(&handle, "finished");
    Task<1> c = none(1);
    handle = c.handle;
    stop(&handle, "no handle");
    Task<2> d = two(1);
    handle = d.handle;
    stop(&handle, "two handles");
    Task<3> e = named(1);
    e.handle.promise().self = e.handle;
    e.handle.promise().continuation = b.handle;
    b.handle.promise().continuation = nullptr;
    handle = e.handle;
    stop(&handle, "named");
    static Task<0> deep[100];
    for (int i = 0; i < 100; i++) {
        deep[i] = one(i);
        if (i > 0)
            deep[i].handle.promise().continuation = deep[i - 1].handle;
    }
    handle = deep[99].handle;
    stop(&handle, "deep");
    handle = nullptr;
    stop(&handle, "null");
}
