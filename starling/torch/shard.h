// A worker's part of what a loader of LibTorch gives, as a range of batches.
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "starling/core/partition.h"
#include "starling/session/batch_assignment.h"
#include "starling/strategy/batch/portion.h"

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

// A part of a loader's batch.
template <class Batch>
Batch part_of(const Batch& batch, Slice slice) {
  if constexpr (requires { batch.data.size(0); }) {
    const auto cut = [&](const auto& tensor) {
      return tensor.narrow(0, static_cast<std::int64_t>(slice.begin),
                           static_cast<std::int64_t>(slice.size()));
    };
    Batch part = batch;
    part.data = cut(batch.data);
    if constexpr (requires { batch.target.size(0); }) part.target = cut(batch.target);
    return part;
  } else {
    const auto begin = batch.begin() + static_cast<std::ptrdiff_t>(slice.begin);
    return Batch(begin, begin + static_cast<std::ptrdiff_t>(slice.size()));
  }
}

// Batches of a loader put together. There is at least one.
template <class Batch>
Batch joined(const std::vector<Batch>& parts) {
  Batch whole = parts.front();
  if (parts.size() == 1) return whole;
  if constexpr (requires { whole.data.size(0); }) {
    std::vector<::torch::Tensor> data, targets;
    for (const Batch& part : parts) {
      data.push_back(part.data);
      if constexpr (requires { part.target.size(0); }) targets.push_back(part.target);
    }
    whole.data = ::torch::cat(data);
    if constexpr (requires { whole.target.size(0); }) whole.target = ::torch::cat(targets);
  } else {
    for (std::size_t i = 1; i < parts.size(); ++i)
      whole.insert(whole.end(), parts[i].begin(), parts[i].end());
  }
  return whole;
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
    if (session().again()) {
      batch_ = kept_;
    } else {
      session().options().dynamic_shards ? fetch_dynamic() : fetch_equal();
    }
    if (batch_) session().expect(samples_in(*batch_), static_cast<double>(samples_in(*batch_)) / usual_);
  }

  std::uint64_t shares() const { return *batches_ * session().pieces(); }

  // In a run that resumes.
  void skip_dynamic() {
    const std::optional<std::uint64_t> trained = session().shares_trained(shares());
    trained_before_ = !trained;
    for (std::uint64_t i = 0; i < trained.value_or(0); ++i) session().next_share(epoch_, shares());
  }

  // One of the next n batches, if there are so many: all workers have equally many.
  void fetch_equal() {
    do {
      batch_ = own_of_next();
    } while (batch_ && session().skip_batch());
  }

  std::optional<Batch> own_of_next() {
    std::vector<Batch> all;
    for (int worker = 0; worker < session().workers(); ++worker) {
      std::optional<Batch> batch = pull();
      if (!batch) return {};
      all.push_back(std::move(*batch));
    }
    const std::optional<strategy::Portion> portion = session().portion();
    Batch& own = all[static_cast<std::size_t>(session().rank())];
    usual_ = static_cast<double>(samples_in(own));
    return portion ? part_of_all(all, *portion) : std::optional(std::move(own));
  }

  // Of the global batch. Every worker has a sample at least.
  Batch part_of_all(const std::vector<Batch>& all, strategy::Portion portion) {
    std::size_t samples = 0, begin = 0;
    for (const Batch& batch : all) samples += samples_in(batch);
    const Slice own = portion.of(samples);
    std::vector<Batch> parts;
    for (const Batch& batch : all) {
      const std::size_t end = begin + samples_in(batch);
      const Slice both{std::max(begin, own.begin), std::min(end, own.end)};
      if (both.begin < both.end) parts.push_back(part_of(batch, {both.begin - begin, both.end - begin}));
      begin = end;
    }
    if (parts.empty()) parts.push_back(part_of(all.front(), {0, 0}));
    return joined(parts);
  }

  void fetch_dynamic() {
    while (!batch_ && session().more()) {
      if (!take_shares()) return;
      if (!batch_) session().idle_step();
    }
    if (session().pieces() > 1) kept_ = batch_;
  }

  // As many as the strategy wants to be computed as one. They need not have samples. False: the epoch is
  // over.
  bool take_shares() {
    std::vector<Batch> parts;
    std::uint64_t taken = 0;
    while (taken < session().together()) {
      const session::Share share = session().next_share(epoch_, shares());
      if (share.kind == session::Share::Kind::kEnd) break;
      ++taken;
      std::optional<Batch> part =
          share.kind == session::Share::Kind::kBatch ? take(share.batch) : std::nullopt;
      if (part) parts.push_back(std::move(*part));
    }
    if (!parts.empty()) batch_ = joined(parts);
    return taken > 0;
  }

  // The shares that a worker gets ascend, so a loader's batch is kept for the pieces that may follow. One
  // that has fewer samples than pieces has empty pieces, which are no batch.
  std::optional<Batch> take(std::uint64_t share) {
    const std::uint64_t pieces = session().pieces(), number = share / pieces;
    while (next_ <= number && (whole_ = pull())) {
    }
    if (next_ != number + 1 || !whole_) return {};
    usual_ = static_cast<double>(samples_in(*whole_));
    if (pieces == 1) return std::exchange(whole_, std::nullopt);
    const Slice piece = slice_of(samples_in(*whole_), pieces, share % pieces);
    return piece.empty() ? std::nullopt : std::optional(part_of(*whole_, piece));
  }

  std::reference_wrapper<Session> session_;
  std::reference_wrapper<std::remove_reference_t<decltype(loader_of(std::declval<Loader&>()))>> loader_;
  std::uint64_t epoch_;
  std::optional<std::uint64_t> batches_;
  std::optional<Source> source_;
  std::uint64_t next_ = 0;  // of the loader's batches
  std::optional<Batch> batch_;
  std::optional<Batch> kept_;    // the same, in case its step is dropped
  std::optional<Batch> whole_;   // the loader's batch that the last piece was of
  double usual_ = 1;             // samples of a batch
  bool trained_before_ = false;  // the whole epoch
};

}  // namespace starling::torch
