// Bad input to `starling train`: one line that names the value and what is allowed, exit code 2, nothing
// printed, nothing created, no worker started.
#include "starling/data/idx.h"
#include "tests/cli/bad_input.h"
#include "tests/cli/train_runs.h"

namespace starling::cli {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

class BadTraining : public ::testing::TestWithParam<Bad> {};

TEST_P(BadTraining, IsRefused) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/run";
  expect_refused(train(concat(GetParam().flags, " --out ", out)), GetParam().value, GetParam().allowed);
  EXPECT_FALSE(fs::exists(out));
}

INSTANTIATE_TEST_SUITE_P(
    Run, BadTraining,
    ::testing::Values(
        Bad{"--steps 0", "'0'", "from 1 to 1000000000"}, Bad{"--steps 3 --steps 4", "--steps", "received 2"},
        Bad{"--steps=", "--steps: ''", "from 1 to"}, Bad{"--epochs 0", "--epochs: '0'", "from 1 to"},
        Bad{"--max-seconds 0", "--max-seconds: '0'", "from 0.001"},
        Bad{"--max-seconds -1", "'-1'", "from 0.001"},
        Bad{"--target-accuracy 2", "--target-accuracy: '2'", "from 0 to 1"},
        Bad{"--target-loss low", "--target-loss: 'low'", "a number from"},
        Bad{"--target-loss 1 --target-accuracy 0.5", "--target-loss and --target-accuracy", "one of them"},
        Bad{"--no-stop", "--no-stop", "with --target-loss or --target-accuracy"},
        Bad{"--eval sometimes", "'sometimes'", "after, now"},
        Bad{"--eval after --target-accuracy 0.5", "--eval after", "with --no-stop"},
        Bad{"--eval-every 0", "--eval-every: '0'", "more than 0"},
        Bad{"--eval-points 0", "--eval-points: '0'", "from 1 to 64"},
        Bad{"--check-sync 0", "--check-sync: '0'", "from 1 to"},
        Bad{"--checkpoint-every 0", "--checkpoint-every: '0'", "from 1 to"},
        Bad{"--seed -1", "--seed: '-1'", "from 0 to"}, Bad{"--stpes 5", "--stpes", "did you mean --steps?"},
        Bad{"word", "'word'", "--name value"}));

INSTANTIATE_TEST_SUITE_P(
    Learning, BadTraining,
    ::testing::Values(
        Bad{"--model vgg", "'vgg'", "mlp, deep, lenet, cnn, resnet20, charlm"},
        Bad{"--model=", "unknown model ''", "mlp, deep, lenet"},
        Bad{"--model charlm", "charlm learns text", "glyphs is pictures"},
        Bad{"--data glyph", "'glyph'", "did you mean 'glyphs'?"}, Bad{"--data mnist", "'mnist'", "mnist:DIR"},
        Bad{"--data mnist:/nonexistent", "'/nonexistent'", "no folder"},
        Bad{"--data cifar10:/nonexistent", "'/nonexistent'", "no folder"},
        Bad{"--model charlm --data text:/nonexistent", "'/nonexistent'", "No such file"},
        Bad{"--shards some", "'some'", "equal, dynamic"}, Bad{"--batch 0", "'0'", "from 1 to 1000000"},
        Bad{"--batch many", "'many'", "whole number"},
        Bad{"--batch 3001", "3001 samples for each of 4 workers", "at most the 12000 samples"},
        Bad{"--optimizer lion", "'lion'", "sgd, adam, adamw"}, Bad{"--lr -1", "--lr: '-1'", "from 0"},
        Bad{"--momentum 2", "--momentum: '2'", "from 0 to 1"},
        Bad{"--momentum 0.9 --optimizer adam", "--momentum: '0.9'", "allowed with sgd"},
        Bad{"--nesterov --optimizer adamw", "--nesterov", "allowed with sgd"},
        Bad{"--nesterov --momentum 0", "momentum 0", "momentum above 0"},
        Bad{"--weight-decay -1", "--weight-decay: '-1'", "from 0"},
        Bad{"--warmup -1", "--warmup: '-1'", "from 0 to"},
        Bad{"--warmup 5min", "--warmup: '5min'", "or of epochs from 0 to 100000, as in 5epochs"},
        Bad{"--trust 0.02", "--trust: '0.02'; sgd has none", "allowed with lars"},
        Bad{"--trust -1 --optimizer lars", "--trust: '-1'", "from 0"},
        Bad{"--exclude none --optimizer adam", "--exclude: 'none'; adam has none", "allowed with lars, lamb"},
        Bad{"--exclude biases --optimizer lars", "--exclude: 'biases'", "vectors, none"},
        Bad{"--momentum 0.9 --optimizer lamb", "--momentum: '0.9'; lamb has none", "allowed with sgd, lars"},
        Bad{"--nesterov --optimizer lars --momentum 0", "momentum 0", "momentum above 0"},
        Bad{"--scale-lr root", "--scale-lr: unknown rule 'root'", "none, linear, sqrt"},
        Bad{"--lr-power 2", "--lr-power: '2'", "with --lr-schedule polynomial"},
        Bad{"--lr-end 0.1 --lr-schedule cosine", "--lr-end: '0.1'", "with --lr-schedule polynomial"},
        Bad{"--lr-end 0.1 --lr 0.01 --lr-schedule polynomial", "--lr-end: '0.1'",
            "at most the learning rate, 0.01"},
        Bad{"--lr-schedule polynomial --max-seconds 3", "'polynomial'", "--epochs or --steps"},
        Bad{"--lr-schedule line", "'line'", "constant, step, cosine, polynomial"},
        Bad{"--lr-schedule cosine --max-seconds 3", "'cosine'", "--epochs or --steps"}));

INSTANTIATE_TEST_SUITE_P(
    Workers, BadTraining,
    ::testing::Values(
        Bad{"--workers 0", "--workers: '0'", "from 1 to 255"},
        Bad{"--workers 256", "--workers: '256'", "from 1 to 255"},
        Bad{"--threads 0", "--threads: '0'", "from 1 to"}, Bad{"--slow 9:2", "'9:2'", "workers 0 to 3"},
        Bad{"--slow 0", "'0'", "WORKER:FACTOR"}, Bad{"--slow 0:2,9:2", "'9:2'", "workers 0 to 3"},
        Bad{"--pause 1", "'1'", "WORKER@FROM"}, Bad{"--kill 0", "'0'", "WORKER@AT"},
        Bad{"--kill 4@1s", "'4@1s'", "workers 0 to 3"}, Bad{"--jitter normal:99", "'normal:99'", "0 to 10"},
        Bad{"--jitter-span 5", "'5'", "--jitter"}, Bad{"--jitter much", "'much'", "exponential"},
        Bad{"--pace 0", "'0'", "more than 0"}, Bad{"--pace fast", "'fast'", "ns, us, ms"},
        Bad{"--link fast", "'fast'", "1gbe, 10gbe"}, Bad{"--link 1gbit/x", "'x'", "a duration"}));

INSTANTIATE_TEST_SUITE_P(
    Strategy, BadTraining,
    ::testing::Values(
        Bad{"--strategy nope", "'nope'", "allreduce, dear, local-sgd, noloco, ps, dpsgd"},
        Bad{"--strategy alreduce", "'alreduce'", "did you mean 'allreduce'?"},
        Bad{"--mode asp", "--mode is an option of strategy ps", "--algorithm, --schedule"},
        Bad{"--strategy ps --mode tsp", "'tsp'", "bsp, asp, ssp"},
        Bad{"--strategy hogwild --link 1gbe", "strategy hogwild", "all workers on one host"},
        Bad{"--strategy easgd --centre shared --link 1gbe", "centre=shared", "on one host"},
        Bad{"--strategy easgd --alpha 0.1 --rho 2", "rho: 2 beside alpha 0.1", "one of the two"},
        Bad{"--strategy easgd --order sync --centre server", "option centre", "async or round-robin"},
        Bad{"--nonfinite ignore", "--nonfinite: 'ignore'", "allowed: skip, stop"},
        Bad{"--servers 1", "--servers: '1'", "allowed with ps"},
        Bad{"--servers 2 --strategy ps", "--servers: '2'", "from 0 to 1"},
        Bad{"--check-sync 3 --strategy dpsgd", "--check-sync", "allowed: allreduce"},
        Bad{"--strategy dpsgd --graph star", "'star'", "ring, torus"},
        Bad{"--strategy ripples --section 3", "--section:", "spelt --period"},
        Bad{"--schedule ddp --fusion many", "'many'", "default, auto"}));

TEST(TrainErrors, RefusesDataThatIsDamagedOrOfTheWrongKind) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/run";
  const std::string text = "text:" + folder.write("text", std::string(9000, 'a') + std::string(9000, 'b'));
  for (const std::string_view file : data::kIdxFiles) folder.write(file, "not IDX");
  expect_refused(train(concat("--data mnist:", folder.path(), " --out ", out)),
                 folder.path() + "/train-images-idx3-ubyte", "IDX");
  expect_refused(train(concat("--model lenet --data ", text, " --out ", out)), "lenet learns pictures",
                 "is text");
  EXPECT_FALSE(fs::exists(out));
}

TEST(TrainErrors, RefusesFoldersItCannotUse) {
  STARLING_NEEDS_TRAINER();
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "mine");
  expect_refused(train("--out " + folder.path()), concat("'", folder.path(), "'"), "is not empty; --force");
  expect_refused(train("--out " + file), concat("'", file, "'"), "is not a folder");
  expect_refused(train("--out /proc/starling"), "'/proc/starling'", "cannot be created");
  expect_refused(train("--force"), "--force", "needs --out");
  expect_refused(train("--checkpoint-every 3"), "--checkpoint-every", "needs --out");
  EXPECT_EQ(files_below(folder.path()), (Words{"file"}));
  EXPECT_EQ(bytes_of(file), "mine");
}

TEST(TrainErrors, RefusesToGoOnFromWhatIsNoCheckpoint) {
  const TemporaryFolder folder;
  const std::string empty = folder.path() + "/empty", missing = folder.path() + "/missing";
  fs::create_directory(empty);
  expect_refused(train("--resume " + empty), empty + "/checkpoints/latest.json", "no checkpoint");
  expect_refused(train("--resume " + missing), missing + "/checkpoints/latest.json", "no checkpoint");
  expect_refused(train(concat("--resume ", empty, " --out ", folder.path(), "/new")),
                 empty + "/checkpoints/latest.json", "no checkpoint");
  EXPECT_TRUE(fs::is_empty(empty));
  fs::create_directory(empty + "/checkpoints");
  folder.write("empty/checkpoints/latest.json", "{\"step\": ");
  expect_refused(train("--resume " + empty), empty + "/checkpoints/latest.json", "is damaged");
  EXPECT_EQ(files_below(folder.path()), (Words{"empty/checkpoints/latest.json"}));
}

TEST(TrainErrors, RefusesToGoOnWithAnotherRun) {
  STARLING_NEEDS_TRAINER();
  const TemporaryFolder folder;
  const std::string run = folder.path() + "/run";
  const std::string data = few_pictures(folder);
  const std::string flags = concat("--model mlp --workers 2 --steps 2", data);
  train_into(run, flags + " --checkpoint-every 2");
  const std::string model = model_of(run);
  const Words files = files_below(run);
  for (const auto& [other, value, saved] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"--model lenet --workers 2", "model mlp", "this run has lenet"},
           {"--model mlp --workers 3", "workers 2", "this run has 3"},
           {"--model mlp --workers 2 --batch 16", "batch 32", "this run has 16"},
           {"--model mlp --workers 2 --seed 2", "seed 1", "this run has 2"},
           {"--model mlp --workers 2 --optimizer adam", "optimizer sgd", "this run has adam"},
           {"--model mlp --workers 2 --strategy dpsgd", "strategy allreduce", "this run has dpsgd"},
           {"--model mlp --workers 2 --algorithm ring", "strategy options ", "algorithm=ring"}}) {
    expect_refused(train(concat(other, data, " --steps 4 --resume ", run)), value, saved);
  }
  // As many pictures, one of them another.
  std::fstream pictures(folder.path() + "/pictures/train-images-idx3-ubyte",
                        std::ios::in | std::ios::out | std::ios::binary);
  ASSERT_TRUE(pictures.is_open());
  pictures.seekp(1000);
  pictures.put('x');
  pictures.close();
  expect_refused(train(concat("--model mlp --workers 2 --steps 4 --resume ", run, data)), "data #",
                 "this run has #");
  EXPECT_EQ(files_below(run), files);
  EXPECT_EQ(model_of(run), model);
}

TEST(TrainErrors, RefusesWhatContradictsTheLauncher) {
  const auto refusal = [](const std::string& flags, const Words& environment) {
    const Ran ran = run_program(train(flags), environment);
    EXPECT_EQ(ran.exit_code, 2) << flags;
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  const Words first{"RANK=0", "WORLD_SIZE=3", "LOCAL_WORLD_SIZE=3", "MASTER_PORT=29500"};
  const std::string started =
      "started by torchrun: RANK=0 of WORLD_SIZE=3, all on this host (LOCAL_WORLD_SIZE=3)\n";
  EXPECT_EQ(refusal("--workers 4", first), "starling: --workers: '4'; 3 ranks train of those " + started);
  EXPECT_EQ(refusal("--workers 3 --strategy ps", first),
            "starling: --workers: '3'; 2 ranks train of those " + started);
  EXPECT_EQ(
      refusal("--link 1gbe", first),
      "starling: --link: '1gbe'; allowed where starling train starts the workers itself, and these were " +
          started);
  EXPECT_EQ(
      refusal("--steps 3", {"RANK=0"}),
      "starling: RANK=0 is set and WORLD_SIZE is not; torchrun sets both, and without it neither may be "
      "set\n");
  Words second = first;
  second[0] = "RANK=1";
  EXPECT_EQ(refusal("--steps 0", second), "") << "the first says it";
}

}  // namespace
}  // namespace starling::cli
