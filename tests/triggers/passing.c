// Functions whose arguments and results are passed in each way that a convention of C knows. tests/unit/passing_test.cc
// reads them; nothing calls them. Each function uses all of its parameters, so optimized code describes them.
struct pair {
    long first, second;
};
struct ints {
    int low, high;
};
struct odd {
    char text[11];
};
struct mixed {
    double number;
    int count;
};
struct floats {
    float x, y, z;
};
struct doubles {
    double each[4];
};
struct five {
    float each[5];
};
struct large {
    long each[3];
};
struct wide {
    __int128 number;
};
struct nested {
    struct {
        float x;
    } first;
    union {
        float y;
        float z[1];
    } second;
};
struct bits {
    unsigned low : 3, high : 30;
};

long sink;
#define USE(value) sink += (long)(value)

long plain(int a, char b, long c, void* d, short e) { return a + b + c + (long)d + e; }

struct pair two(struct pair p, struct ints i) {
    USE(i.low + i.high);
    p.first += p.second;
    return p;
}

struct odd bytes(struct odd o, int n) {
    o.text[0] = (char)n;
    return o;
}

struct mixed mix(struct mixed m, double d, float f, int i) {
    m.number += d + (double)f;
    m.count += i;
    return m;
}

struct floats vector(struct floats f, int n) {
    f.x += (float)n;
    f.y += f.z;
    return f;
}

struct doubles four(struct doubles d, int n) {
    d.each[0] += n;
    return d;
}

struct five many_floats(struct five f, int n) {
    f.each[0] += (float)n;
    return f;
}

struct large big(struct large l, int n) {
    l.each[0] += n;
    return l;
}

struct nested inside(struct nested s, int n) {
    s.first.x += (float)n;
    return s;
}

struct bits fields(struct bits b, int n) {
    b.low += (unsigned)n;
    return b;
}

long stack(int a, int b, int c, int d, int e, int f, int g, int h, int i, char j, struct pair k, long l) {
    return a + b + c + d + e + f + g + h + i + j + k.first + k.second + l;
}

// The pair does not fit into the last register. Whether `i` may use it depends on the convention.
long split(int a, int b, int c, int d, int e, int f, int g, struct pair p, int i) {
    return a + b + c + d + e + f + g + p.first + p.second + i;
}

// Numbers of 16 bytes can need a register with an even number.
long even(int a, __int128 b, int c, struct wide d, int e) { return (long)(a + b + c + d.number + e); }

long after_floats(double a, double b, double c, double d, double e, double f, double g, struct floats h, float i,
                  int j) {
    USE(a + b + c + d + e + f + g + (double)(h.x + h.y + h.z + i));
    return j;
}

long pointers(int a, int b, int c, int d, int e, int f, int g, int h, struct large l, int i) {
    return a + b + c + d + e + f + g + h + l.each[0] + l.each[2] + i;
}

int variadic(int count, ...) { return count + (int)sink; }

double number(double d, int n) { return d + n; }

__int128 sum(__int128 a, long b) { return a + b; }
