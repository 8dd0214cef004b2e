# Read by cpack, once for each kind of package: which components are in it.
set(CPACK_COMPONENTS_ALL sonde zsh)
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_COMPONENTS_ALL sonde zsh_debian)
endif()
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
