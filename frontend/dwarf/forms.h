// The sizes of attribute values (DWARF 5, section 7.5.6), for readers that walk over the DIEs of a unit without libdw.
#pragma once

#include "base/byte_cursor.h"

namespace sonde {

struct FormSizes {
    int version;
    int address;
    int offset;
};

// Returns the size of a form's value in bytes; -1 if that depends on the value.
int fixed_form_size(unsigned form, const FormSizes& sizes);

// Skips a value. Returns false if the form is unknown; then nothing after it can be read.
bool skip_form(ByteCursor& cursor, unsigned form, const FormSizes& sizes);

} // namespace sonde
