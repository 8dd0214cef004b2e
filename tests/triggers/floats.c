/* Floating point values in memory: a variable, members, an array. `floats` prints nothing. */
#define KEEP __attribute__((noinline, noclone))

struct sample {
    float ratio;
    double mean;
    float weights[3];
    long double exact;
    double _Complex turn;
};

double threshold = -0.125;

KEEP long look(struct sample* sample) {
    __asm__ volatile("" : : "r"(sample) : "memory");
    return sample->mean > threshold;
}

int main(void) {
    struct sample sample = {.ratio = 0.5f, .mean = 2.71828, .weights = {1.5f, -3e6f, 1e-40f}, .exact = 1.0L};
    return look(&sample) != 1;
}
