// MG-WFBP (Shi, Chu and Li, INFOCOM 2019): as wfbp, but neighbours are merged where the model of the network
// says that it pays: where the next gradient is ready before the all-reduce of the present bucket would be
// over, and waiting for it costs less than another start-up. The first steps measure when gradients are ready
// and what an all-reduce costs.
#pragma once

#include "starling/strategy/schedule/ddp_schedule.h"

namespace starling::strategy {

class MgwfbpSchedule final : public DdpSchedule {
 public:
  MgwfbpSchedule(Worker& self, AgreedExchange& agreed, const TransferOptions& setting,
                 std::size_t first_bytes, const runtime::Context& context)
      : DdpSchedule(self, agreed, setting, first_bytes, context), ready_(self.sections().size()) {}

  void gradient_ready(std::size_t section) override;

 private:
  static constexpr int kMeasured = 5;  // steps

  std::uint64_t kind() const override { return 6; }
  bool may_replan() const override { return !merged_; }
  Task<collective::Buckets> replan() override;
  Task<collective::LinkCost> measure_cost();
  Task<double> time_of(std::size_t elements);

  std::vector<double> ready_;  // by section: sum of the seconds after the first one of the step
  std::optional<Time> first_;  // of this step
  std::uint64_t step_ = 0;
  int measured_ = 0;
  bool merged_ = false;
};

}  // namespace starling::strategy
