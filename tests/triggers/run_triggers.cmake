# Programs that the scripts of tests/run trace, in <build>/tests/triggers. The -O0 and -O2 twins are the same source.
function(add_run_trigger name source)
  add_executable(trigger_${name} ${CMAKE_CURRENT_LIST_DIR}/${source})
  set_target_properties(trigger_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/triggers)
  # As a user builds a program: without the project's warnings, sanitizers and path mapping.
  set_target_properties(trigger_${name} PROPERTIES COMPILE_OPTIONS "" LINK_OPTIONS "")
  target_compile_options(trigger_${name} PRIVATE -g ${ARGN})
  if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
    # Attributes and warnings that only gcc has.
    target_compile_options(trigger_${name} PRIVATE -Wno-unknown-attributes -Wno-unknown-warning-option)
  endif()
endfunction()

foreach(level O0 O2)
  add_run_trigger(trace-${level} trace.c -${level})
  add_run_trigger(texts-${level} texts.c -${level})
  add_run_trigger(values-${level} values.c -${level} -Wno-maybe-uninitialized)
  add_run_trigger(threads-${level} threads.c -${level})
  target_link_libraries(trigger_threads-${level} PRIVATE pthread)
  add_run_trigger(cxx_values-${level} cxx_values.cc -${level})
  add_run_trigger(calls-${level} calls.c -${level})
  add_run_trigger(marks-${level} marks.c -${level})
  add_run_trigger(globals-${level} globals.c -${level})
  target_sources(trigger_globals-${level} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/globals_other.c)
endforeach()
# The same at fixed addresses.
add_run_trigger(globals-fixed globals.c -O0 -fno-pie)
target_sources(trigger_globals-fixed PRIVATE ${CMAKE_CURRENT_LIST_DIR}/globals_other.c)
target_link_options(trigger_globals-fixed PRIVATE -no-pie)
