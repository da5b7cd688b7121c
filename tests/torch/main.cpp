// The program of the tests is also the worker that some of them launch: LibTorch does not survive a fork.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

#include "tests/torch/worker.h"

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--worker") return starling::torch::run_worker(argv[2]);
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
