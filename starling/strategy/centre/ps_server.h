// The server's side of ps.h: one coroutine per worker takes its gradients and sends the model back.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "starling/runtime/event.h"
#include "starling/runtime/scope.h"
#include "starling/strategy/compressed/coded_vector.h"
#include "starling/strategy/ps.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

// Each worker's messages to the server have tags of their own, so that the server finds the receive that a
// message belongs to without searching those of all workers.
inline Tag own_tag(Channel channel, Rank worker) {
  return tag_of(channel, static_cast<std::uint64_t>(worker));
}

// What a worker and the server draw for a code depends on the worker.
inline std::uint64_t seed_of_codes(Rank worker) { return static_cast<std::uint64_t>(worker) + 1; }

// Both sides of a link count the codes that travel on it. Part of checkpoints.
struct CodesCounted {
  std::uint64_t pushed = 0;
  std::uint64_t pulled = 0;
};

// Precedes every gradient: the values that the server needs to apply it. Always sent, so that the server
// knows what follows.
struct PushTerms {
  double weight = 0;         // in a mean; 0: computed from no samples
  double learning_rate = 0;  // the worker's
};
static_assert(sizeof(PushTerms) == 2 * sizeof(double), "it travels as two numbers, as a gradient does");

// Follows it where batches are balanced.
struct SpeedReport {
  double seconds = -1;  // of a sample; below 0: not known
  double samples = 0;   // of the step
};
static_assert(sizeof(SpeedReport) == 2 * sizeof(double), "it travels as two numbers, too");

class PsServer {
 public:
  PsServer(Member& self, ParameterServer::Rules rules);
  Task<> run();

 private:
  using Mode = ParameterServer::Mode;

  // The part of a checkpoint about one worker.
  struct Progress {
    std::uint64_t clock = 0;    // steps it has finished
    std::uint64_t version = 0;  // of the model it computes with
  };

  struct Client {
    Rank rank = 0;
    bool active = false;  // others wait for it
    Progress progress;
    PushTerms terms;
    SpeedReport report;
    Buffer gradient;
    CodesCounted codes;
    std::optional<CodedVector> pushed;  // what comes instead of a gradient
    std::optional<CodedVector> pulled;  // what goes instead of the model
    Buffer has;                         // with that: the worker's model
  };

  Task<> attend(Client& client);
  Task<> serve_steps(Client& client);
  Task<> watch_for_leave(Client& client);
  Task<> receive_gradient(Client& client);
  Task<> send_model(Client& client, bool complete = false);
  Task<> send_change(Client& client);
  void encode_change(Client& client);

  // The active workers and their clocks: the server looks up the slowest with every gradient.
  void enter(Client& client);
  void tick(Client& client);
  void leave(Client& client);
  void remove_clock(std::uint64_t clock);

  void prepare(Client& client);
  void keep_state();
  void bring_up_lost_clients();
  void update(double learning_rate, Data gradient);
  void apply(Client& client);
  Task<> join_version(Client& client);
  void divide_batch();
  void average_arrived(Data mean) const;
  void make_version_if_complete();
  Task<> wait_for_slowest(Client& client);
  Rank slowest() const;

  Member& self_;
  ParameterServer::Rules rules_;
  Buffer model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::uint64_t updates_ = 0;  // of the optimiser
  std::uint64_t version_ = 0;
  // The model as it was when this version was sent: the server goes on while the message is in flight.
  std::shared_ptr<Buffer> snapshot_;
  Buffer change_;  // where changes are sent
  std::uint64_t snapshot_version_ = 0;
  std::deque<Client> clients_;
  std::size_t active_ = 0;
  std::map<std::uint64_t, std::size_t> clocks_;  // how many active clients are at each clock
  Rank last_arrived_ = record::kNobody;          // of the newest version
  // bsp: the workers whose gradients of this version have arrived, in the order of arrival
  std::vector<Client*> arrived_;
  std::optional<BatchParts> parts_;  // where batches are balanced
  runtime::Event progress_{"the other workers' steps"};
};

}  // namespace starling::strategy
