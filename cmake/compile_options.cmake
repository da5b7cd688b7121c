# How everything here is compiled. `starling_options` is private to this project: nothing of it reaches a consumer.

if(STARLING_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(STARLING_CCACHE ccache)
  if(STARLING_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    # Paths below the source folder count as relative, so that one clone can use the objects of another.
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${STARLING_CCACHE})
  endif()
endif()

set(CMAKE_CXX_EXTENSIONS OFF)

add_library(starling_options INTERFACE)
target_compile_options(starling_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  # A fused multiply-add rounds once instead of twice: results would differ between processors.
  -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 reports an overlap inside std::string for `"text" + string` (its bug 105651).
  target_compile_options(starling_options INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND STARLING_UNITY)
  # Meant for headers: what a source declares in an anonymous namespace looks like it when a unity file includes it.
  # clang-tidy's google-build-namespaces keeps headers free of such namespaces.
  target_compile_options(starling_options INTERFACE -Wno-subobject-linkage)
endif()
if(STARLING_WERROR)
  target_compile_options(starling_options INTERFACE -Werror)
endif()

if(STARLING_SANITIZE STREQUAL "address")
  set(sanitizers address,undefined)
elseif(STARLING_SANITIZE STREQUAL "thread")
  set(sanitizers thread)
elseif(STARLING_SANITIZE)
  message(FATAL_ERROR "STARLING_SANITIZE is '${STARLING_SANITIZE}'; allowed: empty, address, thread")
endif()
if(STARLING_SANITIZE)
  # For the directory, not for one target: code with and without a sanitizer must not be mixed.
  # Nothing goes on after a finding, so nothing is compiled for going on.
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND STARLING_SANITIZE STREQUAL "address")
    # Clang 14 cannot compile inline coroutines with this check ("a difference across sections").
    add_compile_options(-fno-sanitize=function)
  endif()
  add_link_options(-fsanitize=${sanitizers})
endif()
