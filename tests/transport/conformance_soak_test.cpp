// Random traffic: every rank knows from the seed what all ranks send, so each message can be checked.
#include <deque>
#include <map>

#include "starling/core/random.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/when.h"
#include "tests/transport/conformance.h"

namespace starling::transport {
namespace {

using namespace testing;
using runtime::Task;

struct Message {
  Rank from;
  Rank to;
  Tag tag;
  std::size_t bytes;
  std::uint64_t seed;
};

// The messages in the order in which `from` sends them.
std::vector<Message> plan_of(std::uint64_t seed, Rank from, int ranks) {
  constexpr int kMessages = 80, kTags = 3;
  Random random = Random(seed).fork(static_cast<std::uint64_t>(from));
  std::vector<Message> plan;
  for (int i = 0; i < kMessages; ++i) {
    const std::size_t limit = random.chance(0.1) ? 200'000 : random.chance(0.5) ? 3000 : 20;
    plan.push_back({from, static_cast<Rank>(random.below(static_cast<std::uint64_t>(ranks))),
                    random.below(kTags), static_cast<std::size_t>(random.below(limit)), random.next()});
  }
  return plan;
}

// Awaits its sends only at the end: a transport may finish one no sooner than its receiver asks for it.
Task<> send_all(Transport& net, std::uint64_t seed) {
  Random random = Random(seed).fork(1000 + static_cast<std::uint64_t>(net.rank()));
  std::deque<Bytes> data;
  std::deque<Sending> sends;
  for (const Message& message : plan_of(seed, net.rank(), net.size())) {
    sends.emplace_back(net, message.to, message.tag, data.emplace_back(pattern(message.bytes, message.seed)));
    if (random.chance(0.2)) co_await runtime::yield();
  }
  for (auto& send : sends) co_await send;
}

// Streams are received in random order, the messages of one stream in theirs; some receives wait in advance.
Task<> receive_all(Transport& net, std::uint64_t seed) {
  Random random = Random(seed).fork(2000 + static_cast<std::uint64_t>(net.rank()));
  std::map<std::pair<Rank, Tag>, std::deque<Message>> streams;
  for (Rank from = 0; from < net.size(); ++from) {
    for (const Message& message : plan_of(seed, from, net.size())) {
      if (message.to == net.rank()) streams[{from, message.tag}].push_back(message);
    }
  }
  while (!streams.empty()) {
    auto stream = streams.begin();
    std::advance(stream, random.below(streams.size()));
    std::deque<Message> expected;
    std::deque<Bytes> buffers;
    std::deque<Receiving> receives;
    for (auto count = 1 + random.below(4); count > 0 && !stream->second.empty(); --count) {
      expected.push_back(stream->second.front());
      stream->second.pop_front();
      receives.emplace_back(net, expected.back().from, expected.back().tag,
                            buffers.emplace_back(expected.back().bytes));
    }
    if (stream->second.empty()) streams.erase(stream);
    for (std::size_t i = 0; i < receives.size(); ++i) {
      Receiving& receiving = receives[i];
      co_await receiving;
      check(matches(buffers[i], expected[i].seed),
            concat("message ", expected[i].tag, " from rank ", expected[i].from, " of seed ", seed));
    }
  }
}

TEST_P(Conformance, SurvivesRandomTraffic) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    expect_good(4, [seed](Peer& peer) -> Task<> {
      const std::uint64_t before = peer.net.traffic().messages;
      co_await runtime::when_all(send_all(peer.net, seed), receive_all(peer.net, seed));
      check_equal(peer.net.traffic().messages - before, plan_of(seed, peer.net.rank(), 4).size(),
                  "the number of messages");
    });
  }
}

}  // namespace
}  // namespace starling::transport
