# The data sets and tensor files: starling/data/. Apart from the engine, whose users need no zlib.

find_package(ZLIB REQUIRED)

file(GLOB_RECURSE data_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/starling/data/*.cpp)
add_library(starling_data STATIC ${data_sources})
add_library(starling::data ALIAS starling_data)
set_target_properties(starling_data PROPERTIES EXPORT_NAME data POSITION_INDEPENDENT_CODE ON)
compile_by_folder(starling_data)
target_link_libraries(starling_data PUBLIC starling::engine PRIVATE $<BUILD_INTERFACE:starling_options> ZLIB::ZLIB
  $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
