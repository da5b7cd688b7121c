// The names of the models, for code without LibTorch.
#pragma once

#include <string_view>

namespace starling::torch {

inline constexpr std::string_view kModelNames[] = {"mlp", "deep", "lenet", "cnn", "resnet20", "charlm"};

// Whether it learns text; the others learn pictures.
constexpr bool learns_text(std::string_view model) { return model == "charlm"; }

}  // namespace starling::torch
