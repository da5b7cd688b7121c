#include "starling/core/shared_update.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "starling/core/random.h"
#include "tests/core/all_kernels.h"

namespace starling {
namespace {

using detail::all_kernels;
using detail::Kernels;

std::vector<float> random_floats(std::size_t count, Random& random) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

// Of every length: whole vectors and what is left of them.
TEST(SharedUpdate, EveryKernelGivesTheBitsOfTheFormulas) {
  constexpr float kAlpha = 0.3F;
  for (const Kernels* kernels : all_kernels()) {
    SCOPED_TRACE(kernels->name);
    for (std::size_t count = 0; count < 40; ++count) {
      Random random(count + 1);
      const std::vector<float> centre = random_floats(count, random), x = random_floats(count, random);
      std::vector<float> stepped_centre = centre, stepped = x, moved_centre = centre, difference(count);
      kernels->elastic_step(stepped_centre.data(), stepped.data(), kAlpha, count);
      kernels->elastic_difference(moved_centre.data(), x.data(), kAlpha, difference.data(), count);
      for (std::size_t i = 0; i < count; ++i) {
        const float d = kAlpha * (x[i] - centre[i]);
        EXPECT_EQ(stepped[i], x[i] - d);
        EXPECT_EQ(stepped_centre[i], centre[i] + d);
        EXPECT_EQ(difference[i], d);
        EXPECT_EQ(moved_centre[i], centre[i] + d);
      }
    }
  }
}

// Every other element has been changed by another rank.
TEST(SharedUpdate, AChangeIsAddedToTheChangesOfOthers) {
  for (const Kernels* kernels : all_kernels()) {
    SCOPED_TRACE(kernels->name);
    for (std::size_t count = 0; count < 40; ++count) {
      Random random(count + 1);
      const std::vector<float> before = random_floats(count, random), own = random_floats(count, random);
      std::vector<float> shared = before, x = own, was = before;
      for (std::size_t i = 0; i < count; i += 2) shared[i] += 1;
      const std::vector<float> others = shared;
      kernels->merge_change(shared.data(), x.data(), was.data(), count);
      for (std::size_t i = 0; i < count; ++i) {
        const float merged = i % 2 == 0 ? others[i] + (own[i] - before[i]) : own[i];
        EXPECT_EQ(shared[i], merged);
        EXPECT_EQ(x[i], merged);
        EXPECT_EQ(was[i], merged);
      }
    }
  }
}

// With alpha = 1 a rank and the centre swap their elements, which are 1 or 2: a float of which half was
// written would be neither.
TEST(SharedUpdate, RacingRanksTearNoElement) {
  constexpr std::size_t kCount = 3001;
  constexpr int kThreads = 3, kRounds = 300;
  std::vector<float> centre(kCount, 1.0F);
  std::vector<std::vector<float>> models(kThreads, std::vector<float>(kCount, 2.0F));
  std::vector<std::thread> threads;
  for (std::vector<float>& model : models) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) elastic_step(centre, model, 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  models.push_back(centre);
  for (const std::vector<float>& model : models) {
    for (const float element : model) ASSERT_TRUE(element == 1.0F || element == 2.0F) << element;
  }
}

}  // namespace
}  // namespace starling
