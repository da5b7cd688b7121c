#include "starling/torch/replica.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "starling/core/error.h"

namespace starling::torch {

namespace {

using ::torch::Tensor;

// The type of the pointer differs between versions of LibTorch.
using Accumulator = decltype(::torch::autograd::impl::grad_accumulator(std::declval<const Tensor&>()));

void check_parameter(const std::string& name, const Tensor& tensor) {
  const std::string what = concat("parameter ", name);
  if (tensor.scalar_type() != ::torch::kFloat32) {
    throw InvalidArgument(
        concat(what, " is ", ::torch::toString(tensor.scalar_type()), "; allowed: float32"));
  }
  if (!tensor.device().is_cpu()) {
    throw InvalidArgument(concat(what, " is on ", tensor.device().str(), "; allowed: the CPU"));
  }
  if (tensor.layout() != ::torch::kStrided) {
    throw InvalidArgument(concat(what, " is sparse; allowed: a dense tensor"));
  }
}

// A tensor that is sent as bytes must be contiguous.
void check_bytes(const std::string& name, const Tensor& tensor) {
  if (!tensor.device().is_cpu() || !tensor.is_non_overlapping_and_dense()) {
    throw InvalidArgument(concat(name,
                                 " is not trained and is no dense tensor on the CPU, so it cannot be made "
                                 "the same everywhere"));
  }
}

std::span<std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()};
}

Tensor view_of(std::span<float> flat, const strategy::Section& section, const Tensor& like) {
  return ::torch::from_blob(flat.data() + section.offset, like.sizes(), ::torch::kFloat32);
}

}  // namespace

struct Replica::Hooks {
  std::vector<std::pair<Accumulator, std::uintptr_t>> installed;
};

Replica::Replica(::torch::nn::Module& module) : hooks_(std::make_unique<Hooks>()) {
  std::unordered_set<const void*> seen;
  for (const auto& item : module.named_parameters()) {
    const Tensor& tensor = item.value();
    if (!tensor.defined() || !seen.insert(tensor.unsafeGetTensorImpl()).second) continue;
    if (!tensor.requires_grad()) {
      check_bytes(item.key(), tensor);
      frozen_.emplace_back(item.key(), tensor);
      continue;
    }
    check_parameter(item.key(), tensor);
    const auto count = static_cast<std::size_t>(tensor.numel());
    section_of_.emplace(tensor.unsafeGetTensorImpl(), sections_.size());
    const std::size_t rows = tensor.dim() <= 1 ? 1 : static_cast<std::size_t>(tensor.size(0));
    sections_.push_back({item.key(), size_, count, tensor.dim() <= 1, rows});
    parameters_.push_back(tensor);
    size_ += count;
  }
  left_out_.resize(sections_.size());
  if (size_ == 0) throw InvalidArgument("the model has no parameter that needs a gradient");
  for (const auto& item : module.named_buffers()) {
    if (!item.value().defined()) continue;
    check_bytes(item.key(), item.value());
    buffers_.emplace_back(item.key(), item.value());
  }
}

// The views and the hooks go with the replica; the module keeps its values in memory of its own.
Replica::~Replica() {
  for (auto& [accumulator, key] : hooks_->installed) accumulator->del_post_hook(key);
  if (gradients_.empty()) return;
  const ::torch::NoGradGuard no_grad;
  for (Tensor& parameter : parameters_) {
    parameter.mutable_grad() = Tensor();
    parameter.set_data(parameter.detach().clone());
  }
}

std::vector<std::size_t> Replica::sections_of(const ::torch::nn::Module& module) const {
  std::vector<std::size_t> sections;
  for (const Tensor& parameter : module.parameters()) {
    const auto found = section_of_.find(parameter.unsafeGetTensorImpl());
    if (found != section_of_.end()) sections.push_back(found->second);
  }
  std::sort(sections.begin(), sections.end());
  sections.erase(std::unique(sections.begin(), sections.end()), sections.end());
  return sections;
}

bool Replica::holds(const Tensor& parameter) const {
  return section_of_.contains(parameter.unsafeGetTensorImpl());
}

std::vector<float> Replica::values() const {
  std::vector<float> values(size_);
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    const Tensor dense = parameters_[i].detach().contiguous();
    std::copy_n(dense.data_ptr<float>(), sections_[i].count, values.data() + sections_[i].offset);
  }
  return values;
}

NamedTensors Replica::named(std::span<const float> flat) const {
  NamedTensors all;
  std::size_t offset = 0;
  const auto take = [&](const std::string& name, const Tensor& like) {
    const auto count = static_cast<std::size_t>(like.numel());
    if (offset + count > flat.size()) throw Error("a flat model is shorter than the module");
    const Tensor tensor = ::torch::empty(like.sizes(), ::torch::kFloat32);
    std::copy_n(flat.data() + offset, count, tensor.data_ptr<float>());
    offset += count;
    all.emplace_back(name, tensor);
  };
  for (std::size_t i = 0; i < sections_.size(); ++i) take(sections_[i].name, parameters_[i]);
  for (const auto& [name, tensor] : frozen_) all.emplace_back(name, tensor.detach().clone());
  for (const auto& [name, buffer] : buffers_) {
    if (buffer.scalar_type() == ::torch::kFloat32) {
      take(name, buffer);
    } else {
      all.emplace_back(name, buffer.detach().clone());
    }
  }
  return all;
}

std::vector<std::span<float>> Replica::extras() const {
  std::vector<std::span<float>> result;
  for (const auto& [name, buffer] : buffers_) {
    if (buffer.scalar_type() != ::torch::kFloat32) continue;
    result.emplace_back(buffer.data_ptr<float>(), static_cast<std::size_t>(buffer.numel()));
  }
  return result;
}

std::vector<std::span<std::byte>> Replica::fixed() const {
  std::vector<std::span<std::byte>> result;
  for (const auto& [name, tensor] : frozen_) result.push_back(bytes_of(tensor));
  for (const auto& [name, buffer] : buffers_) {
    if (buffer.scalar_type() != ::torch::kFloat32) result.push_back(bytes_of(buffer));
  }
  return result;
}

void Replica::bind(std::span<float> parameters, std::span<float> gradients) {
  const ::torch::NoGradGuard no_grad;
  flat_gradients_ = gradients;
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    parameters_[i].set_data(view_of(parameters, sections_[i], parameters_[i]));
    gradients_.push_back(view_of(gradients, sections_[i], parameters_[i]));
    parameters_[i].mutable_grad() = gradients_[i];
    add_hook(i);
  }
  zero_gradients();
}

void Replica::add_hook(std::size_t section) {
  Accumulator accumulator = ::torch::autograd::impl::grad_accumulator(parameters_[section]);
  const auto key = accumulator->add_post_hook(std::make_unique<::torch::autograd::utils::LambdaPostHook>(
      [this, section](const ::torch::autograd::variable_list& outputs,
                      const ::torch::autograd::variable_list&) {
        if (!left_out_[section]) collect(section);
        if (ready_) ready_(section);
        return outputs;
      }));
  hooks_->installed.emplace_back(std::move(accumulator), key);
}

void Replica::zero_gradients() {
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    left_out_[i] = !usable(i);
    if (left_out_[i]) {
      parameters_[i].mutable_grad() = Tensor();
    } else {
      zero(i);
    }
  }
}

void Replica::take_over(std::size_t section) {
  if (!left_out_[section]) return;
  left_out_[section] = false;
  zero(section);
}

void Replica::zero(std::size_t section) {
  const strategy::Section& place = sections_[section];
  const std::span<float> gradient = flat_gradients_.subspan(place.offset, place.count);
  std::memset(gradient.data(), 0, gradient.size_bytes());
  parameters_[section].mutable_grad() = gradients_[section];
}

void Replica::collect_gradients() {
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    if (!left_out_[i]) collect(i);
  }
}

void Replica::with_gradients_of(Slice part, const std::function<void()>& update) {
  std::vector<Tensor> before;
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    const strategy::Section& place = sections_[i];
    const bool inside = part.begin <= place.offset && place.offset + place.count <= part.end;
    before.push_back(std::exchange(parameters_[i].mutable_grad(), inside ? gradients_[i] : Tensor()));
  }
  update();
  for (std::size_t i = 0; i < sections_.size(); ++i) parameters_[i].mutable_grad() = std::move(before[i]);
}

void Replica::collect(std::size_t section) {
  Tensor& gradient = parameters_[section].mutable_grad();
  if (gradient.defined() && gradient.data_ptr() == gradients_[section].data_ptr()) return;
  const ::torch::NoGradGuard no_grad;
  if (gradient.defined()) {
    gradients_[section].copy_(gradient);
  } else {
    gradients_[section].zero_();
  }
  gradient = gradients_[section];
}

}  // namespace starling::torch
