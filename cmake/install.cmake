# find_package(starling) gives a consumer the target starling::engine, and with COMPONENTS torch also
# starling::torch. Installed are the headers that a user may include, and those that they include.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/starling)

# The headers of ours that these include, themselves among them, as paths from the root of the project.
function(find_included_headers result)
  set(seen)
  set(pending ${ARGN})
  while(pending)
    list(POP_FRONT pending header)
    if(header IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${header})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${header} lines REGEX "^#include \"starling/")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
      list(APPEND pending ${included})
    endforeach()
  endwhile()
  set(${result} ${seen} PARENT_SCOPE)
endfunction()

function(install_headers)
  foreach(header IN LISTS ARGN)
    cmake_path(GET header PARENT_PATH folder)
    install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
  endforeach()
endfunction()

find_included_headers(engine_headers starling/starling.h)
install_headers(${engine_headers})
install(TARGETS starling_engine EXPORT starlingTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT starlingTargets NAMESPACE starling:: DESTINATION ${package_dir})

set(installed_torch_version)
set(installed_torch_dir)
if(TARGET starling_torch)
  find_included_headers(torch_headers starling/torch/session.h starling/torch/gated_sequential.h)
  install_headers(${torch_headers})
  install(TARGETS starling_data starling_torch EXPORT starlingTorchTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT starlingTorchTargets NAMESPACE starling:: DESTINATION ${package_dir})
  set(installed_torch_version ${Torch_VERSION})
  set(installed_torch_dir ${Torch_DIR})
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/starlingConfig.cmake.in
  ${PROJECT_BINARY_DIR}/starlingConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/starlingConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/starlingConfig.cmake ${PROJECT_BINARY_DIR}/starlingConfigVersion.cmake
  DESTINATION ${package_dir})
