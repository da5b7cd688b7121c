#include "cli/commands.h"

#include <memory>

#include "cli/analyse/analyse.h"
#include "cli/bench/bench.h"
#include "cli/common/help_format.h"
#include "cli/compare.h"
#include "cli/data.h"
#include "cli/info.h"
#include "cli/launch.h"
#include "cli/simulate/simulate.h"
#include "cli/strategies.h"
#include "cli/train/train.h"

namespace starling::cli {

void add_commands(CLI::App& app, const std::vector<std::string>& words, int& exit_code) {
  app.formatter(std::make_shared<HelpFormat>());  // the commands inherit it
  add_info(app);
  add_bench(app);
  add_simulate(app, words);
  add_analyse(app);
  add_train(app, words, exit_code);
  add_compare(app);
  add_strategies(app);
  add_data(app);
  add_launch(app, words, exit_code);
}

}  // namespace starling::cli
