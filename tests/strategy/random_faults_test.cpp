// Random deaths, stops and cuts, for every strategy and variant. STARLING_FAULT_SEEDS sets the number of runs
// of each.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "starling/core/text.h"
#include "tests/strategy/registered_cases.h"

namespace starling::strategy {
namespace {

using cluster::Fault;

struct SeedRange {
  std::uint64_t first = 1;
  std::uint64_t last = 60;
};

SeedRange fault_seeds() {
  const char* const text = std::getenv("STARLING_FAULT_SEEDS");
  if (text == nullptr) return {};
  char* dash = nullptr;
  const std::uint64_t number = std::strtoull(text, &dash, 10);
  if (*dash != '-') return {.first = 1, .last = number};
  return {.first = number, .last = std::strtoull(dash + 1, nullptr, 10)};
}

// Notes all views and the last models.
class ViewHistory final : public sim::Observer {
 public:
  bool looks_at_models() const override { return false; }

  void view_changes(Rank worker, const membership::View& view) override {
    EXPECT_TRUE(views_[worker].empty() || views_[worker].rbegin()->first < view.epoch) << "worker " << worker;
    views_[worker][view.epoch] = view.members;
  }

  void ends(Models models) override {
    for (const auto& model : models) last_models.emplace_back(model.begin(), model.end());
  }

  // Whether these workers never had different views of an epoch. Those that have died may have had.
  bool agree(const Group& workers) const {
    std::map<std::uint64_t, Group> common;
    for (const Rank worker : workers) {
      const auto own = views_.find(worker);
      if (own == views_.end()) continue;
      for (const auto& [epoch, members] : own->second) {
        if (common.emplace(epoch, members).first->second != members) return false;
      }
    }
    return true;
  }

  testing::Models last_models;

 private:
  std::map<Rank, std::map<std::uint64_t, Group>> views_;  // by epoch
};

constexpr std::array<std::string_view, 6> kFaultNames{"slow", "pause", "link", "kill", "stop", "cut"};

// One to three faults at times within the run. Whom they concern, and whether those may go on all the same.
class RandomFaultPlan {
 public:
  RandomFaultPlan(sim::Simulation& simulation, Duration whole, std::uint64_t seed)
      : simulation_(simulation), whole_(whole), random_(seed) {
    for (int left = random_.between(1, 3); left > 0; --left) add();
  }

  std::string text() const {
    std::string text = "hosts";
    for (const cluster::WorkerSpec& worker : simulation_.cluster.workers) text += concat(" ", worker.host);
    for (const Fault& fault : simulation_.cluster.faults) {
      const std::string what(kFaultNames[static_cast<std::size_t>(fault.kind)]);
      text +=
          concat("; ", what, " ", fault.subject, " from ", format_duration(fault.from.time_since_epoch()));
      if (fault.to < Time(kForever)) text += concat(" to ", format_duration(fault.to.time_since_epoch()));
    }
    return text;
  }

  bool concerns(Rank rank) const { return touched_.count(rank) != 0; }
  // All others are more than half of the workers.
  bool minority() const { return 2 * touched_.size() < simulation_.cluster.workers.size(); }

 private:
  void add() {
    const int workers = static_cast<int>(simulation_.cluster.workers.size());
    const int kind = random_.between(0, 3);
    const Rank rank = random_.between(0, workers - 1);
    const Time from(
        Duration(static_cast<Duration::rep>(random_.uniform() * static_cast<double>(whole_.count()))));
    if (kind == 0) {
      if (kills_.insert(rank).second) {
        simulation_.cluster.faults.push_back({.kind = Fault::Kind::kKill, .subject = rank, .from = from});
      }
      touched_.insert(rank);
    } else if (kind == 1) {
      simulation_.cluster.faults.push_back(
          {.kind = Fault::Kind::kStop, .subject = rank, .from = from, .to = end_of(from)});
      touched_.insert(rank);
    } else {
      cut(simulation_.cluster.host_of(rank), from);
    }
  }

  void cut(int host, Time from) {
    simulation_.cluster.faults.push_back(
        {.kind = Fault::Kind::kCut, .subject = host, .from = from, .to = end_of(from)});
    for (Rank rank = 0; rank < static_cast<Rank>(simulation_.cluster.workers.size()); ++rank) {
      if (simulation_.cluster.host_of(rank) == host) touched_.insert(rank);
    }
  }

  // Shorter than the limits, about as long, far longer, for good.
  Time end_of(Time from) {
    const int how_long = random_.between(0, 3);
    if (how_long == 3) return Time(kForever);
    const double longest = how_long == 0 ? 1 : how_long == 1 ? 8 : 60;
    return from + Duration(static_cast<Duration::rep>(1 + random_.uniform() * longest * 1e9));
  }

  sim::Simulation& simulation_;
  Duration whole_;
  Random random_;
  std::set<Rank> kills_;
  std::set<Rank> touched_;
};

class RandomFaults : public ::testing::TestWithParam<RegisteredCase> {
 protected:
  bool needs_worker0(int workers) const {
    const auto made = GetParam().row->make(options_of(GetParam()), workers);
    return made->service() == Placement::kBesideWorker0;
  }
};

INSTANTIATE_TEST_SUITE_P(Strategies, RandomFaults,
                         ::testing::ValuesIn(cases_where([](const RegisteredCase&) { return true; })),
                         case_name);

// The run ends: a deadlock throws. There is one view for each epoch. Workers that no fault concerns go on if
// they are more than half. Those that end well have made all steps and, where models are equal, have equal
// bits.
TEST_P(RandomFaults, NoDeadlockAndNoSplit) {
  const bool equal = has_equal_models(*GetParam().row, options_of(GetParam()));
  const SeedRange seeds = fault_seeds();
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    sim::Simulation simulation = random_simulation_of(GetParam(), seed);
    const int workers = static_cast<int>(simulation.cluster.workers.size());
    if (!possible(GetParam(), workers)) continue;
    const Duration whole = sim::simulate(simulation).duration;
    const RandomFaultPlan plan(simulation, whole, seed + 7'000'000);
    SCOPED_TRACE(plan.text());
    ViewHistory history;
    simulation.observer = &history;
    Group well;
    record::RunRecord run;
    try {
      run = sim::simulate(simulation);
    } catch (const Deadlock& deadlock) {
      ADD_FAILURE() << deadlock.what();
      continue;
    }
    const bool go_on = plan.minority() && !(needs_worker0(workers) && plan.concerns(0));
    const std::vector<float>* model = nullptr;
    for (const record::RankRecord& record : run.ranks) {
      if (!record.trains) continue;
      if (go_on && !plan.concerns(record.rank)) {
        EXPECT_EQ(record.ended, "") << "worker " << record.rank;
      }
      if (!record.ended.empty()) continue;
      well.push_back(record.rank);
      EXPECT_EQ(record.journal.steps, simulation.steps) << "worker " << record.rank;
      const std::vector<float>& own = history.last_models[static_cast<std::size_t>(record.rank)];
      if (equal && model != nullptr) {
        EXPECT_EQ(own, *model) << "worker " << record.rank;
      }
      model = &own;
    }
    EXPECT_TRUE(history.agree(well));
  }
}

}  // namespace
}  // namespace starling::strategy
