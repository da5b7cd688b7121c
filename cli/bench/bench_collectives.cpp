// The load of the machine changes from second to second, so numbers taken one after the other cannot be
// compared. Here all subjects are started first and then take turns: every round measures each of them once,
// and the medians over the rounds are compared.
#include "cli/bench/bench_collectives.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <set>

#include "cli/bench/bench_joined.h"
#include "cli/bench/bench_options.h"
#include "cli/bench/bench_report.h"
#include "cli/bench/bench_table.h"
#include "cli/common/machine.h"
#include "starling/collective/select.h"
#include "starling/core/cpu.h"
#include "starling/core/version.h"

namespace starling::cli {
namespace {

struct Found {
  const Peer* peer = nullptr;
  Availability availability;
};

class Bench {
 public:
  explicit Bench(BenchOptions options)
      : options_(std::move(options)),
        people_(options_.json == "-" ? stderr : stdout),
        table_(options_.against, shows_unicode(fileno(people_))) {}

  void run() {
    introduce();
    find_peers();
    tell(table_.header());
    for (const int ranks : options_.ranks) measure(ranks);
    write_report(options_.json, missing_, results_);
    if (failed_) throw Error("Starling itself failed, see above");
  }

 private:
  void tell(const std::string& line) {
    fmt::print(people_, "{}\n", line);
    std::fflush(people_);
  }

  // Reports each reason once, even for many rank counts.
  void report_missing(const std::string& name, const std::string& why) {
    if (told_.insert(concat(name, why)).second) tell(concat(name, " is missing: ", why));
    missing_[name] = why;
  }

  void introduce();
  void find_peers();
  void measure(int ranks);
  void check_present(const BenchSubject& contestant);
  TableRow measure(int ranks, const Job& job, const std::vector<std::unique_ptr<BenchSubject>>& contestants);

  BenchOptions options_;
  std::FILE* people_;
  Table table_;
  std::vector<Found> found_;
  std::set<std::string> told_;
  nlohmann::ordered_json missing_ = nlohmann::ordered_json::object();
  nlohmann::ordered_json results_ = nlohmann::ordered_json::array();
  bool failed_ = false;
};

void Bench::introduce() {
  tell(fmt::format("Starling {} on {}, {}; medians of {} interleaved rounds.", version(), cpu_name(),
                   cores_text(usable_cores()), options_.rounds));
  tell(
      "vs: the peer's time over ours, above 1 we are faster. memory: the time in which the machine copies "
      "what");
  tell("must move at the least, over our time.");
}

void Bench::find_peers() {
  for (const Peer* peer : options_.against) {
    Availability availability = peer->find();
    if (availability.available) {
      found_.push_back({peer, std::move(availability)});
    } else {
      report_missing(std::string(peer->name), availability.detail);
    }
  }
}

void Bench::check_present(const BenchSubject& contestant) {
  if (!contestant.why_missing()) return;
  report_missing(contestant.name(), *contestant.why_missing());
  if (contestant.name() == "starling") failed_ = true;
}

void Bench::measure(int ranks) {
  std::vector<std::unique_ptr<BenchSubject>> contestants;
  contestants.push_back(start_starling(ranks));
  for (const Found& found : found_) contestants.push_back(found.peer->start(ranks, found.availability));
  contestants.push_back(start_copying(ranks));
  for (const auto& contestant : contestants) contestant->connect();
  for (const Op op : options_.ops) {
    for (const std::size_t bytes : options_.sizes) {
      const TableRow row = measure(ranks, {op, bytes}, contestants);
      for (const auto& contestant : contestants) check_present(*contestant);
      tell(table_.line(row));
      results_.push_back(to_json(row));
    }
  }
}

TableRow Bench::measure(int ranks, const Job& job,
                        const std::vector<std::unique_ptr<BenchSubject>>& contestants) {
  for (const auto& contestant : contestants) contestant->prepare(job);
  for (int round = 0; round < options_.rounds; ++round) {
    for (const auto& contestant : contestants) contestant->run_round();
  }
  TableRow row{job, ranks, contestants.front()->microseconds(), contestants.back()->microseconds(), {}};
  for (const Peer* peer : options_.against) row.peer_us[std::string(peer->name)] = std::nullopt;
  for (std::size_t i = 0; i < found_.size(); ++i) {
    row.peer_us[std::string(found_[i].peer->name)] = contestants[i + 1]->microseconds();
  }
  return row;
}

// The ranks read the environment too, each for itself; errors in it are reported before they start.
void check_environment() {
  collective::Selection::from_environment();
  simd_mode();
}

}  // namespace

void add_bench_collectives(CLI::App& bench) {
  CLI::App* const command = bench.add_subcommand("collectives", "Collectives against those of MPI and Gloo");
  const auto text = std::make_shared<BenchText>();
  command->add_option("--ranks", text->ranks, "numbers of ranks to measure, one after the other")
      ->capture_default_str();
  command->add_option("--sizes", text->sizes, "sizes of the vectors in bytes, with k, m or g")
      ->capture_default_str();
  command->add_option("--ops", text->ops, "allreduce, broadcast, allgather")->capture_default_str();
  command->add_option("--against", text->against, "mpi, gloo, or none")->capture_default_str();
  command->add_option("--rounds", text->rounds, "rounds, whose median counts")->capture_default_str();
  command->add_option("--json", text->json, "also writes the results to this file; - for standard output");
  command->callback([command, text] {
    const int started = ranks_started();
    if (started > 1 && command->count("--ranks") == 0) text->ranks = std::to_string(started);
    if (started > 1 && command->count("--against") == 0) text->against = "mpi";
    BenchOptions options = parse_options(*text);
    check_environment();
    if (started > 1) return run_joined_bench(options);
    check_memory(options, available_memory());
    check_report(options.json);
    Bench(std::move(options)).run();
  });
}

}  // namespace starling::cli
