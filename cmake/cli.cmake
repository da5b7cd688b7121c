# The program `starling`, and beside it the peers it is compared with.

file(GLOB_RECURSE cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.cpp)
list(FILTER cli_sources EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/cli/(peers|trainer)/")
if(cli_sources)
  find_package(CLI11 REQUIRED)
  find_package(fmt REQUIRED)
  find_package(nlohmann_json REQUIRED)
  # All but main.cpp is a library, so that the tests can call it.
  set(cli_main ${PROJECT_SOURCE_DIR}/cli/main.cpp)
  list(REMOVE_ITEM cli_sources ${cli_main})
  add_library(starling_cli_parts STATIC ${cli_sources})
  compile_by_folder(starling_cli_parts)
  target_link_libraries(starling_cli_parts PRIVATE starling_options PUBLIC
    starling::engine starling::data CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json)
  if(STARLING_HAS_MPI)
    target_compile_definitions(starling_cli_parts PRIVATE STARLING_HAS_MPI)
    target_link_libraries(starling_cli_parts PRIVATE MPI::MPI_CXX)
  endif()
  add_executable(starling_cli ${cli_main})
  set_target_properties(starling_cli PROPERTIES
    OUTPUT_NAME starling RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_libraries(starling_cli PRIVATE starling_cli_parts starling_options)
  install(TARGETS starling_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

if(TARGET starling_torch)
  # A program of its own: loading LibTorch takes longer than most commands of starling.
  file(GLOB trainer_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/trainer/*.cpp)
  add_executable(starling-trainer ${trainer_sources})
  set_target_properties(starling-trainer PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS starling-trainer RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/starling)
  target_link_libraries(starling-trainer PRIVATE starling_cli_parts starling_torch starling_options)
endif()

# What the commands of `starling` need, without tests, benchmarks and examples.
add_custom_target(programs)
add_dependencies(programs starling_cli)
if(TARGET starling-trainer)
  add_dependencies(programs starling-trainer)
endif()

set(peers_dir ${CMAKE_INSTALL_LIBEXECDIR}/starling)
file(GLOB peers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/peers/*)

set(mpi_peer ${PROJECT_SOURCE_DIR}/cli/peers/mpi_peer.cpp)
if(STARLING_HAS_MPI AND mpi_peer IN_LIST peers)
  add_executable(starling-mpi-peer ${mpi_peer})
  set_target_properties(starling-mpi-peer PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_libraries(starling-mpi-peer PRIVATE starling::engine starling_options MPI::MPI_CXX)
  install(TARGETS starling-mpi-peer RUNTIME DESTINATION ${peers_dir})
elseif(NOT STARLING_HAS_MPI)
  message(STATUS "MPI not found: starling-mpi-peer is not built")
endif()

foreach(peer gloo_peer.py ddp_peer.py)
  if(${PROJECT_SOURCE_DIR}/cli/peers/${peer} IN_LIST peers)
    configure_file(${PROJECT_SOURCE_DIR}/cli/peers/${peer} ${PROJECT_BINARY_DIR}/${peer} COPYONLY)
    install(PROGRAMS ${PROJECT_SOURCE_DIR}/cli/peers/${peer} DESTINATION ${peers_dir})
  endif()
endforeach()
