// The layouts, as they follow from the headers of each version. `tests/python_tests` compares them with the debug
// information of interpreters that have it.
#include "languages/python/layouts.h"

#include <cstddef>
#include <cstring>

#include "base/byte_cursor.h"
#include "base/check.h"

namespace sonde {
namespace {

// 3.8 to 3.10: a frame is an object of its own, and its code has separate tuples of names for each kind of variable.
sonde_python with_frame_objects(unsigned version) {
    sonde_python out{};
    out.version = version;
    out.runtime_interpreters = 32;
    out.interpreter_threads = 8;
    out.thread_next = 8;
    out.thread_id = 176;
    out.thread_frame = 24;
    out.frame_back = 24;
    out.frame_code = 32;
    out.frame_instr = version == 10 ? 96 : 104;
    out.frame_locals = version == 10 ? 352 : 360;
    out.frame_state = version == 10 ? 108 : 72;
    out.code_name = 112;
    out.code_file = 104;
    out.code_first_line = 40;
    out.code_lines = 120;
    out.code_flags = 36;
    out.code_arguments = 16;
    out.code_keyword_arguments = 24;
    out.code_locals = 28;
    out.code_names = 72;
    out.code_cell_arguments = 96;
    out.code_cells = 88;
    out.code_free = 80;
    out.code_constants = 56;
    out.type_keys = version == 9 ? 864 : 872;
    out.text_data = 48;
    out.text_wide = 72;
    out.keys_size = 8;
    out.keys_entries = 32;
    out.keys_indices = 40;
    return out;
}

// From 3.11 on: frames are part of a thread's own stack, and one tuple has the names of all variables.
sonde_python with_inner_frames(unsigned version) {
    sonde_python out{};
    out.version = version;
    out.thread_next = 8;
    out.frame_back = version == 11 ? 48 : 8;
    out.frame_code = version == 11 ? 32 : 0;
    out.frame_instr = 56;
    out.frame_locals = version == 14 ? 80 : 72;
    out.code_name = 120;
    out.code_qualname = 128;
    out.code_file = 112;
    out.code_first_line = version == 11 ? 72 : 68;
    out.code_lines = 136;
    out.code_bytes = version == 11 ? 184 : version == 12 ? 192 : version == 13 ? 200 : 208;
    out.code_flags = 48;
    out.code_arguments = version == 11 ? 56 : 52;
    out.code_keyword_arguments = version == 11 ? 64 : 60;
    out.code_locals = version == 11 ? 76 : 72;
    out.code_names = 96;
    out.code_kinds = 104;
    out.code_constants = 24;
    out.code_tools = version == 11 ? 0 : version == 12 ? 160 : 168;
    out.thread_tools = version >= 13 ? 24 : 0;
    out.thread_tracing = version >= 13 ? 60 : 0;
    out.type_keys = version == 11 ? 872 : 880;
    out.tuple_items = version >= 14 ? 32 : 0;
    out.text_data = version == 11 ? 48 : 40;
    out.text_wide = version == 11 ? 72 : 56;
    out.long_tag = version == 11 ? 0 : 16;
    out.keys_size = 8;
    out.keys_kind = 10;
    out.keys_entries = 24;
    out.keys_indices = 32;
    if (version == 11) {
        out.runtime_interpreters = 40;
        out.interpreter_threads = 16;
        out.thread_id = 152;
        out.thread_native = 160;
        out.thread_cframe = 56;
        out.thread_frame = 8;
        out.frame_owner = 69;
        out.frame_is_entry = 68;
    } else {
        out.frame_owner = version == 14 ? 74 : 70;
    }
    if (version == 12) {
        out.runtime_interpreters = 40;
        out.interpreter_threads = 72;
        out.thread_id = 136;
        out.thread_native = 144;
        out.thread_cframe = 56;
        out.thread_frame = 0;
    }
    return out;
}

} // namespace

sonde_python python_layout(unsigned minor_version) {
    CHECK(minor_version >= first_python && minor_version <= last_python);
    sonde_python out = minor_version < 11 ? with_frame_objects(minor_version) : with_inner_frames(minor_version);
    out.type_name = 24;
    out.type_flags = 168;
    out.type_dictionary = 288;
    return out;
}

namespace {

// Whether the objects have the members where the table says. `in`: the rest of the description, behind
// `co_code_adaptive`.
bool has_known_objects(ByteCursor& in, const sonde_python& layout) {
    constexpr uint64_t any = ~0ull;
    const auto is = [&](std::initializer_list<uint64_t> wanted) {
        bool out = true;
        for (const uint64_t one : wanted)
            out = (in.take<uint64_t>() == one || one == any) && out;
        return out;
    };
    return is({any}) &&                                                                       // co_tlbc
           is({any, SONDE_PYTHON_TYPE}) &&                                                    // an object: size, type
           is({any, layout.type_name, any, layout.type_flags}) &&                             // a class: tp_repr
           is({any, layout.tuple_items, SONDE_PYTHON_SIZE}) &&                                // a tuple
           is({any, SONDE_PYTHON_ITEMS, SONDE_PYTHON_SIZE}) &&                                // a list
           is({any, SONDE_PYTHON_SET_USED, SONDE_PYTHON_SET_TABLE, SONDE_PYTHON_SET_MASK}) && // a set
           is({any, SONDE_PYTHON_DICT_KEYS, SONDE_PYTHON_DICT_VALUES}) &&                     // a dict
           is({any, SONDE_PYTHON_FLOAT}) && is({any, layout.long_tag, SONDE_PYTHON_DIGITS}) &&
           is({any, SONDE_PYTHON_SIZE, SONDE_PYTHON_BYTES}) && // bytes
           is({any, SONDE_PYTHON_TEXT_STATE, SONDE_PYTHON_SIZE, layout.text_data});
}

} // namespace

std::string_view read_debug_offsets(std::string_view offsets, sonde_python& layout) {
    ByteCursor in(offsets);
    if (in.take_bytes(8) != "xdebugpy")
        return "it has no description of its memory (`_Py_DebugOffsets`)";
    const auto version = in.take<uint64_t>();
    if (version >> 24 != 3 || (version >> 16 & 0xff) != layout.version)
        return "the description of its memory is for another version";
    if (in.take<uint64_t>() != 0)
        return "it runs without the global interpreter lock (free-threaded), which sonde does not support";
    const auto take = [&] { return static_cast<unsigned>(in.take<uint64_t>()); };
    const auto skip = [&](size_t count) { in.skip(count * sizeof(uint64_t)); };
    skip(2); // the runtime: size, finalizing
    layout.runtime_interpreters = take();
    skip(2); // an interpreter: size, id
    layout.interpreter_next = take();
    layout.interpreter_threads = take();
    // gc, imports_modules, sysdict, builtins, ceval_gil, gil_runtime_state and its members; since 3.14 also
    // threads_main, code_object_generation, tlbc_generation
    skip(layout.version >= 14 ? 12 : 9);
    skip(2); // a thread: size, prev
    layout.thread_next = take();
    skip(1); // interp
    layout.thread_frame = take();
    layout.thread_id = take();
    layout.thread_native = take();
    skip(2); // datastack_chunk, status
    skip(1); // a frame: size
    layout.frame_back = take();
    layout.frame_code = take();
    layout.frame_instr = take();
    layout.frame_locals = take();
    layout.frame_owner = take();
    if (layout.version >= 14)
        skip(2); // stackpointer, tlbc_index
    skip(1);     // a code object: size
    layout.code_file = take();
    layout.code_name = take();
    layout.code_qualname = take();
    layout.code_lines = take();
    layout.code_first_line = take();
    layout.code_arguments = take();
    layout.code_names = take();
    layout.code_kinds = take();
    layout.code_bytes = take();
    if (layout.version >= 14 && !has_known_objects(in, layout))
        return "its objects have another structure than those of other builds of this version";
    return in.failed() ? "the description of its memory is incomplete" : "";
}

// The byte is f_executing up to 3.9, f_state in 3.10 (0: executing), and since 3.11 the frame's owner (0: the thread's
// stack, 1: a generator; others: the frame is only an object, or the interpreter's C code).
PythonExceptionLayout python_exception_layout(unsigned minor_version) {
    CHECK(minor_version >= first_python && minor_version <= last_python);
    if (minor_version < 10)
        return {.thread_exception = 96, .frame_executing = 116, .first_executing = 1, .last_executing = 1};
    if (minor_version == 10)
        return {.thread_exception = 96, .frame_executing = 108};
    return {.thread_exception = minor_version == 11   ? 104u
                                : minor_version == 12 ? 96u
                                                      : 112u,
            .object_frame = 24,
            .frame_executing = minor_version == 11   ? 69u
                               : minor_version == 14 ? 74u
                                                     : 70u,
            .last_executing = 1};
}

PythonOpcodes python_opcodes(unsigned minor_version) {
    switch (minor_version) {
    case 11:
        return {.resume = 151, .resume_quick = 150, .return_value = 83, .extended_argument = 144};
    case 12:
        return {.resume = 151,
                .resume_traced = 240,
                .return_value = 83,
                .return_constant = 121,
                .return_value_traced = 242,
                .return_constant_traced = 247,
                .extended_argument = 144};
    case 13:
        return {.resume = 149,
                .resume_quick = 207,
                .resume_traced = 236,
                .return_value = 36,
                .return_constant = 103,
                .return_value_traced = 239,
                .return_constant_traced = 240,
                .extended_argument = 71};
    case 14:
        return {.resume = 128,
                .resume_quick = 196,
                .resume_traced = 245,
                .return_value = 35,
                .return_value_traced = 246,
                .extended_argument = 69};
    default:
        return {};
    }
}

} // namespace sonde
