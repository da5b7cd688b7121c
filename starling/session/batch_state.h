// The user thread's reports about a batch while it computes it. Belongs to that thread.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "starling/core/partition.h"
#include "starling/strategy/section.h"

namespace starling::session {

// A computed batch.
struct Batch {
  std::size_t samples = 0;  // 0, a batch without data, only where batches may be unequal
  double loss = std::numeric_limits<double>::quiet_NaN();
  int pieces = 1;            // that were computed as one: up to Session::together()
  double learning_rate = 0;  // filled in by the session
};

class BatchState {
 public:
  void begin() {
    expected_.reset();
    rate_.reset();
    ready_.clear();
    used_.clear();
  }
  void expect(std::size_t samples) { expected_ = samples; }
  std::optional<std::size_t> expected() const { return expected_; }

  // The section's gradient is complete. InvalidArgument if there is no such section, Error if it was complete
  // before: the strategy may have sent it.
  void ready(std::size_t section, const std::vector<strategy::Section>& sections);

  // The forward pass is about to use these sections.
  void use(Slice sections, std::size_t all) {
    used_.resize(all);
    for (std::size_t i = sections.begin; i < sections.end; ++i) used_[i] = true;
  }
  // By section; empty: none was reported.
  const std::vector<bool>& used() const { return used_; }

  // The learning rate at the first gradient.
  std::optional<double> rate() const { return rate_; }
  void tell_rate(double rate) { rate_ = rate; }

  // InvalidArgument if the batch differs from what was announced; Error if its learning rate is not that of
  // the first gradient.
  void check(const Batch& batch, bool equal_batches) const;

 private:
  std::optional<std::size_t> expected_;
  std::optional<double> rate_;
  std::vector<bool> ready_;  // by section; empty: none
  std::vector<bool> used_;
};

}  // namespace starling::session
