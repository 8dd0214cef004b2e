/* User stacks as array keys: finds the text that identifies a stack in all processes (runtime/plan/stack.h,
 * struct sonde_shared).
 *
 * A hit computes a checksum of the files and offsets of its stack, which unwinding has stored next to the addresses.
 * Under this checksum it looks up the text that the first process with such a stack has stored. So nothing is
 * written if the same stack occurs again, in any process. */
#include "files.h"

static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void*)14;

int sonde_rt_padded_stack_text(struct sonde_slot* slot, struct sonde_stack* stack, u64 first, s64 count, u64 noughts);

extern u8 sonde_shared, sonde_owners, sonde_unshared; /* maps, defined by the script's module */
extern const u32 sonde_rt_places;                     /* sonde_shared_places() */
enum { NEW_ONLY = 1 /* BPF_NOEXIST */ };

struct identifying {
    struct sonde_stacks* stacks;
    struct sonde_slot* slot;
    u64 first;
    struct sonde_identity* to;
};
static long add_place(u64 i, struct identifying* d) {
    struct sonde_place* place = &d->stacks->place[masked(d->first + i, SONDE_STACK_MOST - 1)];
    sonde_identify(d->to, place->inode + place->owner);
    sonde_identify(d->to, place->place);
    return 0;
}
static long add_word(u64 i, struct identifying* d) {
    sonde_identify(d->to, *(const u64*)(d->slot->text + masked(8 * i, MASK)));
    return 0;
}
static inline u64 count_frames(struct sonde_stacks* stacks, u64 first, s64 count) {
    u64 depth = stacks->user.depth & (2 * SONDE_STACK_MOST - 1), left = depth > first ? depth - first : 0;
    return count >= 0 && left > (u64)count ? (u64)count : left;
}
/* Identifies `count` functions of the stack independently of the process. Returns 0 if there are none. */
ONCE int sonde_rt_identify_stack(struct sonde_identity* to, struct sonde_stacks* stacks, u64 first, s64 count) {
    if (!to || !stacks)
        return 0;
    u64 frames = count_frames(stacks, first, count);
    struct identifying d = {stacks, 0, first, to};
    to->word[0] = to->word[1] = frames;
    LOOP((u32)frames, add_place, &d);
    return frames > 0;
}
/* Identifies the padded text in the slot. */
ONCE int sonde_rt_identify_text(struct sonde_identity* to, struct sonde_slot* slot) {
    if (!to || !slot)
        return 0;
    struct identifying d = {0, slot, 0, to};
    to->word[0] = to->word[1] = 0;
    LOOP(sonde_rt_max / 8, add_word, &d);
    return 0;
}
static void count_unshared(void) {
    u32 only = 0;
    u64* count = bpf_map_lookup_elem(&sonde_unshared, &only);
    if (count)
        __sync_fetch_and_add(count, 1);
}
struct sharing {
    struct sonde_stacks* stacks;
    struct sonde_slot* slot;
    const struct sonde_identity* key;
    u64 first;
    s64 count;
    u64 has_no_room;
};
/* Appends zeros to the first addresses until no other stack has the same text. If the map is full, the text is not
 * stored. */
static long find_text(u64 noughts, struct sharing* s) {
    struct sonde_identity text = {};
    sonde_rt_padded_stack_text(s->slot, &s->stacks->user, s->first, s->count, noughts);
    sonde_rt_identify_text(&text, s->slot);
    bpf_map_update_elem(&sonde_owners, &text, s->key, NEW_ONLY);
    const struct sonde_identity* owner = bpf_map_lookup_elem(&sonde_owners, &text);
    s->has_no_room = !owner;
    return !owner || (owner->word[0] == s->key->word[0] && owner->word[1] == s->key->word[1]);
}
static long copy_place(u64 i, struct sharing* s) {
    const struct sonde_place* from = &s->stacks->place[masked(s->first + i, SONDE_STACK_MOST - 1)];
    u64* to = (u64*)(s->slot->text + sonde_rt_max + sizeof(struct sonde_shared) + 16 * masked(i, sonde_rt_places - 1));
    to[0] = from->inode;
    to[1] = from->place;
    return 0;
}
/* Handles a stack that occurs for the first time. Stores its padded text in the slot. If the map is full, the text
 * belongs to this process only, as if nothing were shared, and the case is counted. */
RT u64 sonde_rt_share_stack(struct sonde_slot* slot, struct sonde_stacks* stacks, u64 first, s64 count,
                            const struct sonde_identity* key) {
    struct sharing s = {stacks, slot, key, first, count, 0};
    LOOP(SONDE_NOUGHTS_MOST + 1, find_text, &s);
    struct sonde_shared* shared = (void*)(slot->text + sonde_rt_max);
    u64 frames = count_frames(stacks, first, count);
    shared->process = bpf_get_current_pid_tgid() >> 32;
    shared->depth = frames < sonde_rt_places ? frames : sonde_rt_places;
    LOOP(sonde_rt_places, copy_place, &s);
    bpf_map_update_elem(&sonde_shared, key, slot->text, NEW_ONLY);
    /* Another process may have stored its text first. */
    const u8* text = bpf_map_lookup_elem(&sonde_shared, key);
    if (text)
        copy_bytes(slot->text, sonde_rt_max, text);
    if (!text || s.has_no_room)
        count_unshared();
    return 0;
}
/* Returns the padded text that identifies the stack in all processes. It may be in the slot or elsewhere. */
RT u8* sonde_rt_shared_stack(struct sonde_slot* slot, struct sonde_stacks* stacks, u64 first, s64 count) {
    struct sonde_identity identity = {};
    if (!sonde_rt_identify_stack(&identity, stacks, first, count))
        return (u8*)sonde_rt_zeros;
    u8* text = bpf_map_lookup_elem(&sonde_shared, &identity);
    if (text)
        return text;
    sonde_rt_share_stack(slot, stacks, first, count, &identity);
    return slot->text;
}
/* Copies a padded text with its padding. */
RT u64 sonde_rt_copy_padded(u8* to, const u8* text) {
    copy_bytes(to, sonde_rt_max, text);
    return 0;
}
