// A rank of the benchmark's MPI subject, in a process that has started MPI.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <vector>

#include "cli/peers/obey.h"

namespace starling::cli {

class MpiWorker final : public BenchWorker {
 public:
  MpiWorker() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }

  Rank rank() const { return rank_; }

  void prepare(const Job& job) override {
    data_ = {};  // the old vector is freed before the new one is made
    data_.resize(job.count());
    cut_slices(job.count());
    fill_input(job, rank_, ranks_, data_);
    perform(job);
    check_result(job, rank_, ranks_, data_);
    std::fill(data_.begin(), data_.end(), 0.0F);
  }

  double time(const Job& job, int iterations) override {
    MPI_Barrier(MPI_COMM_WORLD);
    const BenchClock watch;
    for (int i = 0; i < iterations; ++i) perform(job);
    return watch.microseconds() / iterations;
  }

 private:
  void cut_slices(std::size_t count) {
    counts_.clear();
    offsets_.clear();
    for (int i = 0; i < ranks_; ++i) {
      const Slice slice = slice_of(count, static_cast<std::size_t>(ranks_), static_cast<std::size_t>(i));
      counts_.push_back(static_cast<int>(slice.size()));
      offsets_.push_back(static_cast<int>(slice.begin));
    }
  }

  void perform(const Job& job) {
    const auto count = static_cast<int>(data_.size());
    switch (job.op) {
      case Op::kAllReduce:
        MPI_Allreduce(MPI_IN_PLACE, data_.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
      case Op::kBroadcast:
        MPI_Bcast(data_.data(), count, MPI_FLOAT, 0, MPI_COMM_WORLD);
        break;
      case Op::kAllGather:
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data_.data(), counts_.data(), offsets_.data(),
                       MPI_FLOAT, MPI_COMM_WORLD);
        break;
    }
  }

  int rank_ = 0;
  int ranks_ = 0;
  std::vector<float> data_;
  std::vector<int> counts_, offsets_;
};

}  // namespace starling::cli
