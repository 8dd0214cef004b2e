// Functions that throw and then continue with a jump to their end (clang without optimization).
#include <string>

__attribute__((noinline)) int checked(int n) {
    if (n > 1)
        throw std::string("too large");
    return n + 10;
}

__attribute__((noinline)) int always(int n) { throw std::string(static_cast<size_t>(n), 'x'); }

int main() {
    int caught = 0;
    for (int i = 0; i < 4; i++)
        try {
            caught += checked(i);
        } catch (const std::string& text) {
            caught += static_cast<int>(text.size());
        }
    try {
        always(3);
    } catch (const std::string&) {
        caught++;
    }
    return caught == 40 ? 0 : 1;
}
