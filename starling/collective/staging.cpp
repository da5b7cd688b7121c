#include "starling/collective/staging.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "starling/collective/doubling.h"
#include "starling/core/error.h"

namespace starling::collective {

namespace {
using Kind = Reduction::Kind;
}  // namespace

void check_reduction(const Group& group, DType type, Reduction how) {
  if (how.kind != Kind::kMean && how.kind != Kind::kWeightedMean) return;
  if (!is_floating(type)) {
    throw InvalidArgument(concat("a mean needs a floating type, not ", name_of(type)));
  }
  if (how.kind != Kind::kWeightedMean) return;
  if (!std::isfinite(how.weight) || how.weight < 0) {
    throw InvalidArgument(concat("the weight ", how.weight, " is not a finite number of at least 0"));
  }
  if (group.size() == 1) divisor_of({&how.weight, 1}, type);
}

ReduceOp operation_of(Reduction how) {
  switch (how.kind) {
    case Kind::kMin:
      return ReduceOp::kMin;
    case Kind::kMax:
      return ReduceOp::kMax;
    default:
      return ReduceOp::kSum;
  }
}

double divisor_of(std::span<const double> weights, DType type) {
  const DType accumulator = accumulator_of(type);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double divisor = accumulator == DType::kFloat32 ? static_cast<float>(sum) : sum;
  if (std::isfinite(divisor) && divisor > 0) return divisor;
  throw InvalidArgument(concat("the weights ", join_texts(weights), " sum to ", divisor, " as ",
                               name_of(accumulator), "; a mean needs a finite sum above 0"));
}

Task<double> exchange_divisor(Transport& net, const Group& group, DType type, Reduction how, Tag tag) {
  if (how.kind == Kind::kMean) co_return static_cast<double>(group.size());
  if (how.kind != Kind::kWeightedMean) co_return 1.0;
  std::vector<double> weights(group.size());
  weights[index_in(group, net.rank())] = how.weight;
  const Data data(std::span<double>{weights});
  co_await doubling_all_gather(net, group, data, tag);
  co_return divisor_of(weights, type);
}

transport::Memory scratch_for(Transport& net, const Data& data, std::size_t bytes) {
  if (!data.ghost()) return net.allocate(bytes);
  return {std::span<std::byte>(static_cast<std::byte*>(nullptr), bytes), nullptr};
}

Stage::Stage(Transport& net, Data data, Reduction how)
    : data_(data), memory_(scratch_for(net, data, data.count * size_of(accumulator_of(data.type)))) {
  copy_ = Data(memory_.bytes.data(), data.count, accumulator_of(data.type));
  if (data.ghost()) return;
  convert(data.type, data.bytes, copy_.type, copy_.bytes, data.count);
  if (how.kind == Kind::kWeightedMean) scale(copy_.type, how.weight, copy_.bytes, copy_.count);
}

void Stage::write_back(std::size_t begin, std::size_t end, double divisor) {
  if (data_.ghost()) return;
  const Data result = copy_.part(begin, end);
  if (divisor != 1) divide(result.type, divisor, result.bytes, result.count);
  convert(result.type, result.bytes, data_.type, data_.part(begin, end).bytes, result.count);
}

}  // namespace starling::collective
