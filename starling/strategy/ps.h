// Parameter server: one server holds the model; a worker pushes its gradient, the server updates with the
// worker's learning rate, the worker gets the model back.
//
//   bsp  a version is made from the gradients of all n workers. With `backup` = b it is made from the first
//        n - b of them and a gradient that comes later is dropped (Chen, Pan, Monga, Bengio and Jozefowicz,
//        "Revisiting distributed synchronous SGD", 2016). With `balance` the workers' batches are in
//        proportion to their speeds (batch/balance.h): they report these to the server, which divides.
//   asp  every gradient is applied when it comes; nobody waits for anybody. Its learning rate is divided by
//        1 + its staleness (Zhang, Gupta, Lian and Liu, "Staleness-aware async-SGD for distributed deep
//        learning", IJCAI'16), so that n equal workers together move the model as one version of bsp does;
//        `scale` = none leaves the rate as it is.
//   ssp  as asp, but a worker may begin a step only while it is fewer than s steps ahead of the slowest (Ho
//        et al., "More effective distributed ML via a stale synchronous parallel parameter server", NIPS'13):
//        max_i c_i - min_j c_j <= s at every instant, c_i being the steps that worker i has finished.
//
// A mean is over samples where batches are unequal.
//
// With `compress-push` a worker sends its gradient as a code, with error feedback. With `compress-pull` the
// server sends, as a code, the difference of its model to what the worker has; it knows that, and what a code
// leaves out is part of the next difference.
//
// Bytes sent per worker and step: M, and 16 for weight and learning rate. The server sends and receives n M,
// which is the bottleneck.
//
// Nobody waits for a worker that dies or leaves; a worker that joins later receives the model and counts from
// the slowest worker's clock on. If the server dies, everyone ends with PeerLost.
#pragma once

#include <utility>

#include "starling/strategy/batch/balance.h"
#include "starling/strategy/compressed/compression_options.h"
#include "starling/strategy/registry.h"

namespace starling::strategy {

class ParameterServer final : public Strategy {
 public:
  enum class Mode { kBsp, kAsp, kSsp };
  struct Rules {
    Mode mode = Mode::kBsp;
    std::uint64_t staleness = 0;      // ssp
    int backup = 0;                   // bsp
    bool scale_by_staleness = false;  // asp
    BalanceRules balance = {};        // bsp, without backup
    CompressionRules push = {};       // not with backup, which drops what was sent
    CompressionRules pull = {};
  };

  ParameterServer(Rules rules, Placement placement) : rules_(std::move(rules)), placement_(placement) {}
  Task<> run(Worker& self) const override;
  bool lockstep() const override { return false; }
  bool equal_batches() const override { return !rules_.balance.by_speed; }
  Placement service() const override { return placement_; }
  // With backup workers one may be steps behind the others and yet be needed with them for a version.
  bool may_pause() const override { return rules_.backup == 0; }
  Task<> serve(Member& self) const override;

 private:
  Rules rules_;
  Placement placement_;
};

StrategyEntry ps_row();

// Of every row that has this server.
OptionSpec ps_scale_option();
OptionSpec ps_server_option();
Placement ps_placement(const Options& options);
std::vector<OptionSpec> ps_compression_options();
void read_ps_compression(const Options& options, std::string_view owner, ParameterServer::Rules& rules);
bool ps_sends_codes(const Options& options);
std::optional<std::uint64_t> ps_bytes_sent(const Options& options, const Shape& shape, Rank rank);

}  // namespace starling::strategy
