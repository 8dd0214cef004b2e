// C++ names, classes and references, for tests/unit/dwarf_test.cc.
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
__attribute__((noinline)) int secret(int value) {
    Base::shared += value;
    return value + 1;
}
} // namespace

template <typename T> __attribute__((noinline)) T twice(const T& value) { return value * 2; }

__attribute__((noinline)) int area(const Shape& shape, bool flag) { return flag ? shape.area(2) : 0; }

} // namespace ns

int main(int argc, char**) {
    ns::Shape shape(argc);
    ns::Guard guard = ns::make_guard(3);
    return ns::area(shape, true) + ns::secret(argc) + ns::twice(argc) + static_cast<int>(ns::twice(2L) + guard.number);
}
