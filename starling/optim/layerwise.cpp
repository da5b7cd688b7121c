#include "starling/optim/layerwise.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "starling/core/error.h"
#include "starling/optim/check.h"

namespace starling::optim {
namespace {

void check_cover(std::string_view kind, const Tensors& tensors, std::size_t count) {
  std::size_t end = 0;
  for (const TensorPlace& tensor : tensors) {
    const Slice elements = tensor.elements;
    if (elements.begin != end || elements.end < elements.begin) break;
    end = elements.end;
  }
  if (end == count && (tensors.empty() || tensors.back().elements.end == count)) return;
  throw InvalidArgument(concat(kind, " scales by tensor, and the ", tensors.size(),
                               " tensors it was given cover ", end, " of ", count,
                               " elements; allowed: the tensors of the whole vector, in order"));
}

Slice common_part(Slice a, Slice b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

double squares_in(std::span<const float> values, Slice part) {
  double sum = 0;
  for (std::size_t i = part.begin; i < part.end; ++i) sum += static_cast<double>(values[i]) * values[i];
  return sum;
}

}  // namespace

LayerwiseOptimizer::LayerwiseOptimizer(const OptimizerSpec& spec, std::size_t count, Tensors tensors)
    : Optimizer(spec.clip_norm), spec_(spec), count_(count), tensors_(std::move(tensors)), own_(squares()) {
  check(spec);
  check_cover(name_of(spec.kind), tensors_, count);
}

// The numbers of the tensors that have elements in the part.
Slice LayerwiseOptimizer::tensors_in(Slice part) const {
  if (part.empty()) return {};
  const auto before = [&](const TensorPlace& tensor) { return tensor.elements.end <= part.begin; };
  const auto begins = [&](const TensorPlace& tensor) { return tensor.elements.begin < part.end; };
  const auto first = std::partition_point(tensors_.begin(), tensors_.end(), before);
  const auto last = std::partition_point(first, tensors_.end(), begins);
  return {static_cast<std::size_t>(first - tensors_.begin()),
          static_cast<std::size_t>(last - tensors_.begin())};
}

void LayerwiseOptimizer::check_whole(Slice part, Slice tensors) const {
  for (std::size_t t = tensors.begin; t < tensors.end; ++t) {
    const Slice elements = tensors_[t].elements;
    if (common_part(elements, part) == elements) continue;
    throw InvalidArgument(concat(name_of(spec_.kind), " was to update the elements [", part.begin, ", ",
                                 part.end, "), which cut the tensor [", elements.begin, ", ", elements.end,
                                 "); allowed: whole tensors, or after set_squares()"));
  }
}

void LayerwiseOptimizer::add_squares(Slice part, std::span<const float> x, std::span<const float> gradient,
                                     std::span<double> sums) const {
  check_apply(part, count_, x, gradient, steps());
  const Slice tensors = tensors_in(part);
  for (std::size_t t = tensors.begin; t < tensors.end; ++t) {
    if (tensors_[t].excluded) continue;
    const Slice piece = common_part(tensors_[t].elements, part);
    sums[2 * t] += squares_in(x, piece);
    sums[2 * t + 1] += squares_of_direction(piece, x, gradient);
  }
}

void LayerwiseOptimizer::set_squares(std::span<const double> sums) {
  if (sums.size() != squares()) {
    throw InvalidArgument(concat("an optimizer for ", tensors_.size(), " tensors was given ", sums.size(),
                                 " sums of squares; allowed: ", squares()));
  }
  squares_.assign(sums.begin(), sums.end());
}

LayerwiseOptimizer::Terms LayerwiseOptimizer::terms(std::size_t tensor, std::span<const double> sums) const {
  if (tensors_[tensor].excluded) return {static_cast<float>(spec_.learning_rate), 0};
  const double weights = std::sqrt(sums[2 * tensor]), direction = std::sqrt(sums[2 * tensor + 1]);
  const double scale = weights > 0 && direction > 0 ? ratio(weights, direction) : 1;
  return {static_cast<float>(spec_.learning_rate * scale), static_cast<float>(spec_.weight_decay)};
}

void LayerwiseOptimizer::apply(Slice part, std::span<float> x, std::span<const float> gradient) {
  check_apply(part, count_, x, gradient, steps());
  const Slice tensors = tensors_in(part);
  if (squares_.empty()) {
    check_whole(part, tensors);
    std::fill(own_.begin() + static_cast<std::ptrdiff_t>(2 * tensors.begin),
              own_.begin() + static_cast<std::ptrdiff_t>(2 * tensors.end), 0.0);
    add_squares(part, x, gradient, own_);
  }
  const std::vector<double>& sums = squares_.empty() ? own_ : squares_;
  for (std::size_t t = tensors.begin; t < tensors.end; ++t) {
    const Terms terms = this->terms(t, sums);
    move(common_part(tensors_[t].elements, part), terms.rate, terms.decay, x, gradient);
  }
}

void LayerwiseOptimizer::set_learning_rate(double rate) {
  check_not_negative("learning rate", rate);
  spec_.learning_rate = rate;
}

}  // namespace starling::optim
