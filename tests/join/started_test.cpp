// Processes that another launcher has started: their ranks, how they find each other, and that they do.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "starling/core/error.h"
#include "starling/join/join.h"
#include "starling/join/run_context.h"
#include "starling/launch/forked_ranks.h"
#include "starling/runtime/run.h"
#include "starling/transport/shm/handover.h"
#include "starling/transport/wire/mpi.h"
#include "starling/transport/wire/ucx.h"
#include "tests/join/joined.h"
#include "tests/support/check.h"
#include "tests/support/refusal.h"

namespace starling::join {
namespace {

using testing::check;
using testing::check_equal;
using testing::check_sum;
using testing::free_port;

EnvironmentVariables torchrun(int rank, int ranks, int local_ranks, int port) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(ranks)},
          {"LOCAL_RANK", std::to_string(rank % local_ranks)},
          {"LOCAL_WORLD_SIZE", std::to_string(local_ranks)},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", std::to_string(port)},
          {"TORCHELASTIC_RUN_ID", std::to_string(getppid())}};
}

EnvironmentVariables mpirun(int ranks, int local_ranks) {
  return {{"OMPI_COMM_WORLD_RANK", "0"},
          {"OMPI_COMM_WORLD_SIZE", std::to_string(ranks)},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(local_ranks)},
          {"PMIX_NAMESPACE", "77"}};
}

EnvironmentVariables with(EnvironmentVariables all, const std::string& name, const std::string& value) {
  all[name] = value;
  return all;
}

std::string start_refusal(const EnvironmentVariables& variables) {
  return testing::refusal([&] { read_run_environment(variables); });
}

TEST(Started, OurOwnVariablesGoFirst) {
  EnvironmentVariables both = torchrun(2, 4, 4, 29500);
  both.erase("WORLD_SIZE");  // not read
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{{"STARLING_RANK", "1"},
                                                                                    {"STARLING_WORKERS", "2"},
                                                                                    {"STARLING_RANKS", "2"},
                                                                                    {"STARLING_ARENA", "a"}})
    both[name] = value;
  const RunEnvironment environment = read_run_environment(both);
  EXPECT_EQ(environment.rank, 1);
  EXPECT_EQ(environment.arena, "a");
  EXPECT_EQ(environment.started_by, "starling: STARLING_RANK=1 of STARLING_RANKS=2");
  EXPECT_NE(start_refusal(with(torchrun(0, 2, 2, 29500), "STARLING_RANK", "0")).find("STARLING_ARENA is not"),
            std::string::npos);
}

TEST(Started, StrategyAndOptionsComeFromOurVariables) {
  EnvironmentVariables variables = with(torchrun(3, 4, 4, 29500), "STARLING_STRATEGY", "ps");
  const RunEnvironment server = read_run_environment(variables);
  EXPECT_EQ(server.workers, 3);
  EXPECT_EQ(server.ranks, 4);
  EXPECT_FALSE(server.trains());
  const RunEnvironment beside =
      read_run_environment(with(variables, "STARLING_OPTIONS", "server=beside,mode=asp"));
  EXPECT_EQ(beside.workers, 4);
  EXPECT_EQ(beside.options.at("mode"), "asp");
  EXPECT_EQ(start_refusal(with(torchrun(0, 1, 1, 29500), "STARLING_STRATEGY", "ps")),
            "strategy ps keeps a rank for its service, and torchrun has started one process (RANK=0 of "
            "WORLD_SIZE=1); start more, or set STARLING_OPTIONS=server=beside");
}

TEST(Started, OneProcessIsARunOfOne) {
  const RunEnvironment environment = read_run_environment(torchrun(0, 1, 1, 29500));
  EXPECT_FALSE(joins_by_itself(environment));
  EXPECT_EQ(environment.ranks, 1);
  EXPECT_EQ(join_method_text(environment), "nobody: a run of one");
}

TEST(Started, OnOneHostTheyShareMemory) {
  const RunEnvironment first = read_run_environment(torchrun(0, 4, 4, 29500));
  const RunEnvironment last = read_run_environment(torchrun(3, 4, 4, 29500));
  EXPECT_NE(first.host_socket, "");
  EXPECT_EQ(first.host_socket, last.host_socket);
  EXPECT_NE(read_run_environment(torchrun(0, 4, 4, 29600)).host_socket, first.host_socket);
  EXPECT_NE(read_run_environment(mpirun(4, 4)).host_socket, "");
}

TEST(Started, OnSeveralHostsTheyNeedAToken) {
  const EnvironmentVariables variables = torchrun(1, 4, 2, 29500);
  EXPECT_EQ(
      start_refusal(variables),
      "torchrun has ranks on other hosts (RANK=1 of WORLD_SIZE=4), and STARLING_TOKEN is not set; before "
      "torchrun: export STARLING_TOKEN=$(openssl rand -hex 16)");
  const RunEnvironment environment = read_run_environment(with(variables, "STARLING_TOKEN", "t"));
  EXPECT_EQ(environment.rendezvous, "127.0.0.1:29501");
  EXPECT_EQ(environment.token, "t");
  const EnvironmentVariables chosen =
      with(with(variables, "STARLING_TOKEN", "t"), "STARLING_RENDEZVOUS", "node9:4000");
  EXPECT_EQ(read_run_environment(chosen).rendezvous, "node9:4000");
  EXPECT_EQ(start_refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}}),
            "torchrun does not tell where the ranks are (RANK=0 of WORLD_SIZE=2); set "
            "STARLING_RENDEZVOUS=HOST:PORT to an address of rank 0's host, and STARLING_TOKEN");
}

TEST(Started, MpirunNeedsNoTokenWhereMpiIsThere) {
  const std::string why_not = transport::wire::why_no_mpi();
  if (why_not.empty()) {
    EXPECT_TRUE(read_run_environment(mpirun(4, 2)).through_mpi);
    EXPECT_TRUE(read_run_environment(with(mpirun(4, 4), "STARLING_TRANSPORT", "mpi")).through_mpi);
    EXPECT_TRUE(read_run_environment(with(mpirun(4, 4), "STARLING_HOST", "a")).through_mpi);
    EXPECT_EQ(join_method_text(read_run_environment(mpirun(4, 2))), "through MPI");
  } else {
    EXPECT_NE(start_refusal(mpirun(4, 2)).find(why_not), std::string::npos);
    EXPECT_NE(start_refusal(with(mpirun(4, 4), "STARLING_TRANSPORT", "mpi")).find(why_not),
              std::string::npos);
  }
  const EnvironmentVariables met =
      with(with(mpirun(4, 2), "STARLING_RENDEZVOUS", "a:1"), "STARLING_TOKEN", "t");
  EXPECT_EQ(read_run_environment(met).rendezvous, "a:1");
}

TEST(Started, MpiNeedsALauncherOfMpi) {
  if (!transport::wire::why_no_mpi().empty()) GTEST_SKIP() << transport::wire::why_no_mpi();
  EXPECT_EQ(start_refusal(with(torchrun(0, 2, 2, 29500), "STARLING_TRANSPORT", "mpi")),
            "STARLING_TRANSPORT is mpi, which mpirun and srun can start, and torchrun cannot (RANK=0 of "
            "WORLD_SIZE=2)");
  EXPECT_EQ(start_refusal({{"STARLING_TRANSPORT", "mpi"}}),
            "STARLING_TRANSPORT is mpi, and neither mpirun nor srun has started this process");
}

TEST(Started, ProcessesOfOneHostJoin) {
  const int port = free_port();
  launch::ForkedRanks processes(4, [&](transport::Transport& known) {
    RunContext member(read_run_environment(torchrun(known.rank(), 4, 4, port)));
    check_equal(std::string(member.net().name()), "shm", "the transport");
    check_equal(member.net().size(), 4, "the size");
    check_sum(member.net());
  });
  for (const launch::Outcome& outcome : processes.wait()) EXPECT_TRUE(outcome.good()) << outcome.error;
}

TEST(Started, ProcessesOfSeveralHostsJoin) {
  if (!transport::wire::why_no_ucx().empty()) GTEST_SKIP() << transport::wire::why_no_ucx();
  const int port = free_port() - 1;
  launch::ForkedRanks processes(4, [&](transport::Transport& known) {
    setenv("STARLING_HOST", concat("h", known.rank() / 2).c_str(), 1);
    const EnvironmentVariables variables =
        with(torchrun(known.rank(), 4, 2, port), "STARLING_TOKEN", concat("a secret, ", port));
    RunContext member(read_run_environment(variables));
    check_equal(std::string(member.net().name()), "shm+ucx", "the transport");
    check(member.environment().host_of_rank == std::vector<int>{0, 0, 1, 1}, "who is where");
    check_sum(member.net());
  });
  for (const launch::Outcome& outcome : processes.wait()) EXPECT_TRUE(outcome.good()) << outcome.error;
}

// Rank 1 of a job whose rank 0 is nowhere, and rank 0 without the others.
TEST(Started, WhoIsNotThereIsNotWaitedForForEver) {
  for (const int rank : {0, 1}) {
    runtime::LoopScheduler loop;
    const RunEnvironment environment = read_run_environment(torchrun(rank, 2, 2, 29500));
    const std::string error = testing::error_text(
        [&] { static_cast<void>(join_run(loop, environment, std::chrono::milliseconds(50))); });
    EXPECT_NE(error.find(environment.host_socket), std::string::npos) << error;
    EXPECT_NE(error.find("torchrun: RANK="), std::string::npos) << error;
  }
}

// Two jobs that look the same: each of the second's processes ends with an error.
TEST(Started, TwoJobsThatAreTakenForOneAreRefused) {
  runtime::LoopScheduler loop;
  const std::vector<Rank> members{0, 1};
  const std::string name = concat("starling-two-jobs-", getpid());
  const transport::shm::HostArena first(loop, name, members, 0, std::chrono::seconds(1));
  const auto error_for = [&](Rank rank) {
    return testing::error_text([&] {
      runtime::LoopScheduler other;
      const transport::shm::HostArena second(other, name, members, rank, std::chrono::seconds(1));
    });
  };
  EXPECT_EQ(error_for(0), concat("socket name '", name, "': Address already in use"));
  EXPECT_FALSE(first.arena()->claim(0, {1}));
  EXPECT_TRUE(first.arena()->claim(1, {1}));
  EXPECT_FALSE(first.arena()->claim(1, {2}));
}

}  // namespace
}  // namespace starling::join
