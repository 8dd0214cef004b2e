/* Tells the runtime about a file that the runtime has mapped itself.
 *
 * Handlers identify a file by the address of its inode in the kernel, which no system call returns. So the runtime maps
 * a page of the file, and runs this program in its own context. The program looks up the mapping, and stores the
 * inode's address in a word that both share. */
#include "../../runtime/plan/session_words.h"
#include "files.h"

extern struct sonde_session_words sonde_data;

/* Finds the inode of the file that is mapped at this address in the session's own memory; 0 if no file is mapped
 * there. */
__attribute__((section("raw_tracepoint"), used)) int sonde_ask_file(u64* ctx)
{
    struct sonde_found in = {};
    u64 found = bpf_find_vma(bpf_get_current_task_btf(), ctx[0], (void*)take_mapping, &in, 0) == 0 ? in.at.inode : 0;
    sonde_data.asked_file = found;
    return 0;
}
