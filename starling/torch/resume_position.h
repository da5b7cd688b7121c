// Where in the data a run that resumes goes on. Every worker had made the same number of steps.
#pragma once

#include <cstdint>
#include <optional>

#include "starling/core/types.h"

namespace starling::torch {

class ResumePosition {
 public:
  enum class Shares {
    kEqual,            // each worker gets floor(batches / workers) of an epoch
    kDynamicLockstep,  // by demand; the last round of an epoch has batches for some workers only
    kDynamic,          // by demand; workers need not be in the same epoch
  };

  ResumePosition() = default;
  ResumePosition(std::uint64_t steps, Rank rank, int workers, Shares shares)
      : steps_(steps),
        rank_(static_cast<std::uint64_t>(rank)),
        workers_(static_cast<std::uint64_t>(workers)),
        shares_(shares) {}

  // How many shares of the next epoch, which has so many batches, this worker has had. None: all of them,
  // and the question is then for the epoch after.
  std::optional<std::uint64_t> in_epoch(std::uint64_t batches) {
    const std::uint64_t made = shares_ == Shares::kDynamic ? steps_ * workers_ : steps_;
    const std::uint64_t whole = shares_ == Shares::kDynamic ? batches
                                : shares_ == Shares::kEqual ? batches / workers_
                                                            : (batches + workers_ - 1) / workers_;
    const std::uint64_t begun = made - had_;
    if (begun >= whole) {
      had_ += whole;
      return {};
    }
    had_ = made;
    if (shares_ != Shares::kDynamic) return begun;
    // It is not known who had how many, and it does not matter: together they had all.
    return begun / workers_ + (rank_ < begun % workers_ ? 1 : 0);
  }

  // One share at a time, where the epochs' lengths are not known: whether there is one more to leave out.
  bool skip_one() {
    if (had_ >= steps_) return false;
    ++had_;
    return true;
  }

 private:
  std::uint64_t steps_ = 0;
  std::uint64_t rank_ = 0;
  std::uint64_t workers_ = 1;
  Shares shares_ = Shares::kEqual;
  std::uint64_t had_ = 0;  // of the steps, or of all workers' batches, in epochs before
};

}  // namespace starling::torch
