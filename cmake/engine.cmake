# The engine: everything under starling/ but data/ and torch/. A user of it needs threads, and UCX and MPI where they were
# found; the libraries for files, for linear algebra and for sockets are headers only, and only sources include them.

find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(fmt REQUIRED)
find_path(STARLING_ASIO asio/ip/tcp.hpp DOC "The headers of Asio, without Boost")
if(NOT STARLING_ASIO)
  message(FATAL_ERROR "Asio was not found; install Debian's libasio-dev, or set STARLING_ASIO to where asio/ip/tcp.hpp is")
endif()

set(STARLING_UCX auto CACHE STRING "UCX, for runs on several hosts: auto (if it is there), on, off")
set(STARLING_MPI auto CACHE STRING "MPI, for runs on several hosts: auto (if it is there), on, off")
set_property(CACHE STARLING_UCX STARLING_MPI PROPERTY STRINGS auto on off)
set(MPI_CXX_SKIP_MPICXX ON)  # without the C++ bindings, which MPI 3 dropped
foreach(library UCX MPI)
  set(how QUIET)
  if(STARLING_${library} STREQUAL "on")
    set(how REQUIRED)
  endif()
  set(STARLING_HAS_${library} FALSE)
  if(NOT STARLING_${library} STREQUAL "off")
    if(library STREQUAL "UCX")
      find_package(ucx ${how} CONFIG)
      set(STARLING_HAS_UCX ${ucx_FOUND})
    else()
      find_package(MPI ${how} COMPONENTS CXX)
      set(STARLING_HAS_MPI ${MPI_CXX_FOUND})
    endif()
  endif()
endforeach()

file(GLOB_RECURSE engine_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/starling/*.cpp)
list(FILTER engine_sources EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/starling/(data|torch)/")

# Each network library has a real file and a stub that says why the library is missing.
set(absent_sources)
foreach(library UCX MPI)
  string(TOLOWER ${library} name)
  if(STARLING_HAS_${library})
    list(APPEND absent_sources starling/transport/wire/${name}_absent.cpp)
  else()
    message(STATUS "${library} is not used: no transport ${name}")
    list(APPEND absent_sources starling/transport/wire/${name}.cpp)
  endif()
endforeach()
list(TRANSFORM absent_sources PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE absent_paths)
list(REMOVE_ITEM engine_sources ${absent_paths})

add_library(starling_engine STATIC ${engine_sources})
add_library(starling::engine ALIAS starling_engine)
set_target_properties(starling_engine PROPERTIES EXPORT_NAME engine POSITION_INDEPENDENT_CODE ON)
target_compile_features(starling_engine PUBLIC cxx_std_20)
target_include_directories(starling_engine PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(starling_engine PUBLIC Threads::Threads PRIVATE $<BUILD_INTERFACE:starling_options>
  $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> $<BUILD_INTERFACE:Eigen3::Eigen>
  $<BUILD_INTERFACE:fmt::fmt-header-only>)

if(STARLING_HAS_UCX)
  target_link_libraries(starling_engine PRIVATE ucx::ucp ucx::ucs)
endif()
if(STARLING_HAS_MPI)
  target_link_libraries(starling_engine PRIVATE MPI::MPI_CXX)
endif()

# Only the headers of toml++: Debian's target would have every user of the engine link its shared library.
get_target_property(toml_headers tomlplusplus::tomlplusplus INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(starling_engine SYSTEM PRIVATE ${toml_headers} ${STARLING_ASIO})

# One coroutine hands over to the next by a tail call. GCC makes it a real one only with this flag, which -O2
# implies; in a debug build a long chain of awaits would overflow the stack. Public: tasks are templates too.
target_compile_options(starling_engine PUBLIC $<$<CXX_COMPILER_ID:GNU>:-foptimize-sibling-calls>)

# Compiled with AVX2 and called only where the processor has it; elsewhere these files guard themselves.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(avx2_sources ${engine_sources})
  list(FILTER avx2_sources INCLUDE REGEX "_avx2\\.cpp$")
  set_source_files_properties(${avx2_sources} PROPERTIES COMPILE_OPTIONS "-mavx2;-mf16c")
endif()

# Eigen without vector instructions adds in the same order on every processor. Its namespace gets a name of ours: a
# program may have its own Eigen, compiled with other flags, and the linker would take one of two functions for both.
# The namespace of Asio has a name of ours for the same reason. For the whole engine, since a source with definitions of
# its own would be compiled alone.
target_compile_definitions(starling_engine PRIVATE
  EIGEN_DONT_VECTORIZE Eigen=starling_eigen ASIO_STANDALONE ASIO_NO_DEPRECATED asio=starling_asio)

set_source_files_properties(${PROJECT_SOURCE_DIR}/starling/core/version.cpp PROPERTIES
  COMPILE_DEFINITIONS STARLING_VERSION="${PROJECT_VERSION}")

compile_by_folder(starling_engine)
