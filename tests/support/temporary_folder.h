// A folder for the files of one test, gone with it.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "starling/core/text.h"

namespace starling::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() : folder_(std::filesystem::temp_directory_path() / concat("starling_test_", ::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Returns the path.
  std::string write(std::string_view name, std::string_view text) const {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  std::string path() const { return folder_.string(); }

 private:
  std::filesystem::path folder_;
};

}  // namespace starling::testing
