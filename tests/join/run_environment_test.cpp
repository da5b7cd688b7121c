#include "starling/join/run_environment.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "starling/core/error.h"

namespace starling::join {
namespace {

// Variables that are set while this lives, and unset before and after.
class ScopedVariables {
 public:
  explicit ScopedVariables(const std::vector<std::pair<std::string, std::string>>& values) {
    clear();
    for (const auto& [name, value] : values) setenv(name.c_str(), value.c_str(), 1);
  }
  ~ScopedVariables() { clear(); }
  ScopedVariables(const ScopedVariables&) = delete;
  ScopedVariables& operator=(const ScopedVariables&) = delete;

 private:
  static void clear() {
    for (const char* name : {"STARLING_RANK", "STARLING_WORKERS", "STARLING_RANKS", "STARLING_ARENA",
                             "STARLING_STRATEGY", "STARLING_OPTIONS", "STARLING_LINK", "STARLING_RENDEZVOUS",
                             "STARLING_TOKEN", "STARLING_TRANSPORT", "STARLING_SILENCE"}) {
      unsetenv(name);
    }
  }
};

std::string refusal_of(const std::vector<std::pair<std::string, std::string>>& values) {
  const ScopedVariables variables(values);
  try {
    read_run_environment();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(RunEnvironment, AloneItIsARunOfOne) {
  const ScopedVariables none({});
  const RunEnvironment environment = read_run_environment();
  EXPECT_EQ(environment.rank, 0);
  EXPECT_EQ(environment.workers, 1);
  EXPECT_TRUE(environment.trains());
  EXPECT_EQ(environment.arena, "");
  EXPECT_EQ(environment.strategy, "allreduce");
  EXPECT_FALSE(environment.link);
}

TEST(RunEnvironment, ALinkMayBeSetWithoutALauncher) {
  RunEnvironment alone;
  alone.link = transport::parse_link("1gbe", "");
  const ScopedVariables variables({variables_of(alone).back()});
  EXPECT_EQ(read_run_environment().link, alone.link);
  EXPECT_EQ(read_run_environment().ranks, 1);
}

TEST(RunEnvironment, ReadsWhatWasWritten) {
  const RunEnvironment written{.rank = 3,
                               .workers = 3,
                               .ranks = 4,
                               .arena = "name",
                               .strategy = "ps",
                               .options = {{"mode", "ssp"}, {"staleness", "5"}},
                               .link = transport::Link{1e9 / 3, std::chrono::microseconds(7)}};
  const ScopedVariables variables(variables_of(written));
  const RunEnvironment read = read_run_environment();
  EXPECT_EQ(read.rank, 3);
  EXPECT_FALSE(read.trains());
  EXPECT_EQ(read.ranks, 4);
  EXPECT_EQ(read.arena, "name");
  EXPECT_EQ(read.strategy, "ps");
  EXPECT_EQ(read.options, written.options);
  EXPECT_EQ(read.link, written.link);
}

TEST(RunEnvironment, HalfSetOrContradictoryVariablesAreRefused) {
  EXPECT_EQ(
      refusal_of({{"STARLING_RANK", "0"}}),
      "STARLING_RANK is set and STARLING_ARENA is not; a launcher sets STARLING_RANK, STARLING_WORKERS, "
      "STARLING_RANKS and STARLING_ARENA or STARLING_RENDEZVOUS");
  const auto with_rank = [](const char* rank) {
    return refusal_of({{"STARLING_RANK", rank},
                       {"STARLING_WORKERS", "2"},
                       {"STARLING_RANKS", "2"},
                       {"STARLING_ARENA", "a"}});
  };
  EXPECT_EQ(with_rank("2"), "STARLING_RANK: '2' is not a whole number from 0 to 1");
  EXPECT_EQ(with_rank(""), "STARLING_RANK: '' is not a whole number from 0 to 1");
  EXPECT_NE(refusal_of({{"STARLING_STRATEGY", "rings"}}).find("unknown strategy 'rings'"), std::string::npos);
  EXPECT_EQ(refusal_of({{"STARLING_OPTIONS", "period"}}),
            "STARLING_OPTIONS: 'period'; allowed: NAME=VALUE,NAME=VALUE,...");
  EXPECT_EQ(
      refusal_of({{"STARLING_LINK", "1gb"}}),
      "STARLING_LINK: '1gb' is not a network (did you mean '1gbe'?); allowed: 1gbe, 10gbe, 25gbe, 100gib, "
      "nvlink, shm or BANDWIDTH/LATENCY such as 40gbit/5us");
  EXPECT_NE(refusal_of({{"STARLING_OPTIONS", "mode=asp"}}).find("has no option 'mode'"), std::string::npos);
  EXPECT_EQ(refusal_of({{"STARLING_STRATEGY", "ripples"}, {"STARLING_OPTIONS", "group_size=3"}}),
            "STARLING_OPTIONS: group_size: spelt group-size");
  EXPECT_EQ(refusal_of({{"STARLING_STRATEGY", "ripples"}, {"STARLING_OPTIONS", "section=3"}}),
            "STARLING_OPTIONS: section: spelt period");
}

TEST(RunEnvironment, OptionsAreSpeltAsOnTheCommandLine) {
  const RunEnvironment environment =
      read_run_environment({{"STARLING_STRATEGY", "ripples"}, {"STARLING_OPTIONS", "group-size=3,period=2"}});
  EXPECT_EQ(environment.options, (strategy::OptionTexts{{"group-size", "3"}, {"period", "2"}}));
}

TEST(RunEnvironment, ARendezvousStandsInPlaceOfTheMemory) {
  RunEnvironment environment;
  environment.rank = 2;
  environment.workers = 3;
  environment.ranks = 4;
  environment.rendezvous = "node1:4000";
  environment.token = "secret";
  environment.transport = "ucx";
  environment.silence = std::chrono::milliseconds(1500);
  const ScopedVariables variables(variables_of(environment));
  const RunEnvironment read = read_run_environment();
  EXPECT_EQ(read.rank, 2);
  EXPECT_EQ(read.ranks, 4);
  EXPECT_EQ(read.rendezvous, "node1:4000");
  EXPECT_EQ(read.token, "secret");
  EXPECT_EQ(read.transport, "ucx");
  EXPECT_EQ(read.silence, environment.silence);
  EXPECT_EQ(read.arena, "");
}

TEST(RunEnvironment, ARendezvousThatMakesNoSenseIsRefused) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  const auto with = [](Pairs more) {
    Pairs all{{"STARLING_RANK", "0"}, {"STARLING_WORKERS", "2"}, {"STARLING_RANKS", "2"}};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  EXPECT_EQ(refusal_of(with({{"STARLING_RENDEZVOUS", "a:1"}})),
            "STARLING_RENDEZVOUS is set and STARLING_TOKEN is not; all processes need the same");
  EXPECT_EQ(
      refusal_of(with({{"STARLING_RENDEZVOUS", "a:1"}, {"STARLING_ARENA", "x"}})),
      "STARLING_ARENA and STARLING_RENDEZVOUS are set; the first is for one host, the second for several");
  EXPECT_EQ(refusal_of(with(
                {{"STARLING_RENDEZVOUS", "a:1"}, {"STARLING_TOKEN", "t"}, {"STARLING_TRANSPORT", "pigeon"}})),
            "STARLING_TRANSPORT 'pigeon'; allowed: auto, ucx, mpi, shm");
  EXPECT_EQ(refusal_of(with(
                {{"STARLING_RENDEZVOUS", "a:1"}, {"STARLING_TOKEN", "t"}, {"STARLING_SILENCE", "10ms"}})),
            "STARLING_SILENCE '10ms'; allowed: 100 ms to 3600 s");
  EXPECT_NE(refusal_of(with({{"STARLING_RENDEZVOUS", "a"}, {"STARLING_TOKEN", "t"}})), "accepted");
  EXPECT_NE(refusal_of({{"STARLING_RENDEZVOUS", "a:1"}}), "accepted");
}

}  // namespace
}  // namespace starling::join
