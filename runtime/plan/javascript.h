/* Facts about a build of V8, with which handlers read the frames of a process (codegen/rtlib/javascript_stack.bpf.c).
 *
 * languages/javascript reads them once for each file. Offsets are in bytes, from the beginning of an object.
 * C, because codegen/rtlib includes it. */
#ifndef SONDE_JAVASCRIPT_H
#define SONDE_JAVASCRIPT_H

struct sonde_javascript {
    unsigned long long code_begin, code_end; /* the file offsets of the built-in functions */
    unsigned version;                        /* 0: the element is not in use */
    unsigned map_type;                       /* Map */
    /* Types of objects. */
    unsigned function_first, function_last, shared_type, scope_type, script_type, code_type, bytes_type;
    unsigned context_first, context_last;
    unsigned scope_module;               /* ScopeInfo: the size of the number that precedes the variables of a module */
    unsigned function_shared;            /* JSFunction */
    unsigned shared_name, shared_script; /* SharedFunctionInfo */
    unsigned script_source, script_name; /* Script */
    unsigned code_positions, code_first; /* BytecodeArray: the table of positions; the first instruction */
};

#endif
