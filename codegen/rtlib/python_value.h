/* The work of sonde_rt_python_value(), which handlers provide: memory in their frame. C, because the compiler fills the
 * input (codegen/lower/primitives_python.cc). */
#pragma once

#include "../../runtime/plan/python.h"

enum {
    PYTHON_VALUE_STEPS = 8,     /* names in an expression, as in `$a->b->c` */
    PYTHON_VALUE_NAME = 64,     /* bytes of a name, with its NUL */
    PYTHON_VALUE_LEVELS = 8,    /* containers in each other */
    PYTHON_VALUE_ELEMENTS = 32, /* printed elements of a container */
};

enum python_value_status {
    PYTHON_VALUE_OK,
    PYTHON_VALUE_FAULT,        /* memory cannot be read */
    PYTHON_VALUE_NO_OBJECT,    /* the address is not that of an object */
    PYTHON_VALUE_NO_FRAME,     /* the address is not that of a frame of a Python function */
    PYTHON_VALUE_NO_LAYOUT,    /* the interpreter is not known */
    PYTHON_VALUE_NO_VARIABLE,  /* the function does not have the variable */
    PYTHON_VALUE_UNSET,        /* the variable or attribute has no value */
    PYTHON_VALUE_NO_ATTRIBUTE, /* neither the object nor its class has it */
    PYTHON_VALUE_COMPUTED,     /* an attribute whose value the program computes: a property or a method */
    PYTHON_VALUE_NO_ITEM,      /* the index is too large */
    PYTHON_VALUE_NO_ITEMS,     /* an index of something else than a list or tuple */
    PYTHON_VALUE_NO_LENGTH,
    PYTHON_VALUE_IS_TEXT, /* the value is a str, but a number is needed */
    PYTHON_VALUE_IS_FLOAT,
    PYTHON_VALUE_IS_NONE,
    PYTHON_VALUE_NO_NUMBER, /* another type */
    PYTHON_VALUE_TOO_LARGE, /* the int does not fit into 64 bits */
    PYTHON_VALUE_TOO_LONG,  /* the search has taken too many steps */
    PYTHON_VALUE_NO_EXCEPTION,
    PYTHON_VALUE_NO_INSTANCE, /* up to 3.11: an attribute of an exception that is not an object yet */
};

/* A container, object or frame whose parts are being visited. */
struct sonde_python_level {
    unsigned long long kind;
    unsigned long long object;       /* whose parts these are */
    unsigned long long at;           /* address of the items, entries, members or names */
    unsigned long long values;       /* address of the values, if they are separate */
    unsigned long long order;        /* address of the bytes with the order of values, or kinds of variables; or 0 */
    unsigned long long index, count; /* the next part, and the number of parts */
    unsigned long long pending;      /* the value of the key that was printed */
    unsigned long long stride;       /* bytes of an entry */
    unsigned long long phase, style, shown;
    unsigned long long depth; /* of its parts */
    unsigned long long end;   /* up to 8 characters that close it */
};

/* The decimal digits of a float (codegen/rtlib/float_text.c). */
struct sonde_float_work {
    unsigned long long bits;
    unsigned long long limbs[96]; /* an integer in base 1e9, lowest first */
    unsigned long long used, at, carry, factor, left, last;
    unsigned long long digits, sticky, position, best;
    unsigned long long word[4];
    unsigned char text[40];
};

struct sonde_python_work {
    /* Input. */
    unsigned long long layout;                                  /* index in the map `sonde_python` */
    unsigned long long to_number;                               /* 1: the value as a number; 0: its text */
    unsigned long long deep;                                    /* 1: print the parts of parts */
    unsigned long long steps[PYTHON_VALUE_STEPS];               /* sonde_python_step */
    unsigned char names[PYTHON_VALUE_STEPS][PYTHON_VALUE_NAME]; /* filled with NULs */
    /* Result. */
    unsigned long long number, status;

    /* The rest is private to the routine. */
    unsigned long long state, ended, step, searching, wanted; /* wanted: length of the name */
    unsigned long long object, type, flags, depth;            /* the value that is read */
    unsigned long long length, limit, cut;                    /* of the text */
    unsigned long long used;                                  /* levels */
    unsigned long long chars, left, unit, mode, quote;        /* the text that is copied */
    unsigned long long first, all;                            /* its beginning */
    unsigned long long chunk_begin, chunk_end;                /* the part of it that was read */
    unsigned long long code, locals, plain, parameters, stage, cells, cell_count, cell; /* of a frame */
    unsigned long long of_class, classes; /* whose attributes are searched; number of its bases that were searched */
    unsigned long long negative, place;   /* of an int */
    /* Of a decimal.Decimal: its exponent, whether `decimal` will have its digits, the place of the point among them,
     * and of the next one. */
    unsigned long long exponent, with_point;
    long long point, shown_place;
    unsigned long long word[8]; /* memory that was read */
    unsigned char chunk[PYTHON_VALUE_NAME];
    unsigned int digit[8];
    unsigned char decimal[64];
    struct sonde_python_level level[PYTHON_VALUE_LEVELS];
    struct sonde_float_work real;
};
