#include "starling/torch/stored_model.h"

#include <unordered_set>

#include "starling/core/error.h"

namespace starling::torch {

namespace {

const char* type_name(const std::string& name, const ::torch::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case ::torch::kFloat32:
      return "F32";
    case ::torch::kFloat64:
      return "F64";
    case ::torch::kInt64:
      return "I64";
    case ::torch::kInt32:
      return "I32";
    case ::torch::kUInt8:
      return "U8";
    case ::torch::kBool:
      return "BOOL";
    default:
      throw Error(concat("tensor ", name, " is ", ::torch::toString(tensor.scalar_type()),
                         ", which is not stored; allowed: float32, float64, int64, int32, uint8, bool"));
  }
}

}  // namespace

NamedTensors named_tensors(const ::torch::nn::Module& module) {
  NamedTensors all;
  std::unordered_set<const void*> seen;  // a parameter that modules share is stored once
  for (const auto& item : module.named_parameters()) {
    if (item.value().defined() && seen.insert(item.value().unsafeGetTensorImpl()).second)
      all.emplace_back(item.key(), item.value());
  }
  for (const auto& item : module.named_buffers()) {
    if (item.value().defined()) all.emplace_back(item.key(), item.value());
  }
  return all;
}

data::TensorFile to_tensor_file(const NamedTensors& tensors) {
  data::TensorFile file;
  for (const auto& [name, tensor] : tensors) {
    const ::torch::Tensor dense = tensor.detach().contiguous();
    const auto* const bytes = static_cast<const std::byte*>(dense.data_ptr());
    file.tensors.push_back({name,
                            type_name(name, dense),
                            {dense.sizes().begin(), dense.sizes().end()},
                            {bytes, bytes + dense.nbytes()}});
  }
  return file;
}

}  // namespace starling::torch
