// A worker's part of what a loader of LibTorch gives, as a range of batches.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "starling/session/batch_assignment.h"

namespace starling::torch {

// The size of a loader's batch: an Example of stacked tensors, or a vector of examples.
template <class Batch>
std::size_t samples_in(const Batch& batch) {
  if constexpr (requires { batch.data.size(0); }) {
    return static_cast<std::size_t>(batch.data.size(0));
  } else {
    return batch.size();
  }
}

// While it lives, random numbers of LibTorch come from the seed; afterwards they continue as before.
class SeededRandom {
 public:
  explicit SeededRandom(std::uint64_t seed) : generator_(at::detail::getDefaultCPUGenerator()) {
    const std::lock_guard lock(generator_.mutex());
    before_ = generator_.get_state();
    generator_.set_current_seed(seed);
  }
  ~SeededRandom() {
    const std::lock_guard lock(generator_.mutex());
    generator_.set_state(before_);
  }
  SeededRandom(const SeededRandom&) = delete;
  SeededRandom& operator=(const SeededRandom&) = delete;

 private:
  at::Generator generator_;
  ::torch::Tensor before_;
};

template <class Session, class Loader>
class Shard {
  // A loader or a pointer to one.
  static auto& loader_of(Loader& loader) {
    if constexpr (requires { loader.begin(); }) {
      return loader;
    } else {
      return *loader;
    }
  }
  using Source = decltype(loader_of(std::declval<Loader&>()).begin());
  using Batch = std::decay_t<decltype(*std::declval<Source&>())>;

 public:
  Shard(Session& session, Loader& loader, std::uint64_t epoch, std::optional<std::uint64_t> batches)
      : session_(session), loader_(loader_of(loader)), epoch_(epoch), batches_(batches) {}

  // So that `for (auto& batch : *session.shard(loader))` reads as with a loader of LibTorch, and so that the
  // range lives as long as the loop.
  Shard operator*() && { return std::move(*this); }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = Batch*;
    using reference = Batch&;

    explicit Iterator(Shard& shard) : shard_(&shard) { ++*this; }
    Batch& operator*() const { return *shard_->batch_; }
    Batch* operator->() const { return &*shard_->batch_; }
    Iterator& operator++() {
      shard_->fetch();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return !shard_->batch_; }

   private:
    Shard* shard_;
  };

  Iterator begin() {
    if (session().options().dynamic_shards && !batches_) count();
    restart();
    if (session().options().dynamic_shards) skip_dynamic();
    return Iterator(*this);
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  Session& session() const { return session_.get(); }

  // The loader from its beginning, in the same order in all processes.
  void restart() {
    const SeededRandom seeded(session().options().seed * 0x9e3779b97f4a7c15ULL + epoch_);
    source_.emplace(loader_.get().begin());
    next_ = 0;
  }

  void count() {
    restart();
    std::uint64_t batches = 0;
    for (; *source_ != loader_.get().end(); ++*source_) ++batches;
    batches_ = batches;
  }

  // The loader's next batch, if there is one.
  std::optional<Batch> pull() {
    if (*source_ == loader_.get().end()) return {};
    std::optional<Batch> batch(std::move(**source_));
    ++*source_;
    ++next_;
    return batch;
  }

  void fetch() {
    batch_.reset();
    if (!session().more() || trained_before_) return;
    session().options().dynamic_shards ? fetch_dynamic() : fetch_equal();
    if (batch_) session().expect(samples_in(*batch_));
  }

  // In a run that resumes.
  void skip_dynamic() {
    const std::optional<std::uint64_t> shares = session().shares_trained(*batches_);
    trained_before_ = !shares;
    for (std::uint64_t i = 0; i < shares.value_or(0); ++i) session().next_share(epoch_, *batches_);
  }

  // One of the next n batches, if there are so many: all workers have equally many.
  void fetch_equal() {
    do {
      batch_ = own_of_next();
    } while (batch_ && session().skip_batch());
  }

  std::optional<Batch> own_of_next() {
    std::optional<Batch> own;
    for (int worker = 0; worker < session().workers(); ++worker) {
      std::optional<Batch> batch = pull();
      if (!batch) return {};
      if (worker == session().rank()) own = std::move(batch);
    }
    return own;
  }

  void fetch_dynamic() {
    for (;;) {
      const session::Share share = session().next_share(epoch_, *batches_);
      if (share.kind == session::Share::Kind::kEnd) return;
      if (share.kind == session::Share::Kind::kBatch) {
        while (next_ < share.batch && pull()) {
        }
        batch_ = pull();
        if (batch_) return;
      }
      session().idle_step();
      if (!session().more()) return;
    }
  }

  std::reference_wrapper<Session> session_;
  std::reference_wrapper<std::remove_reference_t<decltype(loader_of(std::declval<Loader&>()))>> loader_;
  std::uint64_t epoch_;
  std::optional<std::uint64_t> batches_;
  std::optional<Source> source_;
  std::uint64_t next_ = 0;  // of the loader's batches
  std::optional<Batch> batch_;
  bool trained_before_ = false;  // the whole epoch
};

}  // namespace starling::torch
