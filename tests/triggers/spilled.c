/* A parameter that is in a vector register, and on the stack while another function runs. */
volatile int sink;

static void work(int i) { sink = i; }
void (*volatile to_call)(int) = work;

__attribute__((noinline, noclone)) double scale(double x, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) {
        to_call(i);
        sum += x * i;
    }
    return sum + x;
}

int main(int argc, char** argv) {
    (void)argv;
    return scale(argc * 1.5, 3) > 100;
}
