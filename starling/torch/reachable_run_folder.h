// The folder of a run, on the worker that writes its files at the end.
#pragma once

#include <filesystem>
#include <string>

#include "starling/core/error.h"
#include "starling/record/run_folder.h"

namespace starling::torch {

// Rank 0 or the launcher has made it. Another worker may have to write the files, on a host that does not
// have it: then Error, saying so.
inline record::RunFolder reachable_run_folder(const std::string& path) {
  if (!std::filesystem::is_directory(path)) {
    throw Error(
        concat("the files of the run cannot be written: this worker concludes it, and its host has no "
               "folder ",
               path));
  }
  return record::RunFolder::existing(path);
}

}  // namespace starling::torch
