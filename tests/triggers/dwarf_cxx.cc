// C++ names, classes and references, for tests/unit/dwarf_test.cc.
#include <cstdarg>

namespace ns {

struct Base {
    int base_member = 1;
    static int shared;
};
int Base::shared = 2;

class Shape : public Base {
  public:
    explicit Shape(int size) : size_(size) {}
    __attribute__((noinline)) int area(int scale) const { return size_ * scale + base_member; }
    struct Inner {
        int value;
    };

  private:
    int size_;
};

struct Guard {
    long number;
    explicit Guard(long value) : number(value) {}
    ~Guard() { Base::shared++; }
};

__attribute__((noinline)) Guard make_guard(long value) { return Guard(value); }

namespace {
volatile int inside = 4;

__attribute__((noinline)) int secret(int value) {
    Base::shared += value + inside;
    return value + 1;
}
} // namespace

template <typename T> __attribute__((noinline)) T twice(const T& value) { return value * 2; }

__attribute__((noinline)) int area(const Shape& shape, bool flag) { return flag ? shape.area(2) : 0; }

namespace deep {
inline namespace v1 {

template <typename T> class Box {
  public:
    explicit Box(T value) : value_(value) {}
    __attribute__((noinline)) T get() const { return value_; }
    template <typename To> __attribute__((noinline)) To convert() const { return static_cast<To>(value_); }
    struct Lid {
        int number;
        __attribute__((noinline)) int open();
    };
    __attribute__((noinline)) static int count(int by) { return by + Base::shared; }

  private:
    T value_;
};

template <typename T> int Box<T>::Lid::open() { return number + 1; }

enum class Side { Left = 1, Right };

// The compilers describe va_list at line 0.
__attribute__((noinline)) int sum(int count, ...) {
    va_list list;
    va_start(list, count);
    int total = 0;
    for (int i = 0; i < count; i++)
        total += va_arg(list, int);
    va_end(list);
    return total;
}

} // namespace v1
} // namespace deep

__attribute__((noinline)) int use_deep(int value, deep::Side side) {
    deep::Box<int> box(value);
    deep::Box<int>::Lid lid{value};
    return box.get() + static_cast<int>(box.convert<long>()) + lid.open() + deep::Box<int>::count(value) +
           deep::sum(2, value, static_cast<int>(side));
}

} // namespace ns

int main(int argc, char**) {
    ns::Shape shape(argc);
    ns::Guard guard = ns::make_guard(3);
    int sum = ns::use_deep(argc, ns::deep::Side::Right) + ns::area(shape, true) + ns::secret(argc) + ns::twice(argc);
    return sum + static_cast<int>(ns::twice(2L) + guard.number) < 0;
}
