# Binaries whose debug information tests/unit/dwarf_test.cc reads, in <build>/tests/triggers: the same sources by both
# compilers, unoptimised and optimised, DWARF 4 and 5, and a few special layouts. Built by the compilers' plain drivers,
# so that the project's own options (sanitizers, optimisation) do not change what the tests expect.
find_program(TRIGGER_GCC gcc REQUIRED)
find_program(TRIGGER_GXX g++ REQUIRED)
find_program(TRIGGER_CLANG NAMES clang clang-19 clang-14 REQUIRED)
find_program(TRIGGER_CLANGXX NAMES clang++ clang++-19 clang++-14 REQUIRED)

set(trigger_map -ffile-prefix-map=${trigger_project}/= -ffile-prefix-map=${trigger_output}=.)
set(trigger_basic ${CMAKE_CURRENT_LIST_DIR}/dwarf_basic.c ${CMAKE_CURRENT_LIST_DIR}/dwarf_other.c)
set(trigger_cxx ${CMAKE_CURRENT_LIST_DIR}/dwarf_cxx.cc)

function(add_dwarf_trigger name compiler sources)
  add_custom_command(OUTPUT ${trigger_output}/${name}
    COMMAND ${${compiler}} ${trigger_map} ${ARGN} -o ${name} ${${sources}}
    DEPENDS ${${sources}} WORKING_DIRECTORY ${trigger_output} VERBATIM)
  set(dwarf_triggers ${dwarf_triggers} ${trigger_output}/${name} PARENT_SCOPE)
endfunction()

foreach(level O0 O2)
  foreach(version 4 5)
    set(options -${level} -gdwarf-${version})
    add_dwarf_trigger(dwarf_basic-gcc-${level}-${version} TRIGGER_GCC trigger_basic ${options})
    add_dwarf_trigger(dwarf_basic-clang-${level}-${version} TRIGGER_CLANG trigger_basic ${options})
    add_dwarf_trigger(dwarf_cxx-gcc-${level}-${version} TRIGGER_GXX trigger_cxx ${options})
    add_dwarf_trigger(dwarf_cxx-clang-${level}-${version} TRIGGER_CLANGXX trigger_cxx ${options})
  endforeach()
endforeach()
add_dwarf_trigger(dwarf_basic-fixed TRIGGER_GCC trigger_basic -O0 -g -no-pie)
add_dwarf_trigger(dwarf_basic-lto TRIGGER_GCC trigger_basic -O2 -g -flto)
add_dwarf_trigger(dwarf_basic-library TRIGGER_GCC trigger_basic -O0 -g -shared -fPIC)
add_dwarf_trigger(dwarf_basic-split TRIGGER_GCC trigger_basic -O0 -g -gsplit-dwarf -dumpdir split-)
add_dwarf_trigger(dwarf_basic-object TRIGGER_GCC trigger_basic -O0 -g -r -nostdlib -ffunction-sections)
add_dwarf_trigger(dwarf_basic-plain TRIGGER_GCC trigger_basic -O0 -g0)

# A stripped program, its debug information beside it: once with a build-id that both share, once by checksum only.
foreach(kind id crc)
  set(full dwarf_basic-${kind}-full)
  add_dwarf_trigger(${full} TRIGGER_GCC trigger_basic -O0 -g -Wl,--build-id=$<IF:$<STREQUAL:${kind},id>,sha1,none>)
  add_custom_command(OUTPUT ${trigger_output}/dwarf_basic-${kind}
    COMMAND ${CMAKE_OBJCOPY} --only-keep-debug --compress-debug-sections ${full} dwarf_basic-${kind}.debug
    COMMAND ${CMAKE_OBJCOPY} --strip-all --add-gnu-debuglink=dwarf_basic-${kind}.debug ${full} dwarf_basic-${kind}
    DEPENDS ${trigger_output}/${full} BYPRODUCTS ${trigger_output}/dwarf_basic-${kind}.debug
    WORKING_DIRECTORY ${trigger_output} VERBATIM)
  list(APPEND dwarf_triggers ${trigger_output}/dwarf_basic-${kind})
endforeach()

# The test looks lines up by their `line:` comments.
configure_file(${CMAKE_CURRENT_LIST_DIR}/dwarf_basic.c ${trigger_output}/dwarf_basic.c COPYONLY)
add_custom_target(dwarf_triggers ALL DEPENDS ${dwarf_triggers})
