/* Measures the programs of rings.bpf.c in turn: prints the nanoseconds of one run, the least and the median of all rounds. A round is
 * too short to fill a ring buffer, which is read after each, so nobody is woken.
 *
 *   rings OBJECT ROUNDS PROGRAM... */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../runtime/plan/flight_rings.h"

enum { MOST_RINGS = 64, CHUNKS = 128 };

static int take(void* context, void* data, size_t size) {
    (void)context, (void)data, (void)size;
    return 0;
}

static int open_perf_buffers(struct bpf_object* object) {
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_BPF_OUTPUT};
    attr.sample_type = PERF_SAMPLE_RAW;
    attr.write_backward = 1;
    attr.sample_period = 1;
    for (int processor = 0; processor < libbpf_num_possible_cpus(); processor++) {
        int fd = (int)syscall(SYS_perf_event_open, &attr, -1, processor, -1, PERF_FLAG_FD_CLOEXEC);
        if (fd < 0 || mmap(NULL, (8 << 20) + getpagesize(), PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ||
            bpf_map_update_elem(bpf_object__find_map_fd_by_name(object, "events"), &processor, &fd, 0) != 0)
            return -1;
    }
    return 0;
}

/* Two processors have rings of 8 MB. */
static int open_flight_rings(struct bpf_object* object) {
    const int fd = bpf_object__find_map_fd_by_name(object, "sonde_flight_rings");
    struct sonde_flight_ring* rings =
        mmap(NULL, MOST_RINGS * sizeof *rings, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (rings == MAP_FAILED)
        return -1;
    for (int i = 0; i < MOST_RINGS; i++) {
        rings[i].begun = SONDE_FLIGHT_BEGIN;
        rings[i].first = i < 2 ? i * CHUNKS : UINT32_MAX;
        rings[i].mask = i < 2 ? CHUNKS - 1 : 0;
    }
    return 0;
}

static int compare(const void* a, const void* b) {
    return *(const unsigned*)a < *(const unsigned*)b ? -1 : 1;
}

int main(int argc, char** argv) {
    if (argc < 4)
        return 2;
    struct bpf_object* object = bpf_object__open_file(argv[1], NULL);
    if (!object || bpf_object__load(object) != 0 || open_perf_buffers(object) != 0 || open_flight_rings(object) != 0) {
        perror(argv[1]);
        return 1;
    }
    struct ring_buffer* ring = ring_buffer__new(bpf_object__find_map_fd_by_name(object, "ring"), take, NULL, NULL);
    const int rounds = atoi(argv[2]);
    unsigned* times = calloc((size_t)argc * (size_t)rounds, sizeof *times);
    char packet[64] = "";
    for (int round = 0; round < rounds; round++)
        for (int i = 3; i < argc; i++) {
            LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = packet, .data_size_in = sizeof packet, .repeat = 500);
            struct bpf_program* program = bpf_object__find_program_by_name(object, argv[i]);
            if (!program || bpf_prog_test_run_opts(bpf_program__fd(program), &options) != 0) {
                perror(argv[i]);
                return 1;
            }
            times[i * rounds + round] = options.duration;
            if (ring)
                ring_buffer__consume(ring);
        }
    for (int i = 3; i < argc; i++) {
        qsort(times + i * rounds, (size_t)rounds, sizeof *times, compare);
        printf("%s %u %u\n", argv[i], times[i * rounds], times[i * rounds + rounds / 2]);
    }
    return 0;
}
