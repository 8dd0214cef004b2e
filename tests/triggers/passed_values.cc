// Arguments and results of every class in the ABI. Each function gets a value of the class and
// then a number. If the value is assigned a wrong class, the number is read from a wrong place.
#include <complex>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#define KEPT __attribute__((noinline))

// Passed by address: this depends on destructors, copies and moves, also those of members and bases.
struct Member {
    std::string name;
    int n;
};
struct Owner {
    std::unique_ptr<int> p;
};
struct UserCopy {
    int v;
    UserCopy(int a) : v(a) {}
    UserCopy(const UserCopy& other) : v(other.v) {}
};
struct UserMove {
    int v;
    UserMove(int a) : v(a) {}
    UserMove(UserMove&& other) : v(other.v) {}
};
struct Outside {
    int v;
    Outside(int a) : v(a) {}
    Outside(const Outside&);
};
Outside::Outside(const Outside&) = default;
struct Virtual {
    int v;
    Virtual(int a) : v(a) {}
    virtual int get() { return v; }
};
struct Deleted {
    int v;
    Deleted(int a) : v(a) {}
    Deleted(const Deleted&) = delete;
};
struct InArray {
    UserCopy a[1];
};
struct Derived : UserCopy {
    Derived(int a) : UserCopy(a) {}
};
// Passed by value.
struct Defaulted {
    int v;
    ~Defaulted() = default;
};
struct DefaultedCopy {
    int v;
    DefaultedCopy(int a) : v(a) {}
    DefaultedCopy(const DefaultedCopy&) = default;
};
struct Assigned {
    int v;
    Assigned& operator=(const Assigned& other) {
        v = other.v;
        return *this;
    }
};
struct MoveOnly {
    int v;
    MoveOnly(int a) : v(a) {}
    MoveOnly(const MoveOnly&) = delete;
    MoveOnly(MoveOnly&&) = default;
};
struct Converting {
    int v;
    Converting(int a) : v(a) {}
    template <class T> Converting(const T& t) : v(t) {}
};
struct Empty {};
struct Mixed {
    float f;
    int v;
};
struct Packed {
    char c;
    float f;
} __attribute__((packed));
struct alignas(32) Aligned {
    int v;
};
struct Pair {
    long a, b;
};
struct Big {
    long a[3];
};
typedef float Four __attribute__((vector_size(16)));
struct Method {
    int n;
    int add(int a) { return a + n; }
};
// One function in the source, two in the program, one of which has an additional argument.
struct Base {
    int k = 5;
};
struct Middle : virtual Base {
    int v;
    KEPT Middle(int a, int b);
};
Middle::Middle(int a, int b) : v(a * 100 + b) {}
struct Last : Middle {
    KEPT Last(int a, int b);
};
Last::Last(int a, int b) : Middle(a + 1, b + 1) {}

KEPT int of_member(Member c, int z) { return c.n + z; }
KEPT int of_owner(Owner c, int z) { return *c.p + z; }
KEPT int of_user_copy(UserCopy c, int z) { return c.v + z; }
KEPT int of_user_move(UserMove c, int z) { return c.v + z; }
KEPT int of_outside(Outside c, int z) { return c.v + z; }
KEPT int of_virtual(Virtual c, int z) { return c.v + z; }
KEPT int of_deleted(Deleted c, int z) { return c.v + z; }
KEPT int of_in_array(InArray c, int z) { return c.a[0].v + z; }
KEPT int of_derived(Derived c, int z) { return c.v + z; }
KEPT int of_defaulted(Defaulted c, int z) { return c.v + z; }
KEPT int of_defaulted_copy(DefaultedCopy c, int z) { return c.v + z; }
KEPT int of_assigned(Assigned c, int z) { return c.v + z; }
KEPT int of_move_only(MoveOnly c, int z) { return c.v + z; }
KEPT int of_converting(Empty, Converting c, int z) { return c.v + z; }
KEPT int of_aligned(Aligned c, int z, int, int, int, int, int, int last) { return c.v + z + last; }
KEPT int of_packed(Packed c, int z) { return c.c + z; }
KEPT int of_pair(std::pair<int, std::string> c, int z) { return c.first + z; }
KEPT int of_tuple(std::tuple<std::unique_ptr<int>> c, int z) { return *std::get<0>(c) + z; }
KEPT int of_optional(std::optional<int> c, int z) { return *c + z; }
KEPT int of_mixed(double, double, double, double, double, double, double, double, Mixed c, int z) { return c.v + z; }
KEPT int of_vector(Four, std::complex<double>, int z, int, int, int, int, int, int last) { return z + last; }
KEPT int of_wide(int, int, int, int, int, int, char, __int128 w, int z) { return static_cast<int>(w) + z; }
KEPT int of_long_double(int, int, int, int, int, int, long double, int z) { return z; }
KEPT int of_complex(int, int, int, int, int, int, _Complex double, _Complex float, int z) { return z; }
#if defined(__x86_64__)
typedef __float128 Quad;
#else
typedef long double Quad;
#endif
KEPT int of_quad(int, int, int, int, int, int, Quad, int z) { return z; }
KEPT int of_split(int, int, int, int, int, Pair c, int z) { return static_cast<int>(c.b) + z; }
KEPT int of_big(int, Big c, int z) { return static_cast<int>(c.a[2]) + z; }
KEPT int of_unnamed(int, long, int z) { return z; }
KEPT int of_methods(int (Method::*method)(int), int z, int Method::* member) {
    Method m = {1};
    return (m.*method)(z) + m.*member;
}
KEPT int of_nullptr(std::nullptr_t, int z) { return z; }
KEPT int of_allocator(std::allocator<char>, int z) { return z; }
// Windows' calling convention, and a frame that clang addresses through rbx.
KEPT __attribute__((ms_abi)) int of_windows(int v, int z) { return v + z; }
KEPT int of_frame(int v, int z) {
    alignas(64) char buffer[64];
    char* room = static_cast<char*>(__builtin_alloca(static_cast<size_t>(z)));
    room[0] = buffer[1] = 1;
    return v + z + room[0] + buffer[1];
}
KEPT Member member_of(int z) { return {"result", z}; }
KEPT Owner owner_of(int z) { return {std::make_unique<int>(z)}; }
KEPT Defaulted defaulted_of(int z) { return {z}; }
KEPT UserCopy user_copy_of(int z) { return z; }
KEPT Virtual virtual_of(int z) { return z; }
KEPT Outside outside_of(int z) { return z; }
KEPT std::pair<int, std::string> pair_of(int z) { return {z, "x"}; }

int main() {
    volatile int sum = 0;
    Assigned assigned;
    assigned.v = 12;
    sum += of_member({"text", 1}, 101) + of_owner({std::make_unique<int>(2)}, 102) + of_user_copy(3, 103) +
           of_user_move(4, 104);
    sum += of_outside(5, 105) + of_virtual(6, 106) + of_deleted(7, 107) + of_in_array({UserCopy(8)}, 108) +
           of_derived(9, 109);
    sum += of_defaulted({10}, 110) + of_defaulted_copy(11, 111) + of_assigned(assigned, 112) + of_move_only(13, 113);
    sum += of_converting({}, 14, 114) + of_aligned({15}, 115, 1, 2, 3, 4, 5, 215) + of_packed({16, 1.5f}, 116);
    sum += of_pair({17, "p"}, 117) + of_tuple(std::make_tuple(std::make_unique<int>(18)), 118) + of_optional(19, 119);
    sum += of_mixed(0, 0, 0, 0, 0, 0, 0, 0, {2, 20}, 120) + of_vector(Four{}, {1, 2}, 121, 1, 2, 3, 4, 5, 221);
    sum += of_wide(1, 2, 3, 4, 5, 6, 7, 22, 122) + of_long_double(1, 2, 3, 4, 5, 6, 7, 123) +
           of_complex(1, 2, 3, 4, 5, 6, 7, 8, 124);
    sum += of_quad(1, 2, 3, 4, 5, 6, 7, 125) + of_split(1, 2, 3, 4, 5, {6, 26}, 126) + of_big(1, {{2, 3, 27}}, 127);
    sum += of_unnamed(1, 2, 128) + of_methods(&Method::add, 129, &Method::n) + of_nullptr(nullptr, 130) +
           of_allocator({}, 131) + of_windows(32, 132) + of_frame(33, 133);
    sum += member_of(141).n + *owner_of(142).p + defaulted_of(143).v + user_copy_of(144).v + virtual_of(145).v +
           outside_of(146).v;
    sum += pair_of(147).first + Last(1, 2).v + Middle(5, 6).v;
    printf("%d\n", sum);
}
