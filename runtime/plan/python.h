/* Facts about a build of CPython, with which handlers read a process' Python objects.
 *
 * The problem: a Python program has no machine code of its own. Its functions, arguments and stack are objects in the
 * interpreter's memory, and the layout of these objects differs between versions.
 *
 * The idea: languages/python reads the layout once for each interpreter file, from a table or from the interpreter
 * itself. Handlers get it as an element of the map `sonde_python`, and codegen/rtlib follows it. So one BPF program
 * serves all versions.
 *
 * All offsets are in bytes. An offset is 0 if the version does not have the member, unless its comment says otherwise.
 * C, because codegen/rtlib and the compiler include it. */
#ifndef SONDE_PYTHON_H
#define SONDE_PYTHON_H

enum { SONDE_PYTHON_MOST = 16 }; /* interpreters of one session */

struct sonde_python {
    /* The state of all interpreters, `_PyRuntime`, as a distance: a mapping of the code at the address `start` with the
     * file offset `offset` has it at start - offset + runtime. The same for the types of objects. */
    unsigned long long runtime;
    unsigned long long code_type, unicode_type;
    unsigned long long loop; /* the same for the first instruction of the interpreter's loop */

    unsigned version;              /* of the language: 11 for 3.11 */
    unsigned runtime_interpreters; /* first interpreter; each has a list of threads */
    unsigned interpreter_next, interpreter_threads;
    unsigned thread_next;
    unsigned thread_id;     /* pthread_self() */
    unsigned thread_native; /* gettid(); since 3.11 */
    /* The current frame. 3.11 and 3.12 have a structure between: thread_cframe points to it. */
    unsigned thread_frame, thread_cframe;

    unsigned frame_back, frame_code;
    /* Up to 3.10 a number: of the last executed byte (3.10: code unit). Since 3.11 the address of the last executed
     * instruction (3.13: or of the next one). */
    unsigned frame_instr;
    unsigned frame_owner;    /* since 3.12: who owns it; 3: the interpreter's C code, not a function */
    unsigned frame_is_entry; /* 3.11: a byte; 1: called by C code */
    unsigned frame_locals;   /* parameters and variables */
    /* Up to 3.10: shows that a generator has only yielded. 3.10: a byte, which is -1 then; before: an address, which is
     * not 0 then. */
    unsigned frame_state;

    unsigned code_name;
    unsigned code_qualname; /* since 3.11 */
    unsigned code_file, code_first_line, code_lines, code_bytes;
    unsigned code_flags, code_arguments, code_keyword_arguments, code_locals;
    unsigned code_names;            /* tuple of the names of `frame_locals` */
    unsigned code_kinds;            /* since 3.11: bytes with the kind of each local */
    unsigned code_cell_arguments;   /* up to 3.10: which cell replaces which argument */
    unsigned code_cells, code_free; /* up to 3.10: tuples of the names after those in `code_names` */
    unsigned code_constants;
    /* Since 3.12, a code object is adapted to the tools that trace the program. It was adapted for this version of the
     * tools; 3.13: the upper bytes of thread_tools are the current one. thread_tracing: not 0 within a tool. */
    unsigned code_tools, thread_tools, thread_tracing;

    unsigned type_name, type_flags, type_dictionary; /* the last one: where an object has its attributes */
    unsigned type_keys;                              /* of a class: the names of inline attributes */
    unsigned tuple_items;                            /* 0: SONDE_PYTHON_ITEMS */
    unsigned text_data; /* size of a text's head, if it is ASCII; other texts have text_wide */
    unsigned text_wide;
    unsigned long_tag; /* since 3.12: sign and number of digits */
    unsigned keys_size, keys_kind, keys_entries, keys_indices;
    unsigned reserved; /* 0; so the structure has no padding */
};

/* Offsets that are the same in all versions. */
enum {
    SONDE_PYTHON_TYPE = 8,        /* of an object */
    SONDE_PYTHON_SIZE = 16,       /* of an object with a variable size; a tuple, list, bytes or text */
    SONDE_PYTHON_ITEMS = 24,      /* a tuple's; of a list, the address of its items */
    SONDE_PYTHON_BYTES = 32,      /* the bytes of a `bytes` */
    SONDE_PYTHON_DIGITS = 24,     /* an int's digits of 30 bits */
    SONDE_PYTHON_FLOAT = 16,      /* a float's value */
    SONDE_PYTHON_TEXT_HASH = 24,  /* a text's hash, or -1 */
    SONDE_PYTHON_TEXT_STATE = 32, /* bits: 2-4 bytes for each character, 5 compact, 6 ASCII */
    SONDE_PYTHON_CELL = 16,       /* the object in a cell */
    SONDE_PYTHON_DICT_USED = 16,
    SONDE_PYTHON_DICT_KEYS = 32,
    SONDE_PYTHON_DICT_VALUES = 40,
    SONDE_PYTHON_SET_USED = 24,
    SONDE_PYTHON_SET_MASK = 32,
    SONDE_PYTHON_SET_TABLE = 40,
};

/* Steps from a frame or an object to one of its values. The compiler writes them as text, each with its name behind it:
 * `$self.size` is `$self->size` in a script, and `.args[0` begins with an object. */
enum sonde_python_step {
    SONDE_PYTHON_END = 0,
    SONDE_PYTHON_VARIABLE = '$',  /* of a frame */
    SONDE_PYTHON_ATTRIBUTE = '.', /* of an object */
    SONDE_PYTHON_ITEM = '[',      /* of a list or tuple; the name is the index */
    SONDE_PYTHON_LENGTH_OF = '#', /* the number of elements */
    SONDE_PYTHON_CLASS_OF = '@',  /* the name of the object's class */
    SONDE_PYTHON_CONSTANT = 'c',  /* of a frame's function: the one that its instruction returns */
    SONDE_PYTHON_EXCEPTION = 'e', /* at an address: the exception; up to 3.11 its value, after its class */
    /* The text of many variables of a frame. */
    SONDE_PYTHON_PARAMETERS = 'p',
    SONDE_PYTHON_LOCALS = 'l',
    SONDE_PYTHON_VARIABLES = 'v',
};

#endif
