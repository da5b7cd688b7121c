// Message-based reductions work on a copy: in the accumulator type, so that 16-bit data is rounded once, at
// the end; multiplied by this member's weight for weighted means; and apart from the caller's data, so that a
// member whose exchange fails still holds its old data.
#pragma once

#include "starling/collective/collective.h"

namespace starling::collective {

// InvalidArgument for a mean of integers, for a weight that is negative or not finite, and for a group of one
// whose weight cannot be a divisor.
void check_reduction(const Group& group, DType type, Reduction how);

// How elements of two members become one on the way; division comes at the end.
ReduceOp operation_of(Reduction how);

// The sum of the weights from left to right, rounded to the accumulator of `type`. InvalidArgument unless the
// outcome is finite and above 0.
double divisor_of(std::span<const double> weights, DType type);

// The divisor of the reduced sum; 1 if there is none. For weighted means the members exchange their weights
// (doubling_all_gather of one float64 each), which are summed in group order.
Task<double> exchange_divisor(Transport& net, const Group& group, DType type, Reduction how, Tag tag);

// Memory for the working data of an exchange beside `data`; a ghost if that is one.
transport::Memory scratch_for(Transport& net, const Data& data, std::size_t bytes);

class Stage {
 public:
  Stage(Transport& net, Data data, Reduction how);

  // The copy, for the exchange.
  Data copy() const { return copy_; }

  // Divides elements [begin, end) of the copy and writes them to the caller's data. Once only.
  void write_back(std::size_t begin, std::size_t end, double divisor);

 private:
  Data data_;
  transport::Memory memory_;
  Data copy_;
};

}  // namespace starling::collective
