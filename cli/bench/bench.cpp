#include "cli/bench/bench.h"

#include "cli/bench/bench_collectives.h"
#include "cli/bench/bench_train.h"

namespace starling::cli {

void add_bench(CLI::App& app) {
  CLI::App* const bench = app.add_subcommand("bench", "Measure this machine");
  add_bench_collectives(*bench);
  add_bench_train(*bench);
}

}  // namespace starling::cli
