// The forms of DWARF 2 to 5, and those of GNU extensions for split and common files.
#include "frontend/dwarf/forms.h"

#include <cstdint>

#include <dwarf.h>

namespace sonde {

int fixed_form_size(unsigned form, const FormSizes& sizes) {
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return 8;
    case DW_FORM_data16:
        return 16;
    case DW_FORM_addr:
        return sizes.address;
    case DW_FORM_ref_addr:
        return sizes.version == 2 ? sizes.address : sizes.offset;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return sizes.offset;
    default:
        return -1;
    }
}

bool skip_form(ByteCursor& cursor, unsigned form, const FormSizes& sizes) {
    int size = fixed_form_size(form, sizes);
    if (size >= 0) {
        cursor.skip(static_cast<uint64_t>(size));
        return true;
    }
    switch (form) {
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        cursor.uleb();
        return true;
    case DW_FORM_string:
        cursor.string();
        return true;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        cursor.skip(cursor.uleb());
        return true;
    case DW_FORM_block1:
        cursor.skip(cursor.take<uint8_t>());
        return true;
    case DW_FORM_block2:
        cursor.skip(cursor.take<uint16_t>());
        return true;
    case DW_FORM_block4:
        cursor.skip(cursor.take<uint32_t>());
        return true;
    case DW_FORM_indirect: {
        uint64_t inner = cursor.uleb();
        return inner != DW_FORM_indirect && inner != DW_FORM_implicit_const && inner <= UINT16_MAX &&
               skip_form(cursor, static_cast<unsigned>(inner), sizes);
    }
    default:
        return false;
    }
}

} // namespace sonde
