# Programs in Rust, in <build>/tests/triggers, by rustc itself. The optimised one has the newer mangling (v0).
find_program(TRIGGER_RUSTC rustc REQUIRED)
function(add_rust_trigger name source)
  get_filename_component(file ${CMAKE_CURRENT_LIST_DIR}/${source} ABSOLUTE) # programs contain this path, without `..`
  add_custom_command(OUTPUT ${trigger_output}/${name}
    COMMAND ${TRIGGER_RUSTC} --edition 2021 -g --remap-path-prefix=${trigger_project}/= ${ARGN}
      -o ${trigger_output}/${name} ${file}
    DEPENDS ${file} VERBATIM)
  add_custom_target(trigger_${name} ALL DEPENDS ${trigger_output}/${name})
endfunction()
add_rust_trigger(rust_values-O0 rust_values.rs)
add_rust_trigger(rust_values-O2 rust_values.rs -C opt-level=2 -C symbol-mangling-version=v0)
add_rust_trigger(futures ../async/futures.rs --crate-name main)
add_rust_trigger(panics panics.rs -C opt-level=1)
