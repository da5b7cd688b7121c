// Where in the data a run that resumes goes on. Every worker that lived had made the same number of steps;
// where batches are taken by demand, the checkpoint says what was given out.
#pragma once

#include <cstdint>
#include <optional>

#include "starling/core/types.h"
#include "starling/session/batch_assignment.h"

namespace starling::torch {

class ResumePosition {
 public:
  enum class Shares {
    kEqual,            // each worker gets floor(batches / workers) of an epoch
    kDynamicLockstep,  // by demand; all workers have had the same number of shares in an epoch
    kDynamic,          // by demand; workers need not be in the same epoch
  };

  ResumePosition() = default;
  ResumePosition(std::uint64_t steps, Rank rank, int workers, Shares shares,
                 session::SharePosition given = {})
      : steps_(steps),
        given_(given),
        rank_(static_cast<std::uint64_t>(rank)),
        workers_(static_cast<std::uint64_t>(workers)),
        shares_(shares) {}

  // How many shares of the next epoch, which has so many batches, this worker has had. None: all of them,
  // and the question is then for the epoch after.
  std::optional<std::uint64_t> in_epoch(std::uint64_t batches) {
    if (shares_ != Shares::kEqual) return given_in_epoch(batches);
    const std::uint64_t whole = batches / workers_, begun = steps_ - had_;
    if (begun >= whole) {
      had_ += whole;
      return {};
    }
    had_ = steps_;
    return begun;
  }

  // One share at a time, where the epochs' lengths are not known: whether there is one more to leave out.
  bool skip_one() {
    if (had_ >= steps_) return false;
    ++had_;
    return true;
  }

 private:
  // It is not known who had how many, and it does not matter: together they had all. In lockstep all must
  // have had as many; if workers were lost, a few batches may thus be given out again.
  std::optional<std::uint64_t> given_in_epoch(std::uint64_t batches) {
    const std::uint64_t epoch = epoch_++;
    if (epoch < given_.epoch || (epoch == given_.epoch && given_.batches >= batches)) return {};
    if (epoch > given_.epoch) return 0;
    const bool one_more = shares_ == Shares::kDynamic && rank_ < given_.batches % workers_;
    return given_.batches / workers_ + (one_more ? 1 : 0);
  }

  std::uint64_t steps_ = 0;
  session::SharePosition given_;
  std::uint64_t rank_ = 0;
  std::uint64_t workers_ = 1;
  Shares shares_ = Shares::kEqual;
  std::uint64_t had_ = 0;    // of the steps, in epochs before
  std::uint64_t epoch_ = 0;  // the next to ask for
};

}  // namespace starling::torch
