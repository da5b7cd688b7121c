// Something to train that has sections of any size.
#pragma once

#include <string>
#include <vector>

#include "starling/sim/workload.h"

namespace starling::testing {

// The gradient of element i is a mix of x_i, the worker and chance.
class Layers final : public sim::Workload {
 public:
  // Sections of these sizes, with `gap` unused elements in front of each but the first.
  explicit Layers(const std::vector<std::size_t>& counts, std::size_t gap = 0) {
    std::size_t offset = 0;
    for (const std::size_t count : counts) {
      if (!sections_.empty()) offset += gap;
      sections_.push_back({std::to_string(sections_.size()), offset, count});
      offset += count;
    }
  }

  const std::vector<strategy::Section>& sections() const override { return sections_; }
  std::size_t batch() const override { return 1; }
  void initialize(std::span<float> x, Random& random) const override {
    for (float& value : x) value = static_cast<float>(random.uniform());
  }
  double gradient(Rank worker, std::span<const float> x, std::span<float> gradient, std::size_t,
                  Random& random) const override {
    const auto own = static_cast<float>(worker + 1) / 8;
    const auto chance = static_cast<float>(random.uniform());
    for (const strategy::Section& section : sections_) {
      for (std::size_t i = section.offset; i < section.offset + section.count; ++i) {
        gradient[i] = own * x[i] - chance * static_cast<float>(i % 7);
      }
    }
    return 1;
  }
  sim::Evaluation evaluate(std::span<const float>) const override { return {1, {}}; }

 private:
  std::vector<strategy::Section> sections_;
};

}  // namespace starling::testing
