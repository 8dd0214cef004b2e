# Libraries for each architecture, whose calling conventions tests/unit/passing_test.cc compares with the debug
# information. clang compiles for all of them.
find_program(TRIGGER_LLD NAMES ld.lld-19 ld.lld REQUIRED)
foreach(triple x86_64-linux-gnu aarch64-linux-gnu)
  string(REGEX REPLACE "-.*" "" architecture ${triple})
  string(REPLACE aarch64 arm64 architecture ${architecture})
  foreach(level O0 O2)
    set(name ${trigger_output}/passing-${architecture}-${level})
    add_custom_command(OUTPUT ${name}
      COMMAND ${TRIGGER_CLANG} --target=${triple} -ffreestanding -fPIC -g -${level} -c ${CMAKE_CURRENT_LIST_DIR}/passing.c -o ${name}.o
      COMMAND ${TRIGGER_LLD} -shared -o ${name} ${name}.o
      DEPENDS ${CMAKE_CURRENT_LIST_DIR}/passing.c BYPRODUCTS ${name}.o VERBATIM)
    list(APPEND passing_triggers ${name})
  endforeach()
endforeach()
add_custom_target(passing_triggers ALL DEPENDS ${passing_triggers})
