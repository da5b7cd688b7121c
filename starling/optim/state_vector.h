// Zeros that an optimiser fills in as it goes. Pages that were never written cost no memory, so a worker that
// updates only its own shard of a vector pays only for the shard.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace starling::optim {

class StateVector {
 public:
  explicit StateVector(std::size_t count) : count_(count) {
    if (count == 0) return;
    // Not a std::vector, which would write the zeros.
    values_.reset(static_cast<float*>(std::calloc(count, sizeof(float))));
    if (!values_) throw std::bad_alloc();
  }

  std::span<float> span() const { return {values_.get(), count_}; }

 private:
  struct Free {
    void operator()(float* values) const { std::free(values); }
  };
  std::size_t count_;
  std::unique_ptr<float[], Free> values_;
};

}  // namespace starling::optim
