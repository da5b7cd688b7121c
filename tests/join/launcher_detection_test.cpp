// Environments as launchers leave them, and what they are taken for.
#include "starling/join/launcher_detection.h"

#include <gtest/gtest.h>

#include "starling/core/error.h"
#include "tests/support/refusal.h"

namespace starling::join {
namespace {

EnvironmentVariables operator+(EnvironmentVariables all, const EnvironmentVariables& more) {
  for (const auto& [name, value] : more) all[name] = value;
  return all;
}

EnvironmentVariables without(EnvironmentVariables all, const std::string& name) {
  all.erase(name);
  return all;
}

const EnvironmentVariables kTorchrun{{"RANK", "2"},
                                     {"WORLD_SIZE", "4"},
                                     {"LOCAL_RANK", "2"},
                                     {"LOCAL_WORLD_SIZE", "4"},
                                     {"GROUP_RANK", "0"},
                                     {"MASTER_ADDR", "node1"},
                                     {"MASTER_PORT", "29500"},
                                     {"TORCHELASTIC_RESTART_COUNT", "0"},
                                     {"TORCHELASTIC_RUN_ID", "none"}};
const EnvironmentVariables kOpenMpi{{"OMPI_COMM_WORLD_RANK", "1"},       {"OMPI_COMM_WORLD_SIZE", "4"},
                                    {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                    {"PMIX_NAMESPACE", "1018232833"},    {"PMIX_RANK", "1"}};
const EnvironmentVariables kHydra{{"PMI_RANK", "1"},
                                  {"PMI_SIZE", "2"},
                                  {"PMI_FD", "7"},
                                  {"MPI_LOCALNRANKS", "2"},
                                  {"MPI_LOCALRANKID", "1"}};
// The variables that sbatch passes to its script, and srun to a task of it.
const EnvironmentVariables kBatch{{"SLURM_JOB_ID", "200505"}, {"SLURM_NTASKS", "4"},
                                  {"SLURM_PROCID", "0"},      {"SLURM_LOCALID", "0"},
                                  {"SLURM_NNODES", "2"},      {"SLURM_JOB_NODELIST", "n[1-2]"}};
const EnvironmentVariables kSrun =
    kBatch + EnvironmentVariables{{"SLURM_STEP_ID", "3"},        {"SLURM_PROCID", "3"},
                                  {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_NUM_NODES", "2"},
                                  {"SLURM_LOCALID", "1"},        {"SLURM_STEP_NODELIST", "n[1-2]"}};

std::string text_for(const EnvironmentVariables& variables) {
  const auto found = detect_launcher(variables);
  return found ? found->text() : "nobody";
}

std::string detection_refusal(const EnvironmentVariables& variables) {
  return testing::refusal([&] { detect_launcher(variables); });
}

TEST(DetectedLauncher, Torchrun) {
  const auto found = detect_launcher(kTorchrun);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text(), "torchrun: RANK=2 of WORLD_SIZE=4, all on this host (LOCAL_WORLD_SIZE=4)");
  EXPECT_EQ(found->rank, 2);
  EXPECT_EQ(found->ranks, 4);
  EXPECT_EQ(found->local_rank, 2);
  EXPECT_TRUE(found->one_host());
  EXPECT_EQ(found->meeting, "node1:29501");
  EXPECT_FALSE(found->has_mpi);
  EXPECT_EQ(text_for(kTorchrun + EnvironmentVariables{{"LOCAL_WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}}),
            "torchrun: RANK=2 of WORLD_SIZE=4, not all on this host (LOCAL_WORLD_SIZE=2)");
  EXPECT_EQ(detect_launcher(kTorchrun + EnvironmentVariables{{"MASTER_ADDR", "fe80::1"}})->meeting,
            "[fe80::1]:29501");
  EXPECT_EQ(text_for({{"RANK", "0"}, {"WORLD_SIZE", "3"}}), "torchrun: RANK=0 of WORLD_SIZE=3");
}

TEST(DetectedLauncher, AJobThatIsStartedAgainIsAnotherJob) {
  const std::string first = detect_launcher(kTorchrun)->job;
  EXPECT_NE(first, "");
  EXPECT_NE(detect_launcher(kTorchrun + EnvironmentVariables{{"TORCHELASTIC_RESTART_COUNT", "1"}})->job,
            first);
  EXPECT_NE(detect_launcher(kTorchrun + EnvironmentVariables{{"MASTER_PORT", "29600"}})->job, first);
  EXPECT_EQ(detect_launcher(kTorchrun + EnvironmentVariables{{"RANK", "1"}, {"LOCAL_RANK", "1"}})->job,
            first);
}

TEST(DetectedLauncher, Mpirun) {
  EXPECT_EQ(text_for(kOpenMpi),
            "mpirun: OMPI_COMM_WORLD_RANK=1 of OMPI_COMM_WORLD_SIZE=4, all on this host "
            "(OMPI_COMM_WORLD_LOCAL_SIZE=4)");
  EXPECT_EQ(detect_launcher(kOpenMpi)->job, "PMIX_NAMESPACE=1018232833");
  EXPECT_TRUE(detect_launcher(kOpenMpi)->has_mpi);
  EXPECT_EQ(text_for(kHydra), "mpirun: PMI_RANK=1 of PMI_SIZE=2, all on this host (MPI_LOCALNRANKS=2)");
  EXPECT_EQ(detect_launcher(kHydra)->job, "") << "nothing tells two jobs apart";
  EXPECT_EQ(text_for({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}), "mpirun: PMI_RANK=1 of PMI_SIZE=2");
}

TEST(DetectedLauncher, Srun) {
  const auto found = detect_launcher(kSrun);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text(),
            "srun: SLURM_PROCID=3 of SLURM_STEP_NUM_TASKS=4, not all on this host (SLURM_STEP_NUM_NODES=2)");
  EXPECT_FALSE(found->one_host());
  EXPECT_EQ(found->meeting, concat("n1:", 20000 + (7 * 200505 + 3) % 12000));
  const auto one = detect_launcher(kSrun + EnvironmentVariables{{"SLURM_STEP_NUM_NODES", "1"}});
  EXPECT_TRUE(one->one_host());
  EXPECT_EQ(one->job, "SLURM_JOB_ID=200505 SLURM_STEP_ID=3");
  EXPECT_EQ(text_for(without(without(kSrun, "SLURM_STEP_NUM_TASKS"), "SLURM_STEP_NUM_NODES")),
            "srun: SLURM_PROCID=3 of SLURM_NTASKS=4, not all on this host (SLURM_NNODES=2)");
}

TEST(DetectedLauncher, AScriptOfABatchJobIsAlone) {
  EXPECT_EQ(text_for(kBatch), "nobody");
  EXPECT_EQ(text_for(kBatch + EnvironmentVariables{{"SLURM_STEP_ID", "batch"}}), "nobody");
  EXPECT_EQ(text_for(kBatch + EnvironmentVariables{{"SLURM_STEP_ID", ""}}), "nobody");
  EXPECT_EQ(text_for(kBatch + EnvironmentVariables{{"SLURM_STEP_ID", "4294967290"}}), "nobody")
      << "the shell of salloc";
  EXPECT_EQ(text_for(kBatch + EnvironmentVariables{{"SLURM_STEP_ID", "4294967291"}}), "nobody");
}

TEST(DetectedLauncher, WhoWasStartedByAnotherGoesFirst) {
  EXPECT_TRUE(text_for(kSrun + kTorchrun).starts_with("torchrun: RANK=2 of"));
  EXPECT_TRUE(text_for(kOpenMpi + kTorchrun).starts_with("torchrun: RANK=2 of"));
  EXPECT_TRUE(text_for(kSrun + kOpenMpi).starts_with("mpirun: OMPI_COMM_WORLD_RANK=1 of"));
  EXPECT_TRUE(text_for(kSrun + kHydra).starts_with("mpirun: PMI_RANK=1 of"));
  // srun sets these itself, with --mpi=pmi2.
  EXPECT_TRUE(
      text_for(kSrun + EnvironmentVariables{{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}}).starts_with("srun: "));
}

TEST(DetectedLauncher, ScriptsMaySetVariablesOfTorchrunThemselves) {
  EXPECT_TRUE(text_for(kSrun + EnvironmentVariables{{"WORLD_SIZE", "4"}, {"MASTER_ADDR", "n1"}})
                  .starts_with("srun: "));
  EXPECT_TRUE(
      text_for(kSrun + EnvironmentVariables{{"WORLD_SIZE", "4"}, {"RANK", "3"}}).starts_with("srun: "));
  EXPECT_EQ(detection_refusal(kSrun + EnvironmentVariables{{"WORLD_SIZE", "8"}}),
            "WORLD_SIZE=8 contradicts what srun says, SLURM_PROCID=3 of SLURM_STEP_NUM_TASKS=4");
  EXPECT_EQ(detection_refusal(kOpenMpi + EnvironmentVariables{{"WORLD_SIZE", "4"}, {"RANK", "0"}}),
            "RANK=0 contradicts what mpirun says, OMPI_COMM_WORLD_RANK=1 of OMPI_COMM_WORLD_SIZE=4");
}

TEST(DetectedLauncher, HalfSetVariablesAreRefused) {
  EXPECT_EQ(detection_refusal({{"RANK", "2"}}),
            "RANK=2 is set and WORLD_SIZE is not; torchrun sets both, and without it neither may be set");
  EXPECT_EQ(detection_refusal({{"WORLD_SIZE", "2"}}),
            "WORLD_SIZE=2 is set and RANK is not; torchrun sets both, and without it neither may be set");
  EXPECT_EQ(detection_refusal({{"TORCHELASTIC_RUN_ID", "x"}}),
            "TORCHELASTIC_RUN_ID=x is set and RANK and WORLD_SIZE are not; torchrun sets all");
  EXPECT_NE(detection_refusal(without(kOpenMpi, "OMPI_COMM_WORLD_SIZE")).find("OMPI_COMM_WORLD_SIZE is not"),
            std::string::npos);
  EXPECT_NE(detection_refusal({{"PMI_RANK", "0"}}).find("PMI_SIZE is not"), std::string::npos);
  EXPECT_EQ(
      detection_refusal({{"PMIX_RANK", "0"}}),
      "PMIX_RANK=0 is set and OMPI_COMM_WORLD_SIZE is not, so that nobody says how many ranks there are");
  EXPECT_NE(
      detection_refusal(without(without(kSrun, "SLURM_STEP_NUM_TASKS"), "SLURM_NTASKS")).find("SLURM_NTASKS"),
      std::string::npos);
}

TEST(DetectedLauncher, ContradictoryVariablesAreRefused) {
  EXPECT_EQ(detection_refusal(kTorchrun + EnvironmentVariables{{"RANK", "4"}}),
            "RANK=4 and WORLD_SIZE=4 contradict each other: the first must be below the second");
  EXPECT_EQ(
      detection_refusal(kTorchrun + EnvironmentVariables{{"LOCAL_WORLD_SIZE", "8"}}),
      "LOCAL_WORLD_SIZE=8 and WORLD_SIZE=4 contradict each other: the first must be at most the second");
  EXPECT_EQ(detection_refusal(kOpenMpi + EnvironmentVariables{{"OMPI_COMM_WORLD_LOCAL_RANK", "4"}}),
            "OMPI_COMM_WORLD_LOCAL_RANK=4 and OMPI_COMM_WORLD_LOCAL_SIZE=4 contradict each other: the first "
            "must be below the second");
  EXPECT_EQ(detection_refusal(kTorchrun + EnvironmentVariables{{"RANK", "two"}}),
            "RANK: 'two' is not a whole number from 0 to 4096");
  EXPECT_EQ(detection_refusal(kTorchrun + EnvironmentVariables{{"WORLD_SIZE", "0"}}),
            "WORLD_SIZE: '0' is not a whole number from 1 to 4096");
  EXPECT_EQ(detection_refusal(kTorchrun + EnvironmentVariables{{"MASTER_PORT", "65535"}}),
            "MASTER_PORT: '65535' is not a whole number from 1 to 65534");
}

TEST(DetectedLauncher, FirstNodeOfAList) {
  EXPECT_EQ(first_node("node[01-04,7],x"), "node01");
  EXPECT_EQ(first_node("x,node[01-04]"), "x");
  EXPECT_EQ(first_node("gnode[10,20]"), "gnode10");
  EXPECT_EQ(first_node("rack[1-2]n[03-05].site"), "rack1n03.site");
  EXPECT_EQ(first_node("alone"), "alone");
  EXPECT_EQ(testing::refusal([] { first_node("node[01"); }),
            "SLURM_STEP_NODELIST 'node[01' is not a list of hosts");
}

}  // namespace
}  // namespace starling::join
