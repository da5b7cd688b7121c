#include "starling/session/background/checkpoint.h"

#include <memory>

#include "starling/core/error.h"

namespace starling::session {

using runtime::Task;
using Kind = ControlChannel::Kind;

Checkpoint::Checkpoint(RealWorker& worker, ControlChannel& control, const Callbacks& callbacks,
                       const CheckpointState& kept, std::uint64_t every)
    : worker_(worker),
      control_(control),
      callbacks_(callbacks),
      checkpoint_state_(kept),
      every_(every),
      first_(worker.step()),
      said_(static_cast<std::size_t>(worker.workers())) {
  if (every == 0) return;
  control_.on(Kind::kCheckpoint, [this](Rank from, const Bytes& bytes) {
    said_.at(static_cast<std::size_t>(from)).push_back(checkpoint_message_from(bytes, from));
    news_.pulse();
  });
  control_.on(Kind::kKept, [this](Rank, Bytes bytes) {
    server_state_ = std::move(bytes);
    news_.pulse();
  });
  control_.on_loss([this] { news_.pulse(); });
}

void Checkpoint::answer(ControlChannel& control, const CheckpointState& kept) {
  control.on(Kind::kKeptAsk, [&](Rank from, const Bytes&) { control.send(from, Kind::kKept, kept.pack()); });
}

// The checkpoint that the run continues from exists already.
bool Checkpoint::is_due(std::uint64_t steps) const {
  return every_ > 0 && steps > first_ && steps % every_ == 0;
}

Task<bool> Checkpoint::before_step(std::uint64_t step) {
  const std::uint64_t steps = step - 1;
  if (!is_due(steps)) co_return true;
  bool good = co_await all_say(Word::kHere, steps);
  if (good) good = co_await write(steps);
  // Sent even if nothing was written: the others may have seen the loss of a rank that this one saw end.
  good = co_await all_say(good ? Word::kWritten : Word::kSkipped, steps);
  if (!good || worker_.rank() != 0 || !callbacks_.saved) co_return true;
  Task<> told = worker_.on_user_thread([&callbacks = callbacks_, steps] { callbacks.saved(steps); },
                                       "take note of a checkpoint");
  co_await told;
  co_return true;
}

void Checkpoint::finished() {
  if (every_ > 0) tell_others({Word::kEnded, worker_.step()});
}

void Checkpoint::tell_others(const Message& message) {
  for (Rank rank = 0; rank < worker_.workers(); ++rank) {
    if (rank != worker_.rank()) control_.send(rank, Kind::kCheckpoint, to_bytes(message));
  }
}

// Whether all living workers sent `word`, including this one.
Task<bool> Checkpoint::all_say(Word word, std::uint64_t steps) {
  tell_others({word, steps});
  bool all = word != Word::kSkipped;
  for (Rank rank = 0; rank < worker_.workers(); ++rank) {
    if (rank == worker_.rank()) continue;
    const std::optional<Message> said = co_await next_from(rank, word, steps);
    if (said && said->word != word) all = false;
  }
  co_return all;
}

// Nothing if it is lost. Without a deadline: the slowest worker may be many steps behind.
Task<std::optional<Checkpoint::Message>> Checkpoint::next_from(Rank rank, Word word, std::uint64_t steps) {
  auto& said = said_[static_cast<std::size_t>(rank)];
  while (said.empty() && !worker_.lost(rank)) {
    news_.rename(concat("rank ", rank, word == Word::kHere ? " to make step " : " to save step ", steps));
    co_await news_;
  }
  if (said.empty()) co_return std::nullopt;
  const Message message = said.front();
  if (message.word == Word::kEnded) co_return message;  // stays
  said.pop_front();
  if (message.steps != steps) {
    throw Error(concat("rank ", worker_.rank(), " saves after step ", steps, ", rank ", rank, " after step ",
                       message.steps, ": save_every must be the same on all ranks"));
  }
  co_return message;
}

// False if there is nothing to write, because the server is lost.
Task<bool> Checkpoint::write(std::uint64_t steps) {
  const auto save = std::make_shared<Save>();  // shared with the user's thread
  save->step = steps;
  co_await worker_.settle();
  save->kept = checkpoint_state_.pack();
  const bool complete = co_await fetch_from_server(*save);
  if (!complete) co_return false;
  if (!callbacks_.save) co_return true;
  Task<> written = worker_.on_user_thread([&callbacks = callbacks_, save] { callbacks.save(*save); },
                                          concat("save step ", steps));
  co_await written;
  co_return true;
}

Task<bool> Checkpoint::fetch_from_server(Save& save) {
  const Rank server = worker_.workers();
  if (worker_.rank() != 0 || worker_.net().size() == server) co_return true;
  server_state_.reset();
  control_.send(server, Kind::kKeptAsk, {});
  while (!server_state_ && !worker_.lost(server)) {
    news_.rename(concat("the state of rank ", server, ", which only serves"));
    co_await news_;
  }
  if (!server_state_) co_return false;
  save.server = std::move(*server_state_);
  co_return true;
}

}  // namespace starling::session
