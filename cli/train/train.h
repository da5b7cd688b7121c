// The command `starling train`: starts the workers of a run, which are processes of starling-trainer.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace starling::cli {

// `words` are those behind `starling train`. What the workers ended with becomes `exit_code`.
void add_train(CLI::App& app, std::vector<std::string> words, int& exit_code);

}  // namespace starling::cli
