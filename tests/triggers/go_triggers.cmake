# One program of Go: as the compiler makes it by default, without optimisation, and without symbols and debug
# information. Its cache is in the build folder, and it takes nothing from the network.
find_program(TRIGGER_GO go REQUIRED)
set(go_environment GOCACHE=${CMAKE_BINARY_DIR}/go-cache GOPATH=${CMAKE_BINARY_DIR}/go GOFLAGS=-trimpath GOPROXY=off GOTOOLCHAIN=local CGO_ENABLED=0
  GO111MODULE=off ${TRIGGER_GO_ENVIRONMENT})

function(add_go_trigger name)
  set(output ${trigger_output}/${name})
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E env ${go_environment} ${TRIGGER_GO} build -p 2 -o ${output} ${ARGN} golang.go
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/golang.go WORKING_DIRECTORY ${CMAKE_CURRENT_LIST_DIR} VERBATIM)
  set(go_triggers ${go_triggers} ${output} PARENT_SCOPE)
endfunction()

add_go_trigger(golang)
add_go_trigger(golang-plain -gcflags=-N\ -l)
add_go_trigger(golang-stripped -ldflags=-s\ -w)
add_custom_target(go_triggers ALL DEPENDS ${go_triggers})
