# One program per folder of tests/, labelled with the folder's name; tests/support is linked to all of them.

include(GoogleTest)
find_package(GTest REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# Tests need not be fast, and what is not optimised much compiles in two thirds of the time. Of a test, a sanitizer
# names the function only.
set(test_options $<$<NOT:$<CONFIG:Debug>>:-O1>)
if(STARLING_SANITIZE)
  list(APPEND test_options -g0)
endif()

file(GLOB_RECURSE support_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cpp)
if(support_sources)
  add_library(test_support STATIC ${support_sources})
  # Alone in its object, which a program with worlds of its own does not link.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/support/worlds.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  compile_by_folder(test_support)
  target_compile_options(test_support PRIVATE ${test_options})
  target_link_libraries(test_support PRIVATE starling_options PUBLIC starling::engine GTest::gtest GTest::gmock)
else()
  add_library(test_support INTERFACE)
  target_link_libraries(test_support INTERFACE starling::engine GTest::gtest GTest::gmock)
endif()

file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS
  RELATIVE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/*_test.cpp)
list(TRANSFORM test_sources REPLACE "^([^/]+)/.*" "\\1" OUTPUT_VARIABLE test_folders)
list(REMOVE_DUPLICATES test_folders)
list(FILTER test_folders EXCLUDE REGEX "^support$|\\.cpp$")

if(NOT TARGET starling_torch)
  list(REMOVE_ITEM test_folders torch)
endif()

# Whether the tests of a folder, or what they test, have threads.
function(find_threads folder result)
  set(parts ${PROJECT_SOURCE_DIR}/tests/${folder} ${PROJECT_SOURCE_DIR}/starling/${folder} ${PROJECT_SOURCE_DIR}/${folder})
  set(${result} FALSE PARENT_SCOPE)
  foreach(part IN LISTS parts)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${part}/*.h ${part}/*.cpp)
    foreach(file IN LISTS files)
      file(STRINGS ${file} lines REGEX "^#include <(thread|future|mutex|condition_variable)>")
      if(lines)
        set(${result} TRUE PARENT_SCOPE)
        return()
      endif()
    endforeach()
  endforeach()
endfunction()

# The thread sanitizer has nothing to see in a program that has one thread.
if(STARLING_SANITIZE STREQUAL "thread")
  foreach(folder IN LISTS test_folders)
    find_threads(${folder} has_threads)
    if(NOT has_threads)
      list(REMOVE_ITEM test_folders ${folder})
      list(APPEND absent_sources tests/${folder}/)
    endif()
  endforeach()
  message(STATUS "Tests with threads: ${test_folders}")
endif()

foreach(folder IN LISTS test_folders)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.cpp)
  add_executable(${folder}_test ${sources})
  compile_by_folder(${folder}_test)
  target_compile_options(${folder}_test PRIVATE ${test_options})
  set_target_properties(${folder}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  # gtest_main comes last, so that a main in tests/support takes precedence.
  target_link_libraries(${folder}_test PRIVATE starling_options test_support nlohmann_json::nlohmann_json
    GTest::gtest_main)
  if(folder STREQUAL "cli" AND TARGET starling_cli)
    add_dependencies(cli_test starling_cli)
    target_link_libraries(cli_test PRIVATE starling_cli_parts)
    target_compile_definitions(cli_test PRIVATE STARLING_PROGRAM="${PROJECT_BINARY_DIR}/starling"
      STARLING_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  endif()
  if(folder STREQUAL "torch")
    target_link_libraries(torch_test PRIVATE starling::torch)
  endif()
  if(folder STREQUAL "coordination")
    target_link_libraries(coordination_test PRIVATE Eigen3::Eigen)
  endif()
  if(folder STREQUAL "data")
    # zlib makes the packed files that the tests read.
    target_link_libraries(data_test PRIVATE starling::data ZLIB::ZLIB)
    target_compile_definitions(data_test PRIVATE STARLING_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  endif()
  if(folder MATCHES "^(sim|cluster)$")
    target_compile_definitions(${folder}_test PRIVATE STARLING_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  endif()
  gtest_discover_tests(${folder}_test TEST_PREFIX ${folder}. DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS ${folder} TIMEOUT 120)
endforeach()

# The conformance suite once more, where every process of mpirun is one of the ranks. Not under the thread sanitizer, which
# objects to how Open MPI's own threads lock; on our side there is one thread.
if(STARLING_HAS_MPI AND NOT STARLING_SANITIZE STREQUAL "thread")
  file(GLOB conformance_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/transport/conformance*_test.cpp)
  add_executable(mpi_conformance ${conformance_sources} ${PROJECT_SOURCE_DIR}/tests/spmd/mpi_worlds.cpp)
  compile_by_folder(mpi_conformance)
  target_compile_options(mpi_conformance PRIVATE ${test_options})
  set_target_properties(mpi_conformance PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(mpi_conformance PRIVATE starling_options test_support)
  # More processes than cores: one that waits must not keep the others from running.
  add_test(NAME transport.mpi_conformance COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 4
    --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1 $<TARGET_FILE:mpi_conformance>)
  # Memory that MPI itself does not free is not our leak.
  set_tests_properties(transport.mpi_conformance PROPERTIES LABELS transport TIMEOUT 300
    ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
else()
  message(STATUS "The transport mpi is not tested in this build")
endif()

# STARLING_PYTHON in the environment names the Python that has torch and safetensors; else it is the one in .venv, or
# python3. Without them tests that need it are skipped.
set(torch_python ${Python3_EXECUTABLE})
if(EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  set(torch_python ${PROJECT_SOURCE_DIR}/.venv/bin/python)
endif()

# PyTorch reads our models.
if(TARGET starling-trainer AND NOT STARLING_SANITIZE)
  add_test(NAME torch.safetensors COMMAND ${torch_python} ${PROJECT_SOURCE_DIR}/tests/torch/safetensors_test.py
    $<TARGET_FILE:starling_cli>)
  set_tests_properties(torch.safetensors PROPERTIES LABELS torch TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()

# Random faults on real processes. Most of the time is slept.
if(TARGET starling-trainer AND NOT STARLING_SANITIZE)
  foreach(strategy ripples ps allreduce dear)
    add_test(NAME torch.soak_${strategy} COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/soak
      --program $<TARGET_FILE:starling_cli> --strategy ${strategy} --seconds 15)
    set_tests_properties(torch.soak_${strategy} PROPERTIES LABELS torch TIMEOUT 120)
  endforeach()
endif()

# The files, checkpoints and final model of a user's own program.
if(STARLING_BUILD_EXAMPLES AND TARGET starling_torch AND TARGET starling_cli AND NOT STARLING_SANITIZE)
  add_test(NAME torch.program_output COMMAND Python3::Interpreter
    ${PROJECT_SOURCE_DIR}/tests/tools/program_output_test.py $<TARGET_FILE:starling_cli>
    ${PROJECT_BINARY_DIR}/examples/01_three_lines)
  set_tests_properties(torch.program_output PROPERTIES LABELS torch TIMEOUT 300)
endif()

# Launchers of other projects. MPI is not tested under the thread sanitizer, as above.
if(STARLING_BUILD_EXAMPLES AND TARGET starling_cli)
  set(mpirun_program)
  if(STARLING_HAS_MPI AND NOT STARLING_SANITIZE STREQUAL "thread")
    set(mpirun_program ${MPIEXEC_EXECUTABLE})
  endif()
  foreach(launcher mpirun srun torchrun)
    set(with)
    if(launcher STREQUAL "mpirun")
      set(with ${mpirun_program})
    elseif(launcher STREQUAL "torchrun")
      set(with ${torch_python})
    endif()
    add_test(NAME session.${launcher} COMMAND Python3::Interpreter
      ${PROJECT_SOURCE_DIR}/tests/tools/launchers_test.py ${launcher} ${PROJECT_BINARY_DIR}/examples/03_own_gradients
      $<TARGET_FILE:starling_cli> ${with})
    set_tests_properties(session.${launcher} PROPERTIES LABELS session TIMEOUT 300 SKIP_RETURN_CODE 77
      ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
  endforeach()
endif()

# The checks of the tree itself, and of the checkers.
add_test(NAME lint.layers COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/check_layers)
add_test(NAME lint.layers_checker COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/tools/check_layers_test.py)
add_test(NAME lint.labels_checker COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/tools/check_labels_test.py)
add_test(NAME lint.tidy COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/tools/tidy_test.py)
add_test(NAME lint.overlap_checker COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/tools/check_overlap_test.py)
add_test(NAME lint.replay_tables COMMAND Python3::Interpreter
  ${PROJECT_SOURCE_DIR}/tests/tools/make_replay_tables_test.py)
add_test(NAME lint.timeline COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/tools/timeline_test.py)
add_test(NAME lint.soak COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/tools/soak_test.py)
add_test(NAME lint.charts COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/tools/svg_chart_test.py)
add_test(NAME lint.solvers COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/tools/ea_wild_test.py)
add_test(NAME lint.sources_checker COMMAND ${CMAKE_COMMAND}
  -D MODULES=${PROJECT_SOURCE_DIR}/cmake -D WORK=${PROJECT_BINARY_DIR}/check_sources_test
  -P ${PROJECT_SOURCE_DIR}/tests/cmake/check_sources_test.cmake)
set_tests_properties(lint.layers lint.layers_checker lint.labels_checker lint.overlap_checker lint.replay_tables
  lint.timeline lint.soak lint.charts lint.solvers lint.sources_checker PROPERTIES LABELS lint TIMEOUT 60)

# Several hosts on this machine. Skipped for users that may not make network namespaces.
add_test(NAME hosts.tool COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/tools/hosts_test.py)
set_tests_properties(hosts.tool PROPERTIES LABELS hosts TIMEOUT 120 SKIP_RETURN_CODE 77)
foreach(engine ucx mpi)
  if(engine STREQUAL "ucx" AND STARLING_HAS_UCX)
    set(with $<TARGET_FILE:transport_test>)
  elseif(engine STREQUAL "mpi" AND TARGET mpi_conformance)
    set(with $<TARGET_FILE:mpi_conformance> ${MPIEXEC_EXECUTABLE})
  else()
    continue()
  endif()
  add_test(NAME hosts.${engine}_conformance COMMAND Python3::Interpreter
    ${PROJECT_SOURCE_DIR}/tests/tools/conformance_on_hosts_test.py ${engine} ${with})
  set_tests_properties(hosts.${engine}_conformance PROPERTIES LABELS hosts TIMEOUT 300 SKIP_RETURN_CODE 77
    ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
endforeach()
if(STARLING_HAS_UCX AND STARLING_BUILD_EXAMPLES AND NOT STARLING_SANITIZE)
  add_test(NAME hosts.runs COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/tools/runs_on_hosts_test.py
    ${PROJECT_BINARY_DIR}/examples/03_own_gradients)
  set_tests_properties(hosts.runs PROPERTIES LABELS hosts TIMEOUT 180 SKIP_RETURN_CODE 77)
  if(TARGET starling_cli)
    add_test(NAME hosts.launches COMMAND Python3::Interpreter
      ${PROJECT_SOURCE_DIR}/tests/tools/launches_on_hosts_test.py $<TARGET_FILE:starling_cli>
      ${PROJECT_BINARY_DIR}/examples/03_own_gradients)
    set_tests_properties(hosts.launches PROPERTIES LABELS hosts TIMEOUT 180 SKIP_RETURN_CODE 77)
    add_test(NAME hosts.lost COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/tools/lost_host_test.py
      $<TARGET_FILE:starling_cli>)
    set_tests_properties(hosts.lost PROPERTIES LABELS hosts TIMEOUT 180 SKIP_RETURN_CODE 77)
    add_test(NAME hosts.excluded COMMAND Python3::Interpreter
      ${PROJECT_SOURCE_DIR}/tests/tools/excluded_host_test.py $<TARGET_FILE:starling_cli>)
    set_tests_properties(hosts.excluded PROPERTIES LABELS hosts TIMEOUT 180 SKIP_RETURN_CODE 77)
    add_test(NAME hosts.soak COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/tools/soak_on_hosts_test.py
      $<TARGET_FILE:starling_cli>)
    set_tests_properties(hosts.soak PROPERTIES LABELS hosts TIMEOUT 180 SKIP_RETURN_CODE 77)
  endif()
endif()

# A library with a sanitizer cannot be linked to a program without it.
if(NOT STARLING_SANITIZE)
  add_test(NAME install.consumer COMMAND ${CMAKE_COMMAND}
    -D BUILD=${PROJECT_BINARY_DIR} -D CONSUMER=${PROJECT_SOURCE_DIR}/examples/consumer
    -D WORK=${PROJECT_BINARY_DIR}/install_test -D GENERATOR=${CMAKE_GENERATOR}
    -D CXX=${CMAKE_CXX_COMPILER} -D VERSION=${PROJECT_VERSION} -D TORCH=$<TARGET_EXISTS:starling_torch>
    -P ${PROJECT_SOURCE_DIR}/tests/install/consumer_test.cmake)
  # It compiles: were it the last to start, the other cores would wait for it.
  set_tests_properties(install.consumer PROPERTIES LABELS install TIMEOUT 300 COST 100)
endif()
