/* Facts about a build of HotSpot, the virtual machine of OpenJDK, with which handlers unwind and read the frames of
 * Java (codegen/rtlib/java_stack.bpf.c).
 *
 * languages/java reads them once for each libjvm.so. Offsets are in bytes, and have the names of HotSpot's members.
 * C, because codegen/rtlib includes it. */
#ifndef SONDE_JAVA_H
#define SONDE_JAVA_H

/* Handlers read as many bytes of these objects at once: an nmethod without its code, a ConstMethod, a ConstantPool. */
enum { SONDE_JAVA_BLOB_BYTES = 352, SONDE_JAVA_CODE_BYTES = 64, SONDE_JAVA_POOL_BYTES = 96 };
struct sonde_java {
    /* Static variables, and the first words of objects: as offsets in the file. */
    unsigned long long heaps, interpreter, call_stub_return;
    unsigned long long return_barrier; /* 0: this version has no virtual threads */
    unsigned long long nmethod, vtable_stub;
    unsigned version;    /* 0: the element is not in use */
    unsigned first_byte; /* of compressed numbers: stands for 0 */

    unsigned array_length, array_data;                                                        /* GrowableArray */
    unsigned heap_memory, heap_segments, heap_segment_bits;                                   /* CodeHeap */
    unsigned space_low, space_high;                                                           /* VirtualSpace */
    unsigned queue_begin, queue_size;                                                         /* StubQueue */
    unsigned block_bytes, block_used;                                                         /* HeapBlock */
    unsigned blob_name, blob_complete, blob_frame, blob_begin, blob_end;                      /* CodeBlob */
    unsigned compiled_method, compiled_scopes, compiled_deoptimized, compiled_deoptimized_mh; /* CompiledMethod */
    unsigned nmethod_original_pc, nmethod_pcs, nmethod_pcs_end, nmethod_metadata;             /* nmethod */
    unsigned nmethod_bci, nmethod_entry, nmethod_loop_entry; /* nmethod: the bytecode with which it begins */
    unsigned pc_bytes, pc_offset, pc_scope;                  /* PcDesc */
    unsigned method_code;                                    /* Method: its ConstMethod */
    unsigned code_pool, code_flags, code_size, code_name, code_stack, code_bytes; /* ConstMethod */
    unsigned code_has_lines;                                                      /* a bit of the flags */
    unsigned pool_class, pool_file, pool_length, pool_bytes;                      /* ConstantPool */
    unsigned class_pool, class_name;                                              /* InstanceKlass */
    unsigned text_length, text;                                                   /* Symbol */
};

#endif
