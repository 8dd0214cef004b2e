// A coroutine that is resumed twice.
#include <coroutine>
#include <cstdio>
#include <string>

struct Task {
    struct promise_type {
        int value = 0;
        Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_value(int x) { value = x; }
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
};

Task count(int first, std::string text) {
    int sum = first * 2;
    co_await std::suspend_always{};
    sum += first;
    co_return sum + static_cast<int>(text.size());
}

int main() {
    Task task = count(5, "abc");
    task.handle.resume();
    task.handle.resume();
    printf("%d\n", task.handle.promise().value);
}
