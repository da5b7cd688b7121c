#include "starling/session/batch_shares.h"

#include <utility>

#include "starling/core/byte_codec.h"
#include "starling/core/error.h"
#include "starling/runtime/scope.h"

namespace starling::session {

using runtime::Task;
using transport::Transport;

namespace {

constexpr Tag kRequest = (Tag{0xff} << 56) | 16;
constexpr Tag kAnswer = (Tag{0xff} << 56) | 17;

struct Answer {
  bool refused = false;  // others have `batches` in this epoch
  std::uint64_t batches = 0;
  Share share;
};

Answer answer_to(BatchAssignment& dispenser, Rank from, const ShareRequest& request) {
  const std::optional<Share> share = dispenser.next(from, request.epoch, request.batches);
  if (share) return {false, 0, *share};
  return {true, dispenser.batches_of(request.epoch), {}};
}

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

Bytes to_bytes(const Answer& answer) {
  return ByteWriter::message()
      .put(answer.refused)
      .put(answer.batches)
      .put(answer.share.kind)
      .put(answer.share.batch)
      .take();
}

Answer answer_from(std::span<const std::byte> bytes) {
  ByteReader in = ByteReader::message(bytes, "rank 0's answer to a request for a share");
  Answer answer;
  answer.refused = in.get<bool>();
  answer.batches = in.get<std::uint64_t>();
  answer.share.kind = in.get_enum(Share::Kind::kEnd, "kind of share");
  answer.share.batch = in.get<std::uint64_t>();
  in.expect_end();
  return answer;
}

Task<> answer_one(Transport& net, BatchAssignment& dispenser) {
  const transport::Letter letter = co_await net.recv_any(kRequest, kForever);
  const Bytes answer = to_bytes(answer_to(dispenser, letter.from, request_from(letter)));
  try {
    co_await net.send(letter.from, kAnswer, answer);
  } catch (const PeerLost&) {
    // Its batch is lost with it.
  }
}

}  // namespace

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
  if (rank_ == 0) scope.spawn(answer_others(net), "requests of others");
  co_await scope.join();
}

Task<> BatchShares::answer_others(Transport& net) {
  runtime::Event never("a request for a share", runtime::Event::Kind::kRare);
  try {
    for (;;) co_await answer_one(net, assignment_);
  } catch (const PeerLost&) {
    // All others are.
  }
  co_await never;
}

Task<Share> BatchShares::ask(Transport& net, ShareRequest request) {
  Answer answer;
  if (rank_ == 0) {
    answer = answer_to(assignment_, 0, request);
  } else {
    Bytes bytes = to_bytes(answer);  // for its size
    const Bytes asked = to_bytes(request);
    auto answered = net.recv(0, kAnswer, bytes);
    co_await net.send(0, kRequest, asked);
    co_await answered;
    answer = answer_from(bytes);
  }
  if (answer.refused) {
    throw InvalidArgument(concat("epoch ", request.epoch, " has ", request.batches, " batches on rank ",
                                 rank_, " and ", answer.batches, " on others; allowed: equally many"));
  }
  co_return answer.share;
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
