// The centre in the common memory of a host. An exchange is one pass over the two models by the worker
// itself.
//
// Bytes sent: none.
#pragma once

#include "starling/strategy/centre/shared_model.h"

namespace starling::strategy {

class SharedCentre final : public Centre {
 public:
  // As for SharedModel.
  SharedCentre(Worker& self, const SharedModel::Rules& rules, const std::optional<Time>& computed)
      : model_(self, rules, computed) {}

  Task<> open() { return model_.open("centre"); }
  Task<> pull(Data model, float alpha, Data difference) override;
  // In one pass, without room for d.
  Task<> pull_both(Data model, float alpha, Data difference) override;
  Task<> leave() override;

 private:
  SharedModel model_;
};

}  // namespace starling::strategy
