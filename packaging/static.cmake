# SONDE_STATIC=LIBRARIES links all libraries statically except the C library. The program then runs on any distribution with the same or a later C
# library. SONDE_STATIC=ALL also links the C library statically, for all other distributions. Such a program cannot load libraries (libdebuginfod,
# libclang), because these would load a second C library. It reports this when it would need one of them.
#
# CMake finds the targets of the libraries as usual. This file only replaces the library files of the targets, so the object files do not change.

function(sonde_archive out name)
  find_library(SONDE_ARCHIVE_${name} lib${name}.a REQUIRED)
  set(${out} ${SONDE_ARCHIVE_${name}} PARENT_SCOPE)
endfunction()

foreach(name bsd bz2 crypto dw edit elf bpf event event_openssl fuse3 lz4 lzma md ssl tinfo z zstd)
  sonde_archive(archive_${name} ${name})
endforeach()

set_property(TARGET PkgConfig::LIBELF PROPERTY INTERFACE_LINK_LIBRARIES ${archive_elf} ${archive_z})
set_property(TARGET PkgConfig::LIBDW PROPERTY INTERFACE_LINK_LIBRARIES ${archive_dw} ${archive_elf} ${archive_bz2} ${archive_lzma} ${archive_z})
set_property(TARGET PkgConfig::LIBBPF PROPERTY INTERFACE_LINK_LIBRARIES ${archive_bpf} ${archive_elf} ${archive_z})
set_property(TARGET PkgConfig::FUSE3 PROPERTY INTERFACE_LINK_LIBRARIES ${archive_fuse3})
set_property(TARGET PkgConfig::LIBEVENT PROPERTY INTERFACE_LINK_LIBRARIES ${archive_event})
set_property(TARGET PkgConfig::LIBEVENT_TLS PROPERTY INTERFACE_LINK_LIBRARIES ${archive_event_openssl} ${archive_event} ${archive_ssl} ${archive_crypto})
set_property(TARGET PkgConfig::LIBEDIT PROPERTY INTERFACE_LINK_LIBRARIES ${archive_edit} ${archive_tinfo} ${archive_bsd} ${archive_md})
set_property(TARGET PkgConfig::OPENSSL PROPERTY INTERFACE_LINK_LIBRARIES ${archive_ssl} ${archive_crypto})
set_property(TARGET PkgConfig::LIBLZMA PROPERTY INTERFACE_LINK_LIBRARIES ${archive_lzma})
set_property(TARGET PkgConfig::LIBZSTD PROPERTY INTERFACE_LINK_LIBRARIES ${archive_zstd})
set_property(TARGET PkgConfig::LIBLZ4 PROPERTY INTERFACE_LINK_LIBRARIES ${archive_lz4})
foreach(target ZLIB::ZLIB zstd::libzstd_shared)
  if(TARGET ${target})
    set(archive ${archive_zstd})
    if(target STREQUAL "ZLIB::ZLIB")
      set(archive ${archive_z})
    endif()
    foreach(configuration "" _NONE _RELEASE _RELWITHDEBINFO)
      get_target_property(location ${target} IMPORTED_LOCATION${configuration})
      if(location)
        set_property(TARGET ${target} PROPERTY IMPORTED_LOCATION${configuration} ${archive})
      endif()
    endforeach()
  endif()
endforeach()

# LLVM's solver exists only as a shared library. Nothing in sonde calls it.
get_target_property(libraries LLVMSupport INTERFACE_LINK_LIBRARIES)
list(FILTER libraries EXCLUDE REGEX "libz3")
set_property(TARGET LLVMSupport PROPERTY INTERFACE_LINK_LIBRARIES "${libraries}")

# Debian has no static library of fmt, but its headers contain the complete code.
add_library(sonde_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cc)
get_target_property(fmt_includes fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(sonde_fmt SYSTEM PRIVATE ${fmt_includes})
set_property(TARGET fmt::fmt PROPERTY IMPORTED_LOCATION_NONE ${CMAKE_BINARY_DIR}/libsonde_fmt.a)
