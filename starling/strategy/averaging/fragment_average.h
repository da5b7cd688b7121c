// The averages of local SGD. The model is cut in fragments, which are averaged in turn, one in each window of
// period / fragments steps; usually there is one, the whole model.
//
// With a delay the exchange goes on while the worker makes its next steps, and what comes of it is applied to
// a model that has moved on (Douillard et al., "Streaming DiLoCo with overlapping communication", 2025). With
// T the common model of the outer optimiser and x_i the worker's, for the fragment whose turn it is:
//
//   `delay` steps before the end of the window   D = T - mean_i x_i is formed from the models of now
//   at the end of the window                     T makes its step with D;  x_i <- (1 - mix) T + mix x_i
//
// So the traffic of a period is spread over it: no more than a fragment is under way at a time.
//
// With compression the workers send codes of x_i - T, what their steps have made of the model that all had in
// common. With an outer optimiser, and topk+int4, that is SparseLoCo.
#pragma once

#include <deque>
#include <optional>

#include "starling/runtime/scope.h"
#include "starling/strategy/agreed_exchange.h"
#include "starling/strategy/averaging/outer_optimizer.h"
#include "starling/strategy/compressed/compressed_mean.h"

namespace starling::strategy {

struct FragmentRules {
  std::size_t fragments = 1;
  std::uint64_t delay = 0;  // steps
  double mix = 0;
  std::optional<OuterRule> outer;  // none: the mean is the next model
  collective::Choice algorithm = {};
  CompressionRules compression = {};

  // Whether models differ between workers even at the end of a window.
  bool stream() const { return fragments > 1 || delay > 0 || mix > 0; }
};

// Fragment `index` of so many: whole sections, about as many elements in each.
Slice fragment_of(const std::vector<Section>& sections, std::size_t fragments, std::size_t index);

class FragmentAverage final : public StepListener {
 public:
  // All of them must outlive it. The context is that of the task in whose frame it lives.
  FragmentAverage(Worker& self, AgreedExchange& agreed, const runtime::Context& context,
                  const FragmentRules& rules);

  // With a delay: the exchange of the fragment whose turn it is begins. All workers call it after the same
  // step.
  void begin();
  // Until the exchange is over and has been applied. The next fragment has its turn. `how` is for an exchange
  // that has not begun.
  Task<> finish(collective::Reduction how = collective::Reduction::mean());
  // At the end of a run: all workers get the mean of their models.
  Task<> make_one_model(collective::Reduction how = collective::Reduction::mean());

  // With a delay, steps are made with this as their listener, and it is told when they are computed.
  bool by_section() const override { return false; }
  void begins() override { computed_.reset(); }
  void computed() { computed_ = self_.now(); }
  Task<> settle() override;

 private:
  // Part of checkpoints.
  struct Turn {
    std::uint64_t fragment = 0;
    std::uint64_t round = 0;
    bool begun = false;
  };

  Data own_part();
  Data exchanged_part();
  void take_part();
  void prepare_codes();
  Task<> average(Data data, collective::Reduction how);
  Task<> average_coded(Data data, collective::Reduction how);
  Task<> average_beside(Data data);

  Worker& self_;
  AgreedExchange& agreed_;
  FragmentRules rules_;
  std::vector<Slice> parts_;
  std::deque<OuterOptimizer> outer_;  // by fragment
  std::deque<CompressedMean> coded_;  // by fragment; empty: models are sent
  Buffer common_;  // with codes, without an outer optimiser: the model that all had in common
  Buffer copy_;    // of the fragment under way, if the worker's own is used meanwhile or afterwards
  Turn turn_;
  std::optional<Time> computed_;  // of the last step; none: one is being computed
  runtime::Scope scope_;          // of the exchange beside the computing
};

}  // namespace starling::strategy
