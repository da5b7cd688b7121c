# cmake -D MODULES=<cmake folder> -D WORK=<scratch folder> -P check_sources_test.cmake
#
# A tiny project passes the check while all its sources have a target, and fails with the name of one that has none.

file(REMOVE_RECURSE ${WORK})
file(WRITE ${WORK}/src/code/deep/known.cpp "")
file(WRITE ${WORK}/src/code/off/exempt.cpp "")
file(WRITE ${WORK}/src/nested/code/inner.cpp "")
file(WRITE ${WORK}/src/nested/CMakeLists.txt "add_custom_target(inner SOURCES code/inner.cpp)\n")
file(WRITE ${WORK}/src/CMakeLists.txt "
cmake_minimum_required(VERSION 3.22)
project(fixture LANGUAGES NONE)
add_custom_target(known SOURCES code/deep/known.cpp)
add_custom_target(without_sources)
add_subdirectory(nested)
include(${MODULES}/check_sources.cmake)
check_sources(ROOT \${PROJECT_SOURCE_DIR} FOLDERS code nested EXEMPT code/off/)
")

function(configure result output)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${WORK}/src -B ${WORK}/build
    RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  set(${result} ${code} PARENT_SCOPE)
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

configure(code text)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "a tree without stray sources was refused:\n${text}")
endif()

file(WRITE ${WORK}/src/code/deep/stray.cpp "")
configure(code text)
if(code EQUAL 0 OR NOT text MATCHES "code/deep/stray.cpp" OR text MATCHES "known.cpp|inner.cpp|exempt.cpp")
  message(FATAL_ERROR "the stray source, and only it, should be refused; exit code ${code}:\n${text}")
endif()
