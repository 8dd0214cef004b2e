// The lending desk of a library, for the examples. Build it with `g++ -g -O2`.
#include <cstdio>
#include <map>
#include <string>
#include <string_view>

struct Desk {
    std::map<std::string, int> copies;
    int lend(const std::string& title, std::string reader, std::string_view shelf);
};

__attribute__((noinline)) int Desk::lend(const std::string& title, std::string reader, std::string_view shelf) {
    auto book = copies.find(title);
    if (book == copies.end() || book->second == 0)
        return -1;
    std::printf("%s takes %s from %.*s\n", reader.c_str(), title.c_str(), static_cast<int>(shelf.size()), shelf.data());
    return --book->second;
}

int main() {
    Desk desk{{{"Emma", 2}, {"A Study in Scarlet", 1}}};
    desk.lend("Emma", "ann", "fiction");
    desk.lend("A Study in Scarlet", "bob", "crime");
    desk.lend("A Study in Scarlet", "the reader with a rather long name", "crime");
    return 0;
}
