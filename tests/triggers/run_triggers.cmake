# Programs that the scripts of tests/run trace, in <build>/tests/triggers. The -O0 and -O2 twins are the same source.
function(add_run_trigger name source)
  add_executable(trigger_${name} ${CMAKE_CURRENT_LIST_DIR}/${source})
  set_target_properties(trigger_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${trigger_output})
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
  add_run_trigger(characters-${level} characters.cc -${level})
  add_run_trigger(values-${level} values.c -${level} -Wno-maybe-uninitialized)
  add_run_trigger(threads-${level} threads.c -${level})
  target_link_libraries(trigger_threads-${level} PRIVATE pthread)
  add_run_trigger(cxx_values-${level} cxx_values.cc -${level})
  add_run_trigger(calls-${level} calls.c -${level})
  add_run_trigger(marks-${level} marks.c -${level})
  add_run_trigger(places-${level} places.c -${level})
  add_run_trigger(writes-${level} writes.c -${level})
  add_run_trigger(floats-${level} floats.c -${level})
  add_run_trigger(globals-${level} globals.c -${level})
  target_sources(trigger_globals-${level} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/globals_other.c)
endforeach()
add_run_trigger(syscalls syscalls.c -O0)
add_run_trigger(enumerators enumerators.c -O0)
add_run_trigger(member_enumerators member_enumerators.cc -O0)
add_run_trigger(implicit_pointers implicit_pointers.c -O2)
add_run_trigger(spilled spilled.c -O2)
add_run_trigger(outcomes outcomes.c -O2)
add_run_trigger(soak soak.c -O1)
target_link_libraries(trigger_soak PRIVATE pthread)
add_run_trigger(family family.c -O1)
target_link_libraries(trigger_family PRIVATE pthread)
add_run_trigger(tool_work tool_work.c -O1)
target_link_libraries(trigger_tool_work PRIVATE pthread)
add_run_trigger(thread_exec thread_exec.c -O1)
target_link_libraries(trigger_thread_exec PRIVATE pthread)
add_run_trigger(tool_corners tool_corners.c -O1)
target_link_libraries(trigger_tool_corners PRIVATE pthread)
add_run_trigger(made_code made_code.c -O1 -fno-omit-frame-pointer)
add_run_trigger(old_marks old_marks.c -O0)
add_run_trigger(system_records system_records.c -O1 -g0)
add_run_trigger(errors-shared errors.c -O0)
# With the C library's symbols, but no debug information of its variables.
add_run_trigger(errors-static errors.c -O0)
target_link_options(trigger_errors-static PRIVATE -static)
foreach(kind pie fixed)
  add_run_trigger(watched-${kind} watched.c -O1 $<IF:$<STREQUAL:${kind},pie>,-fpie,-fno-pie>)
  target_link_libraries(trigger_watched-${kind} PRIVATE pthread)
  target_link_options(trigger_watched-${kind} PRIVATE $<IF:$<STREQUAL:${kind},pie>,-pie,-no-pie>)
endforeach()
# 32-bit programs, in the words of one processor.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  foreach(level O0 O2)
    add_run_trigger(narrow-${level} narrow.c -${level} -m32 -fno-pie -ffreestanding -fno-stack-protector
      -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE})
    target_link_options(trigger_narrow-${level} PRIVATE -m32 -nostdlib -static -no-pie)
  endforeach()
  add_run_trigger(syscall_arguments syscall_arguments.c -O0) # the table of this processor
  add_run_trigger(narrow_calls narrow_calls.c -O1 -m32 -fno-pie -ffreestanding -fno-stack-protector)
  target_link_options(trigger_narrow_calls PRIVATE -m32 -nostdlib -static -no-pie)
  add_run_trigger(all_calls_32 all_calls_32.c -O1 -m32 -fno-pie -ffreestanding -fno-stack-protector
    -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE})
  target_link_options(trigger_all_calls_32 PRIVATE -m32 -nostdlib -static -no-pie)
endif()
# The same at fixed addresses.
add_run_trigger(globals-fixed globals.c -O0 -fno-pie)
target_sources(trigger_globals-fixed PRIVATE ${CMAKE_CURRENT_LIST_DIR}/globals_other.c)
target_link_options(trigger_globals-fixed PRIVATE -no-pie)

# Stacks: with tables of call frame information only, with frame pointers only, with neither.
add_run_trigger(stacks-O2 stacks.c -O2 -fomit-frame-pointer)
add_run_trigger(stacks-fixed stacks.c -O2 -fomit-frame-pointer -fno-pie)
target_link_options(trigger_stacks-fixed PRIVATE -no-pie)
add_run_trigger(stacks-pointers stacks.c -O1 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables)
add_run_trigger(stacks-neither stacks.c -O2 -fomit-frame-pointer -fno-asynchronous-unwind-tables)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  add_run_trigger(stacks-signed stacks.c -O2 -fomit-frame-pointer -mbranch-protection=pac-ret)
  target_link_libraries(trigger_stacks-signed PRIVATE pthread dl)
  add_run_trigger(exclusives exclusives.c -O2)
  add_run_trigger(tagged tagged.c -O1)
endif()
add_run_trigger(tail_calls tail_calls.c -O2)
add_run_trigger(many_stacks many_stacks.c -O1 -fno-optimize-sibling-calls)
# The same stacks in many processes; and in another program, which differs in one function.
foreach(kind pie fixed)
  foreach(program same other)
    add_run_trigger(${program}_stack-${kind} same_stack.c -O1 -fno-optimize-sibling-calls
      $<IF:$<STREQUAL:${kind},pie>,-fpie,-fno-pie> $<$<STREQUAL:${program},other>:-DOTHER>)
    target_link_options(trigger_${program}_stack-${kind} PRIVATE $<IF:$<STREQUAL:${kind},pie>,-pie,-no-pie>)
  endforeach()
endforeach()
# The same for tasks in the kernel.
add_run_trigger(in_kernel-O2 in_kernel.c -O2 -fomit-frame-pointer)
add_run_trigger(in_kernel-static in_kernel.c -O2 -fomit-frame-pointer)
target_link_options(trigger_in_kernel-static PRIVATE -static)
foreach(kind O2 static)
  target_link_libraries(trigger_in_kernel-${kind} PRIVATE pthread)
endforeach()
foreach(kind O2 fixed pointers neither)
  target_link_libraries(trigger_stacks-${kind} PRIVATE pthread dl)
endforeach()
add_run_trigger(inlined inlined.cc -O2)
add_run_trigger(unwinds unwinds.cc -O1 -fno-optimize-sibling-calls)
target_link_libraries(trigger_unwinds PRIVATE pthread)
add_run_trigger(long_call long_call.c -O2)
target_link_libraries(trigger_long_call PRIVATE pthread)
add_run_trigger(maps-O2 maps.c -O2 -fomit-frame-pointer)
target_link_libraries(trigger_maps-O2 PRIVATE pthread)
add_library(trigger_stacks_library SHARED ${CMAKE_CURRENT_LIST_DIR}/stacks_library.c)
set_target_properties(trigger_stacks_library PROPERTIES OUTPUT_NAME stacks_library COMPILE_OPTIONS "-g;-O2;-fomit-frame-pointer" LINK_OPTIONS "" LIBRARY_OUTPUT_DIRECTORY ${trigger_output})

# Thread-local variables in a program and in its library, which finds its own in three ways.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(tls_general -mtls-dialect=trad)
  set(tls_descriptors -mtls-dialect=desc)
else()
  set(tls_general -mtls-dialect=gnu)
  set(tls_descriptors -mtls-dialect=gnu2)
endif()
set(tls_initial -ftls-model=initial-exec)
foreach(model general initial descriptors)
  add_library(trigger_tls_${model} SHARED ${CMAKE_CURRENT_LIST_DIR}/tls_library.c)
  set_target_properties(trigger_tls_${model} PROPERTIES OUTPUT_NAME tls_${model} LINK_OPTIONS "" LIBRARY_OUTPUT_DIRECTORY ${trigger_output}
    COMPILE_OPTIONS "-g;-O0;${tls_${model}}")
  add_run_trigger(tls-${model} tls.c -O0)
  target_link_libraries(trigger_tls-${model} PRIVATE trigger_tls_${model} pthread)
endforeach()

# The other standard library of C++ that Debian has.
find_program(TRIGGER_LIBCXX_COMPILER NAMES clang++-19 clang++ REQUIRED)
add_custom_command(OUTPUT ${trigger_output}/libcxx_values
  COMMAND ${TRIGGER_LIBCXX_COMPILER} -g -O1 -std=c++20 -stdlib=libc++ -o ${trigger_output}/libcxx_values
          ${CMAKE_CURRENT_LIST_DIR}/libcxx_values.cc
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/libcxx_values.cc VERBATIM)
add_custom_target(trigger_libcxx_values ALL DEPENDS ${trigger_output}/libcxx_values)

# Arguments and results as both compilers pass them.
add_run_trigger(passed_values-gcc passed_values.cc -O0 -std=gnu++20 -w)
function(add_clang_trigger name source)
  set(output ${trigger_output}/${name})
  add_custom_command(OUTPUT ${output}
    COMMAND ${TRIGGER_CLANGXX} -g -O0 -w ${ARGN} -o ${output} ${CMAKE_CURRENT_LIST_DIR}/${source}
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/${source} VERBATIM)
  add_custom_target(trigger_${name} ALL DEPENDS ${output})
endfunction()
add_clang_trigger(passed_values-clang passed_values.cc -std=gnu++20)
# Strings that debug information only declares, wholly or a class inside of them; and those of the older ABI.
add_clang_trigger(library_strings-clang11 library_strings.cc -std=gnu++11)
add_clang_trigger(library_strings-clang17 library_strings.cc -std=gnu++17)
add_run_trigger(library_strings-older library_strings.cc -O0 -D_GLIBCXX_USE_CXX11_ABI=0)
add_run_trigger(type_units-gcc type_units.cc -O0 -gdwarf-5 -fdebug-types-section)
add_run_trigger(type_units-dwarf4 type_units.cc -O0 -gdwarf-4 -fdebug-types-section)
add_clang_trigger(type_units-clang type_units.cc -gdwarf-5 -fdebug-types-section)
add_clang_trigger(type_units-clang4 type_units.cc -gdwarf-4 -fdebug-types-section)
add_run_trigger(cxx_bases-gcc cxx_bases.cc -O0)
add_clang_trigger(cxx_bases-clang cxx_bases.cc)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_run_trigger(byte_order byte_order.c -O0) # clang has neither, and other processors have no decimal numbers
endif()
add_run_trigger(wide_values wide_values.c -O0)
add_run_trigger(throws-gcc throws.cc -O0)
add_clang_trigger(throws-clang throws.cc)
add_run_trigger(packs-gcc packs.cc -O0 -std=c++17)
add_clang_trigger(packs-clang packs.cc -std=c++17)
# Where optimised code has what is on the stack.
add_clang_trigger(stack_arguments-clang stack_arguments.cc -O2)
add_run_trigger(stack_arguments-gcc stack_arguments.cc -O2)
# A coroutine, whose parts have the parameters of the whole and are called with its frame.
add_run_trigger(coroutine-gcc coroutine.cc -O0 -std=gnu++20)
set(TRIGGER_CLANGXX_HERE ${TRIGGER_CLANGXX})
set(TRIGGER_CLANGXX ${TRIGGER_LIBCXX_COMPILER}) # clang 14 has no coroutines of C++20
add_clang_trigger(coroutine-clang coroutine.cc -std=gnu++20)
set(TRIGGER_CLANGXX ${TRIGGER_CLANGXX_HERE})

add_run_trigger(forks_inside forks_inside.c -O1)
# What probes must not change (tests/harmless).
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_run_trigger(unsound unsound.c -O1 -mno-red-zone) # its inline assembly calls
  add_run_trigger(harmless harmless.c -O1)
  target_link_libraries(trigger_harmless PRIVATE pthread)
  add_run_trigger(changed_code changed_code.c -O1 -fcf-protection=none)
  add_run_trigger(first_instruction first_instruction.c -O1)
  target_link_options(trigger_first_instruction PRIVATE -Wl,-e,odd_start)
endif()
add_run_trigger(harmless_cxx harmless_cxx.cc -O0)
target_link_libraries(trigger_harmless_cxx PRIVATE pthread)
# Languages whose compilers not everybody has; tests that NEED them are passed over without. Their cross compilers are large.
if(NOT CMAKE_CROSSCOMPILING)
  find_program(TRIGGER_FORTRAN gfortran)
  find_program(TRIGGER_ADA gnatmake)
  find_program(TRIGGER_PASCAL fpc)
endif()
if(TRIGGER_FORTRAN)
  add_custom_command(OUTPUT ${trigger_output}/fortran
    COMMAND ${TRIGGER_FORTRAN} -g -O0 -J ${trigger_output} -o ${trigger_output}/fortran
            ${CMAKE_CURRENT_LIST_DIR}/fortran.f90
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/fortran.f90 VERBATIM)
  add_custom_target(trigger_fortran ALL DEPENDS ${trigger_output}/fortran)
endif()
if(TRIGGER_ADA)
  add_custom_command(OUTPUT ${trigger_output}/ada_types
    COMMAND ${TRIGGER_ADA} -q -f -g -O0 -D ${trigger_output} -o ${trigger_output}/ada_types
            ${CMAKE_CURRENT_LIST_DIR}/ada_types.adb
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/ada_types.adb WORKING_DIRECTORY ${trigger_output} VERBATIM)
  add_custom_target(trigger_ada_types ALL DEPENDS ${trigger_output}/ada_types)
endif()
if(TRIGGER_PASCAL)
  add_custom_command(OUTPUT ${trigger_output}/pascal
    COMMAND ${TRIGGER_PASCAL} -v0 -g -gw3 -O- -FE${trigger_output} ${CMAKE_CURRENT_LIST_DIR}/pascal.pas
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/pascal.pas VERBATIM)
  add_custom_target(trigger_pascal ALL DEPENDS ${trigger_output}/pascal)
endif()
