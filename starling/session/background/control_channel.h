// The control messages that the sessions of a run exchange beside the strategy: requests to stop, records,
// progress reports, snapshots. Belongs to the engine's thread, as its handlers do.
//
// Each kind has a tag of its own, so that a short message never waits behind a model. These messages are
// counted separately: they are not traffic of the strategy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "starling/core/byte_codec.h"
#include "starling/runtime/scope.h"
#include "starling/runtime/task.h"
#include "starling/transport/transport.h"

namespace starling::session {

class ControlChannel {
 public:
  enum class Kind : std::uint8_t {
    kEnding,
    kRecord,
    kRecordTaken,
    kRecordAsk,
    kStatus,
    kStatusTable,
    kModel,
    kModelTaken,
    kSnapshot,
    kCheckpoint,
    kKeptAsk,
    kKept,
    kMeanAsk,
    kMeanCopy,
    kFinalModel,
    kFinalMean,
    kRecordPartAsk,
    kConcluded,
    kModelHashes,
    kModelComparison,
  };
  using Handler = std::function<void(Rank from, Bytes bytes)>;

  explicit ControlChannel(transport::Transport& net) : net_(net) {}

  // Both before run(). Handlers do not wait; what they throw ends the run of this rank.
  void on(Kind kind, Handler handler) { handlers_[kind] = std::move(handler); }
  void on_loss(std::function<void()> handler) { loss_handlers_.push_back(std::move(handler)); }

  // Goes out in the background while run() runs, if need be when it begins; messages of one kind to one rank
  // arrive in order. One to itself is handled as others are, not inside the call; one to a rank that is lost
  // goes nowhere.
  void send(Rank to, Kind kind, Bytes bytes);
  // The same, until it has gone out: what this process does afterwards, even its death, does not hold it up.
  // It may overtake messages of send().
  runtime::Task<> deliver(Rank to, Kind kind, Bytes bytes);

  // The traffic so far.
  const transport::Traffic& traffic() const { return traffic_; }

  // Dispatches incoming messages. Never returns: the owner cancels it.
  runtime::Task<> run();

 private:
  runtime::Task<> listen(Kind kind);
  runtime::Task<> watch_losses();

  transport::Transport& net_;
  std::map<Kind, Handler> handlers_;
  std::vector<std::function<void()>> loss_handlers_;
  transport::Traffic traffic_;
  runtime::Scope* scope_ = nullptr;  // while run() runs
  std::vector<runtime::Task<>> early_;
};

}  // namespace starling::session
