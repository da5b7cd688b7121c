# examples/NN_name.cpp is the program build/examples/NN_name. Each is also a test: it must exit with 0.

file(GLOB example_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/[0-9][0-9]_*.cpp)
foreach(source IN LISTS example_sources)
  cmake_path(GET source STEM name)
  set(target example_${name})
  add_executable(${target} ${source})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
  target_link_libraries(${target} PRIVATE starling::engine starling_options)
  if(STARLING_BUILD_TESTS)
    add_test(NAME example.${name} COMMAND ${target})
    set_tests_properties(example.${name} PROPERTIES LABELS example TIMEOUT 120)
  endif()
endforeach()
