// Bad input: one line that names the value and what is allowed, exit code 2, nothing printed, nothing
// created.
#include "tests/cli/bad_input.h"
#include "tests/cli/simulate_runs.h"

namespace starling::cli {
namespace {

using testing::TemporaryFolder;

class BadInput : public ::testing::TestWithParam<Bad> {};

TEST_P(BadInput, IsRefused) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/run";
  Words words = simulate(GetParam().flags);
  words.insert(words.end(), {"--out", out});
  expect_refused(words, GetParam().value, GetParam().allowed);
  EXPECT_FALSE(std::filesystem::exists(out));
}

INSTANTIATE_TEST_SUITE_P(
    Run, BadInput,
    ::testing::Values(
        Bad{"--steps 0", "'0'", "from 1 to 1000000000"}, Bad{"--steps -5", "'-5'", "from 1 to"},
        Bad{"--steps=", "--steps: ''", "from 1 to"}, Bad{"--steps 1e3", "'1e3'", "whole number"},
        Bad{"--record full:1000000000 --steps 1000000000 --workers 1000", "1000000000 steps of each of 1000",
            "allowed: summary, off, a smaller limit"},
        Bad{"--record some", "'some'", "full, full:SPANS, summary, off"}, Bad{"--record full:3", "3", "64"},
        Bad{"--steps 3 --steps 4", "--steps", "received 2"}, Bad{"--time 0", "'0'", "more than 0"},
        Bad{"--time -1s", "'-1s'", "a number from 0"}, Bad{"--time 100y", "'100y'", "ns, us, ms, s, m or h"},
        Bad{"--time 1e30", "'1e30'", "73 years"}, Bad{"--time=", "--time: ''", "seconds"},
        Bad{"--target-loss nan", "'nan'", "a number from"},
        Bad{"--target-accuracy 1.5", "'1.5'", "from 0 to 1"},
        Bad{"--target-accuracy 0.5", "quadratic has no accuracy", "logistic, mlp"},
        Bad{"--target-loss 1 --workload replay:vgg16", "replay:vgg16", "quadratic, logistic, mlp"},
        Bad{"--stop-at-target", "--stop-at-target", "--target-loss or --target-accuracy"},
        Bad{"--eval-steps 0", "'0'", "from 1"}, Bad{"--eval-every 5", "--eval-every", "spelt --eval-steps"},
        Bad{"--seed -1", "'-1'", "from 0"},
        Bad{"--seed 99999999999999999999", "'99999999999999999999'", "from 0 to 9223372036854775807"},
        Bad{"--seeds 7", "'7'", "FIRST..LAST"}, Bad{"--seeds 5..1", "'5..1'", "the smaller one first"},
        Bad{"--seeds 1..", "'1..'", "whole number"}, Bad{"--seeds 1..2..3", "'1..2..3'", "whole number"},
        Bad{"--seeds 1..1000000", "'1..1000000'", "1 to 100000 seeds"},
        Bad{"--seed 1 --seeds 1..2", "--seed: '1'", "either --seed or --seeds"}));

INSTANTIATE_TEST_SUITE_P(
    Training, BadInput,
    ::testing::Values(Bad{"--workload mnist", "'mnist'", "quadratic, logistic, mlp, replay:resnet50"},
                      Bad{"--workload replay:", "'replay:'", "replay:resnet50"},
                      Bad{"--params 0", "'0'", "from 1 to"},
                      Bad{"--params 1000000000 --workers 100000", "1000000000 on each of 100000",
                          "are available"},
                      Bad{"--params 5 --workload mlp", "'5'", "allowed with quadratic, logistic"},
                      Bad{"--noise 2 --workload logistic", "'2'", "allowed with quadratic"},
                      Bad{"--step-time 1s --workload replay:vgg16", "'1s'", "times of its own"},
                      Bad{"--data-seed 3 --workload replay:vgg16", "'3'", "no data"},
                      Bad{"--batch 0", "'0'", "from 1 to 1000000"},
                      Bad{"--batch 10000000", "'10000000'", "from 1 to 1000000"},
                      Bad{"--noise -1", "'-1'", "from 0"}, Bad{"--step-time 0s", "'0s'", "more than 0"},
                      Bad{"--optimizer lion", "'lion'", "sgd, adam, adamw"}, Bad{"--lr -1", "'-1'", "from 0"},
                      Bad{"--lr inf", "'inf'", "a number from 0"}, Bad{"--momentum 2", "'2'", "from 0 to 1"},
                      Bad{"--optimizer adamw --momentum 0.9", "'0.9'", "allowed with sgd"},
                      Bad{"--optimizer adamw --nesterov", "--nesterov", "allowed with sgd"},
                      Bad{"--nesterov", "nesterov with momentum 0", "momentum above 0"},
                      Bad{"--optimizer lamb --momentum 0.9", "'0.9'", "allowed with sgd, lars"},
                      Bad{"--trust 0.02", "--trust: '0.02'; sgd has none", "allowed with lars"},
                      Bad{"--exclude none", "--exclude: 'none'; sgd has none", "allowed with lars, lamb"},
                      Bad{"--scale-lr square", "'square'", "none, linear, sqrt"},
                      Bad{"--nesterov=maybe", "maybe", "--help"}));

INSTANTIATE_TEST_SUITE_P(
    Cluster, BadInput,
    ::testing::Values(
        Bad{"--workers 0", "'0'", "from 1 to 100000"},
        Bad{"--workers 1000000", "'1000000'", "from 1 to 100000"},
        Bad{"--workers 1e6", "'1e6'", "whole number"}, Bad{"--hosts 5", "'5'", "from 1 to 4"},
        Bad{"--network foo", "'foo'", "1gbe, 10gbe"}, Bad{"--jitter normal:99", "'normal:99'", "0 to 10"},
        Bad{"--jitter exponential --jitter-span 0", "'0'", "piece, step"},
        Bad{"--jitter-span piece", "'piece'", "--jitter"}, Bad{"--slow 0", "'0'", "WORKER:FACTOR"},
        Bad{"--slow 9:4", "'9:4'", "workers 0 to 3"}, Bad{"--slow 0:4 1:3", "'1:3'", "--name value"},
        Bad{"--slow 0:0", "'0:0'", "from 1e-06"}, Bad{"--slow 0:4@9s-3s", "'0:4@9s-3s'", "the end, 3 s"},
        Bad{"--pause 0", "'0'", "WORKER@FROM"}, Bad{"--link-slow 9:2", "'9:2'", "hosts 0 to 3"},
        Bad{"--kill 0", "'0'", "WORKER@AT"}, Bad{"--kill 7@1s", "'7@1s'", "workers 0 to 3"},
        Bad{"--kill 0@0s", "'0@0s'", "after it joins"}, Bad{"--stop 0", "'0'", "WORKER@FROM"},
        Bad{"--cut 7@1s", "'7@1s'", "hosts 0 to 3"}, Bad{"--kill 0@1s --kill 0@2s", "'0@2s'", "killed twice"},
        Bad{"--join 3@1s", "worker 3 joins later", "allowed with ps"},
        Bad{"--strategy ps --workers 1 --join 0@1s", "--join", "nobody is there at the start"},
        Bad{"--cluster /nonexistent.toml", "/nonexistent.toml", "No such file"},
        Bad{"--cluster=", "--cluster", "is empty"}, Bad{"--cluster /tmp", "/tmp", "directory"}));

INSTANTIATE_TEST_SUITE_P(
    Strategy, BadInput,
    ::testing::Values(Bad{"--strategy nope", "'nope'", "allreduce, dear, local-sgd"},
                      Bad{"--strategy=", "unknown strategy ''", "allreduce, dear, local-sgd"},
                      Bad{"--strategy alreduce", "'alreduce'", "did you mean 'allreduce'?"},
                      Bad{"--stpes 5", "--stpes", "did you mean --steps?"},
                      Bad{"--strategy ps --stalenes 3", "--stalenes", "did you mean --staleness?"},
                      Bad{"--mode ssp", "--mode is an option of strategy ps",
                          "the options of allreduce are: --algorithm"},
                      Bad{"--strategy ps --mode", "--mode", "bsp, asp, ssp"},
                      Bad{"--strategy ps --mode=", "''", "bsp, asp, ssp"},
                      Bad{"--strategy ps --mode=tsp", "'tsp'", "bsp, asp, ssp"},
                      Bad{"--strategy ps --mode ssp --mode asp", "--mode", "given twice"},
                      Bad{"--strategy ps --staleness 3", "staleness", "it belongs to mode=ssp"},
                      Bad{"--strategy ps --mode ssp --staleness -1", "'-1'", "from 1 to 1000000"},
                      Bad{"--strategy ps --backup 4", "4 of 4 workers", "0 to 3"},
                      Bad{"--strategy dpsgd --graph star", "'star'", "ring, torus"},
                      Bad{"--strategy dpsgd --graph hypercube --workers 6", "6 ranks", "a power of two"},
                      Bad{"--strategy dpsgd --graph file:/nonexistent", "'/nonexistent'", "cannot be opened"},
                      Bad{"--strategy ripples --group_size 3", "--group_size:", "spelt --group-size"},
                      Bad{"--strategy ripples --section=3", "--section:", "spelt --period"},
                      Bad{"--group_size 3", "--group-size is an option of strategy ripples",
                          "the options of allreduce are: --algorithm"},
                      Bad{"word", "'word'", "--name value"}, Bad{"-x", "'-x'", "--name value"}));

TEST(Simulate, RefusesHalfWrongClusterFiles) {
  const TemporaryFolder folder;
  const auto refused = [&](const char* text, const char* value, const char* allowed) {
    expect_refused({"simulate", "--cluster", folder.write("c.toml", text)}, value, allowed);
  };
  refused("workers = 4\nnetwrk = \"10gbe\"\n", "c.toml:2: key 'netwrk'", "did you mean 'network'?");
  refused("workers = \"4\"\n", "'4' is a text", "a whole number from 1 to 100000");
  refused("workers = 4\n[[worker]]\nrank = 4\n", "bad value 4", "from 0 to 3");
  refused("workers = 4\n[[fault]]\nkind = \"slow\"\nworker = 0\n", "'factor'", "missing");
  refused("workers = \n", "c.toml:1", "not TOML");
  refused("workers = 2\n[[worker]]\nrank = 1\njoins = 5\n", "worker 1 joins later", "allowed with ps");
  expect_refused({"simulate", "--workers", "3", "--cluster", folder.write("c.toml", "workers = 4\n")}, "'3'",
                 "already says");
}

TEST(Simulate, RefusesFoldersItCannotUse) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "mine");
  for (const char* more : {"--steps 2", "--steps 2 --seeds 1..2", "--steps 2 --force"}) {
    const auto refused = [&](const std::string& out, const std::string& why) {
      Words words = simulate(more);
      words.insert(words.end(), {"--out", out});
      expect_refused(words, concat("--out: '", out, "'"), why);
    };
    refused(file, "is not a folder");
    refused(file + "/below", "Not a directory");
    refused("/proc/starling", "cannot be created");
    if (more != std::string("--steps 2 --force")) refused(folder.path(), "is not empty; --force");
  }
  expect_refused({"simulate", "--out", ""}, "--out", "is empty");
  expect_refused({"simulate", "--force"}, "--force", "needs --out");
  EXPECT_EQ(files_in(folder.path()), "file");
  EXPECT_EQ(content_of(file), "mine");
}

TEST(Simulate, RefusesABadEnvironmentBeforeItCreatesAnything) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/run";
  const Ran ran = run_program({"simulate", "--out", out}, {"STARLING_ALLREDUCE=tree"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.err.find("starling: STARLING_ALLREDUCE: 'tree'"), 0U) << ran.err;
  EXPECT_FALSE(std::filesystem::exists(out));

  EXPECT_EQ(
      run_program({"simulate", "--steps", "2", "--out", out}, {"STARLING_ALLREDUCE=0-: ring"}).exit_code, 0);
  EXPECT_EQ(Json::parse(content_of(out + "/run.json"))["environment"],
            Json({{"STARLING_ALLREDUCE", "0-: ring"}}));
}

TEST(Simulate, AValueWithALineBreakIsRefusedInOneLine) {
  expect_refused({"simulate", "--steps", "5\n6"}, "'5?6'", "from 1 to");
}

}  // namespace
}  // namespace starling::cli
