# compile_by_folder(target)
#
# The sources of one folder are compiled as one (a unity build): most of the time is spent on headers, and they are
# read once. By folder, so that touching a file compiles only its neighbours again, and names in anonymous namespaces
# need be unique in their folder only. Sources with flags of their own stay apart.

option(STARLING_UNITY "Compile the sources of a folder as one" ${STARLING_TOP_LEVEL})

function(compile_by_folder target)
  if(NOT STARLING_UNITY)
    return()
  endif()
  # Relative paths in the generated files let one clone use what another has compiled.
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP UNITY_BUILD_RELOCATABLE ON)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE group)
    string(REPLACE "/" "_" group ${group})
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()
