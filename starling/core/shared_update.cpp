#include "starling/core/shared_update.h"

#include <cassert>

#include "starling/core/combine.h"

namespace starling {

void elastic_step(std::span<float> centre, std::span<float> x, float alpha) {
  assert(centre.size() == x.size());
  detail::active_kernels().elastic_step(centre.data(), x.data(), alpha, x.size());
}

void elastic_difference(std::span<float> centre, std::span<const float> x, float alpha,
                        std::span<float> difference) {
  assert(centre.size() == x.size() && difference.size() == x.size());
  detail::active_kernels().elastic_difference(centre.data(), x.data(), alpha, difference.data(), x.size());
}

void merge_change(std::span<float> shared, std::span<float> x, std::span<float> before) {
  assert(shared.size() == x.size() && before.size() == x.size());
  detail::active_kernels().merge_change(shared.data(), x.data(), before.data(), x.size());
}

}  // namespace starling
