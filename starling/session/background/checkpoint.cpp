#include "starling/session/background/checkpoint.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "starling/core/error.h"
#include "starling/session/background/coordinator.h"

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
    const Message message = checkpoint_message_from(bytes, from);
    if (message.word == Word::kSaved) {
      saved_ = std::max(saved_, message.steps);
      return;
    }
    said_.at(static_cast<std::size_t>(from)).push_back(message);
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
  co_await complete();
  const std::uint64_t steps = step - 1;
  if (!is_due(steps)) co_return true;
  Message own{Word::kSkipped, steps};
  const bool all_here = co_await all_say({Word::kHere, steps});
  if (all_here) own = co_await write(steps);
  // Sent even if nothing was written: the others may have seen the loss of a rank that this one saw end.
  const bool all_wrote = co_await all_say(own);
  const std::optional<Saved> saved = all_wrote ? saved_by_living(steps) : std::nullopt;
  if (saved) written_ = *saved;
  co_await complete();
  co_return true;
}

// None if the worker that would have written what is for all was lost before.
std::optional<Saved> Checkpoint::saved_by_living(std::uint64_t steps) const {
  const Message& lowest = latest_.begin()->second;
  const bool one_for_all = shares_ != nullptr || worker_.net().size() > worker_.workers();
  if (one_for_all && !lowest.for_all) return {};
  Saved saved{.step = steps};
  for (const auto& [rank, message] : latest_) saved.ranks.push_back(rank);
  if (shares_ != nullptr) saved.position = lowest.position;
  return saved;
}

Task<> Checkpoint::complete() {
  if (written_.step <= saved_ || !is_coordinator(worker_.net())) co_return;
  const auto saved = std::make_shared<Saved>(written_);  // shared with the user's thread
  saved_ = saved->step;
  if (callbacks_.saved) {
    Task<bool> told = try_on_user_thread([&callbacks = callbacks_, saved] { callbacks.saved(*saved); },
                                         "take note of a checkpoint");
    co_await told;
  }
  tell_others({Word::kSaved, saved_});
}

void Checkpoint::no_more_steps() {
  if (every_ > 0 && !std::exchange(said_end_, true)) tell_others({Word::kEnded, worker_.step()});
}

Task<> Checkpoint::finished(bool well) {
  no_more_steps();
  if (well) co_await complete();
}

void Checkpoint::tell_others(const Message& message) {
  for (Rank rank = 0; rank < worker_.workers(); ++rank) {
    if (rank != worker_.rank()) control_.send(rank, Kind::kCheckpoint, to_bytes(message));
  }
}

// Whether all living workers sent the same word, including this one. Its own word has left before it looks at
// theirs: if it is killed by what follows, the others know what it has done.
Task<bool> Checkpoint::all_say(Message own) {
  for (Rank rank = 0; rank < worker_.workers(); ++rank) {
    if (rank != worker_.rank()) co_await control_.deliver(rank, Kind::kCheckpoint, to_bytes(own));
  }
  latest_ = {{worker_.rank(), own}};
  bool all = own.word != Word::kSkipped;
  for (Rank rank = 0; rank < worker_.workers(); ++rank) {
    if (rank == worker_.rank()) continue;
    const std::optional<Message> said = co_await next_from(rank, own.word, own.steps);
    if (!said) continue;
    latest_[rank] = *said;
    if (said->word != own.word) all = false;
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

// What this worker says about it.
Task<Checkpoint::Message> Checkpoint::write(std::uint64_t steps) {
  Message message{Word::kSkipped, steps};
  const auto save = std::make_shared<Save>();  // shared with the user's thread
  save->step = steps;
  co_await worker_.settle();
  save->kept = checkpoint_state_.pack();
  if (is_coordinator(worker_.net())) {
    message.for_all = co_await add_what_is_for_all(*save, message);
    if (!message.for_all) co_return message;
  }
  bool good = true;
  if (callbacks_.save) {
    Task<bool> written = try_on_user_thread([&callbacks = callbacks_, save] { callbacks.save(*save); },
                                            concat("save step ", steps));
    good = co_await written;
  }
  if (good) message.word = Word::kWritten;
  co_return message;
}

// False if there is nothing to write: the server is lost, or this worker has just become the coordinator and
// does not know yet what the others were given.
Task<bool> Checkpoint::add_what_is_for_all(Save& save, Message& message) {
  if (shares_ != nullptr) {
    const std::optional<SharePosition> position = shares_->position(worker_.net());
    if (!position) co_return false;
    message.position = *position;
  }
  const bool fetched = co_await fetch_from_server(save);
  co_return fetched;
}

// False if it fails, as on a full disk: the run goes on, and this checkpoint is skipped.
Task<bool> Checkpoint::try_on_user_thread(std::function<void()> call, std::string what) {
  const auto failure = std::make_shared<std::string>();
  Task<> done = worker_.on_user_thread(
      [call = std::move(call), failure] {
        try {
          call();
        } catch (const std::exception& error) {
          *failure = error.what();
        }
      },
      what);
  co_await done;
  if (failure->empty()) co_return true;
  worker_.net().scheduler().log(
      LogLevel::kWarning, concat("rank ", worker_.rank(), " cannot ", what, ", and goes on: ", *failure));
  co_return false;
}

Task<bool> Checkpoint::fetch_from_server(Save& save) {
  const Rank server = worker_.workers();
  if (worker_.net().size() == server) co_return true;
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
