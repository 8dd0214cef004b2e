/* Facts about a build of Ruby (MRI), with which handlers read the frames of a process (codegen/rtlib/ruby_stack.bpf.c).
 *
 * languages/ruby reads them once for each interpreter file. Offsets are in bytes.
 * C, because codegen/rtlib includes it. */
#ifndef SONDE_RUBY_H
#define SONDE_RUBY_H

struct sonde_ruby {
    /* Places in the file, as distances: a mapping of the code at the address `start` with the file offset `offset` has
     * it at start - offset + distance. `thread_slot`: two words that describe the thread-local variable
     * `ruby_current_ec`: the module's index in the tables of thread-local blocks, and the place in the block.
     * `symbols`: the table of symbols, `ruby_global_symbols`. `core_begin`, `core_end`: the function that executes
     * instructions; rb_vm_exec() calls it. */
    unsigned long long thread_slot, symbols, core_begin, core_end;
    /* From the thread pointer to the pointer to the table of blocks. */
    long long thread_table;

    unsigned version;       /* 301 for 3.1 */
    unsigned last_operator; /* the last ID that is the number of a symbol; others have it above 4 bits of flags */
    unsigned symbols_ids;

    unsigned context_stack, context_stack_size, context_frame;    /* of a thread or fiber: rb_execution_context_t */
    unsigned frame_size, frame_pc, frame_code, frame_environment; /* rb_control_frame_t */
    unsigned code_body;                                           /* rb_iseq_t */
    unsigned body_instructions, body_size, body_path, body_label, body_lines, body_lines_size, body_lines_index;
    unsigned line_size; /* of an element of `body_lines` */
    unsigned method_definition, definition_name;
    /* Of a text: where its bytes begin if they are in the object. 16: there is no size before them, but in the flags.
     */
    unsigned text_bytes;
    /* 0: names have no class, and the members below are not used. */
    unsigned names_classes;
    unsigned body_base_label, body_parent, body_local;
    unsigned method_owner;
    /* Of a class: the object of a singleton class; its name; a byte whose lowest bit says that the name stays. */
    unsigned class_attached, class_name, class_is_named;
};

#endif
