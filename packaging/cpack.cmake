# cpack reads this file once for each kind of package. It selects the components of the package.
set(CPACK_COMPONENTS_ALL sonde zsh)
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_COMPONENTS_ALL sonde zsh_debian)
endif()
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
