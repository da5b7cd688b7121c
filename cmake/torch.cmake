# The front end for LibTorch: starling/torch and the program that `starling train` starts. LibTorch is taken from
# what Torch_DIR names, else the torch that python3 imports, else the one in .venv, else the system's.

if(NOT STARLING_TORCH MATCHES "^(auto|on|off)$")
  message(FATAL_ERROR "STARLING_TORCH is '${STARLING_TORCH}'; allowed: auto, on, off")
endif()

# Finds the package of an interpreter without importing it, which would take a second.
function(find_python_torch python result)
  execute_process(
    COMMAND ${python} -c "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0])"
    OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE code)
  if(code EQUAL 0 AND EXISTS ${folder}/share/cmake/Torch/TorchConfig.cmake)
    set(${result} ${folder}/share/cmake/Torch PARENT_SCOPE)
  endif()
endfunction()

if(NOT STARLING_TORCH STREQUAL "off")
  if(NOT Torch_DIR AND NOT DEFINED ENV{Torch_DIR})
    foreach(python python3 ${PROJECT_SOURCE_DIR}/.venv/bin/python)
      set(found_dir)
      find_python_torch(${python} found_dir)
      if(found_dir)
        # An earlier configuration that found none has left its word in the cache.
        set(Torch_DIR ${found_dir} CACHE PATH "LibTorch's CMake package" FORCE)
        break()
      endif()
    endforeach()
  endif()
  # The package looks for its parts in the system's folders first, where another version may be.
  set(outer_prefix_path ${CMAKE_PREFIX_PATH})
  if(Torch_DIR)
    list(PREPEND CMAKE_PREFIX_PATH ${Torch_DIR}/../../..)
  endif()
  find_package(Torch QUIET)
  set(CMAKE_PREFIX_PATH ${outer_prefix_path})
  if(STARLING_TORCH STREQUAL "on" AND NOT Torch_FOUND)
    message(FATAL_ERROR "LibTorch was not found; set Torch_DIR, or install torch for python3 or Debian's libtorch-dev")
  endif()
endif()

if(Torch_FOUND)
  message(STATUS "LibTorch ${Torch_VERSION}: ${Torch_DIR}")
  file(GLOB torch_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/starling/torch/*.cpp)
  add_library(starling_torch STATIC ${torch_sources})
  add_library(starling::torch ALIAS starling_torch)
  set_target_properties(starling_torch PROPERTIES EXPORT_NAME torch POSITION_INDEPENDENT_CODE ON)
  compile_by_folder(starling_torch)
  target_link_libraries(starling_torch PUBLIC starling::engine starling::data
    "$<BUILD_INTERFACE:${TORCH_LIBRARIES}>" $<INSTALL_INTERFACE:torch>
    PRIVATE $<BUILD_INTERFACE:starling_options>)
  # Its headers take half a minute; files that are compiled one by one share one reading.
  if(NOT STARLING_UNITY)
    target_precompile_headers(starling_torch PRIVATE <torch/torch.h>)
  endif()
elseif(NOT STARLING_TORCH STREQUAL "off")
  message(STATUS "LibTorch was not found: the front end for it and `starling train` are not built")
endif()
