# Installs the build tree BUILD below WORK, then configures, builds and runs the project CONSUMER against it; if TORCH is
# on, also its program for LibTorch, which two workers run that the installed `starling launch` starts.

file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "exit code ${code} of: ${command}\n${text}")
  endif()
  set(output "${text}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -G ${GENERATOR}
  -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_BUILD_TYPE=Release
  -D CONSUMER_TORCH=${TORCH})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
if(NOT output MATCHES "${VERSION}")
  message(FATAL_ERROR "the consumer did not name version ${VERSION}:\n${output}")
endif()
if(NOT TORCH)
  return()
endif()
run(${prefix}/bin/starling launch -n 2 -- ${WORK}/build/consumer_torch)
if(NOT output MATCHES "worker 1 of 2")
  message(FATAL_ERROR "two workers did not train:\n${output}")
endif()

# A LibTorch of another version is refused, and the message names both.
file(WRITE ${WORK}/other_torch/TorchConfig.cmake "set(Torch_FOUND TRUE)\n")
file(WRITE ${WORK}/other_torch/TorchConfigVersion.cmake
  "set(PACKAGE_VERSION 0.0.1)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n")
execute_process(COMMAND ${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/refused -G ${GENERATOR}
  -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_PREFIX_PATH=${prefix} -D Torch_DIR=${WORK}/other_torch
  RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(code EQUAL 0 OR NOT text MATCHES "built with LibTorch" OR NOT text MATCHES "0\\.0\\.1")
  message(FATAL_ERROR "another LibTorch was not refused:\n${text}")
endif()
