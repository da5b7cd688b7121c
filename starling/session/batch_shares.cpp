#include "starling/session/batch_shares.h"

#include <algorithm>
#include <utility>

#include "starling/core/byte_codec.h"
#include "starling/core/error.h"
#include "starling/runtime/scope.h"
#include "starling/session/background/coordinator.h"

namespace starling::session {

using runtime::Task;
using transport::Transport;

namespace {

constexpr Tag kRequest = (Tag{0xff} << 56) | 16;
constexpr Tag kAnswer = (Tag{0xff} << 56) | 17;
constexpr Tag kReport = (Tag{0xff} << 56) | 18;

Bytes to_bytes(const ShareRequest& request) {
  return ByteWriter::message().put(request.epoch).put(request.batches).take();
}

ShareRequest request_from(const transport::Letter& letter) {
  ByteReader in =
      ByteReader::message(letter.bytes, concat("a request of rank ", letter.from, " for a share"));
  ShareRequest request;
  request.epoch = in.get<std::uint64_t>();
  request.batches = in.get<std::uint64_t>();
  in.expect_end();
  return request;
}

Bytes to_bytes(const ShareReport& report) {
  return ByteWriter::message()
      .put(report.epoch)
      .put(report.batches)
      .put(report.rounds)
      .put(report.rounds_before)
      .put_block(std::as_bytes(std::span(report.given)))
      .take();
}

ShareReport report_from(const transport::Letter& letter) {
  ByteReader in =
      ByteReader::message(letter.bytes, concat("a report of rank ", letter.from, " about its batches"));
  ShareReport report;
  report.epoch = in.get<std::uint64_t>();
  report.batches = in.get<std::uint64_t>();
  report.rounds = in.get<std::uint64_t>();
  report.rounds_before = in.get<std::uint64_t>();
  const std::span<const std::byte> given = in.get_block();
  report.given.resize(given.size() / sizeof(std::uint64_t));
  if (given.size() % sizeof(std::uint64_t) != 0) in.refuse(concat(given.size(), " bytes of batch numbers"));
  std::ranges::copy(given, std::as_writable_bytes(std::span(report.given)).begin());
  in.expect_end();
  return report;
}

// Messages of this kind, until no rank is left to send one; then nothing.
template <class Handle>
Task<> for_each_letter(Transport& net, Tag tag, Handle handle) {
  try {
    for (;;) {
      const transport::Letter letter = co_await net.recv_any(tag, transport::Idle::kYes);
      handle(letter);
    }
  } catch (const PeerLost&) {
  }
}

}  // namespace

struct BatchShares::Answer {
  bool refused = false;  // others have `batches` in this epoch
  std::uint64_t batches = 0;
  Share share;

  Bytes to_bytes() const {
    return ByteWriter::message().put(refused).put(batches).put(share.kind).put(share.batch).take();
  }
  static Answer from(std::span<const std::byte> bytes) {
    ByteReader in = ByteReader::message(bytes, "the coordinator's answer to a request for a share");
    Answer answer;
    answer.refused = in.get<bool>();
    answer.batches = in.get<std::uint64_t>();
    answer.share.kind = in.get_enum(Share::Kind::kEnd, "kind of share");
    answer.share.batch = in.get<std::uint64_t>();
    in.expect_end();
    return answer;
  }
};

void check(const ShareRules& rules, bool equal_batches) {
  if (!rules.dynamic || !rules.lockstep || !equal_batches) return;
  throw InvalidArgument(
      "shares by demand for workers that make their steps together, and equal batches; allowed: unequal "
      "batches, since some of them are empty");
}

Task<> BatchShares::run(Transport& net) {
  runtime::Scope scope(co_await runtime::this_context());
  const auto find = [this, &net](ShareRequest request) { return ask(net, request); };
  scope.spawn(call_.run(find), "own requests");
  scope.spawn(serve(net), "requests of others");
  co_await scope.join();
}

Task<> BatchShares::serve(Transport& net) {
  runtime::Scope scope(co_await runtime::this_context());
  scope.spawn(take_requests(net), "requests");
  scope.spawn(take_reports(net), "reports");
  scope.spawn(answer_requests(net), "answers");
  scope.spawn(watch_losses(net), "losses");
  co_await scope.join();
}

Task<> BatchShares::take_requests(Transport& net) {
  return for_each_letter(net, kRequest, [this](const transport::Letter& letter) {
    requests_.emplace_back(letter.from, request_from(letter));
    news_.pulse();
  });
}

Task<> BatchShares::take_reports(Transport& net) {
  return for_each_letter(net, kReport, [this](const transport::Letter& letter) {
    reports_[letter.from] = report_from(letter);
    news_.pulse();
  });
}

Task<> BatchShares::answer_requests(Transport& net) {
  for (;;) {
    while (requests_.empty() || !prepare(net)) co_await news_;
    const auto [from, request] = requests_.front();
    requests_.pop_front();
    const Bytes answer = answer_to(from, request).to_bytes();
    try {
      co_await net.send(from, kAnswer, answer);
    } catch (const PeerLost&) {
      // Its batch is lost with it.
    }
  }
}

Task<> BatchShares::watch_losses(Transport& net) {
  for (;;) {
    if (!asking_) co_await report(net);
    news_.pulse();
    co_await net.losses();
  }
}

// Whether this worker can answer: it is the coordinator and knows what all others were given.
bool BatchShares::prepare(const Transport& net) {
  if (!is_coordinator(net)) return false;
  if (assignment_) return true;
  for (Rank rank = 0; rank < workers_; ++rank) {
    if (rank != rank_ && !net.lost(rank) && !reports_.contains(rank)) return false;
  }
  reports_[rank_] = own_;
  assignment_.emplace(workers_, rules_.lockstep, reports_);
  return true;
}

std::optional<SharePosition> BatchShares::position(const Transport& net) {
  if (!prepare(net)) return {};
  return assignment_->position();
}

// To the coordinator, once.
Task<> BatchShares::report(Transport& net) {
  const Rank to = coordinator_of(net);
  if (to == reported_to_ || to == rank_) co_return;
  reported_to_ = to;
  const Bytes bytes = to_bytes(own_);
  try {
    co_await net.send(to, kReport, bytes);
  } catch (const PeerLost&) {
    // The next one gets another.
  }
}

BatchShares::Answer BatchShares::answer_to(Rank from, const ShareRequest& request) {
  const std::optional<Share> share = assignment_->next(from, request.epoch, request.batches);
  if (share) return {false, 0, *share};
  return {true, assignment_->batches_of(request.epoch), {}};
}

// None if the rank is lost.
Task<std::optional<BatchShares::Answer>> BatchShares::ask_rank(Transport& net, Rank to,
                                                               ShareRequest request) {
  Bytes bytes = Answer().to_bytes();  // for its size
  const Bytes asked = to_bytes(request);
  try {
    auto answered = net.recv(to, kAnswer, bytes);
    co_await net.send(to, kRequest, asked);
    co_await answered;
  } catch (const PeerLost&) {
    co_return std::nullopt;
  }
  co_return Answer::from(bytes);
}

Task<Share> BatchShares::ask(Transport& net, ShareRequest request) {
  std::optional<Answer> answer;
  while (!answer) {
    co_await report(net);
    const Rank to = coordinator_of(net);
    if (to == rank_) {
      while (!prepare(net)) co_await news_;
      answer = answer_to(rank_, request);
    } else {
      asking_ = true;
      answer = co_await ask_rank(net, to, request);
      asking_ = false;
    }
  }
  if (answer->refused) {
    throw InvalidArgument(concat("epoch ", request.epoch, " has ", request.batches, " batches on rank ",
                                 rank_, " and ", answer->batches, " on others; allowed: equally many"));
  }
  own_.note(request.epoch, request.batches, answer->share);
  co_await report(net);
  co_return answer->share;
}

Share BatchShares::next(runtime::LoopScheduler& loop, ShareRequest request) {
  if (request.epoch < epoch_) {
    throw InvalidArgument(concat("a share of epoch ", request.epoch, " after one of epoch ", epoch_,
                                 "; allowed: the same epoch or a later one"));
  }
  if (request.epoch > epoch_) round_ = 0;
  epoch_ = request.epoch;
  if (!rules_.dynamic) return equal_share(rank_, workers_, request.batches, round_++);
  return call_.ask(loop, request);
}

}  // namespace starling::session
