/* Numbers with their highest byte first (gcc), and decimal floating point. */
struct __attribute__((scalar_storage_order("big-endian"))) packet {
    int number;
    short negative;
    unsigned short port;
    long wide;
    float ratio;
    unsigned bits : 4;
};

__attribute__((noinline)) int look(struct packet* packet, _Decimal64* decimal) {
    __asm__ volatile("" : : "r"(decimal) : "memory");
    return packet->number;
}

int main(void) {
    struct packet packet = {0x01020304, -2, 8080, -5, 1.5f, 5};
    _Decimal64 decimal = 2.5DD;
    return look(&packet, &decimal) == 0;
}
