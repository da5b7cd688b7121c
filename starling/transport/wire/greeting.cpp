#include "starling/transport/wire/greeting.h"

#include <cstddef>
#include <deque>
#include <span>

#include "starling/core/error.h"
#include "starling/runtime/when.h"
#include "starling/transport/wire/frame.h"

namespace starling::transport::wire {

namespace {

using runtime::Task;

constexpr Tag kHello = ~Tag{0} - 2;
constexpr Tag kHeardAll = ~Tag{0} - 3;

// Too long for a frame, so that the connections for bulk data are made as well.
Task<> say_hello(Transport& net, const std::vector<Rank>& others) {
  const std::vector<std::byte> word(kInlineLimit + 1);
  std::deque<std::vector<std::byte>> words(others.size(), word);
  std::deque<Receiving> heard;
  std::deque<Sending> said;
  for (std::size_t i = 0; i < others.size(); ++i) {
    heard.emplace_back(net, others[i], kHello, std::span(words[i]));
    said.emplace_back(net, others[i], kHello, std::span(word));
  }
  for (auto& receiving : heard) co_await receiving;
  for (auto& sending : said) co_await sending;
}

// The other rank may end as soon as it has received this from all others.
Task<> exchange_word(Transport& net, Rank other) {
  try {
    Sending saying(net, other, kHeardAll, std::span<const std::byte>());
    co_await net.recv(other, kHeardAll, {});
    co_await saying;
  } catch (const PeerLost&) {  // NOLINT(bugprone-empty-catch): it is recorded in the transport
  }
}

}  // namespace

Task<> greet(Transport& net, std::vector<Rank> others) {
  co_await say_hello(net, others);
  std::vector<Task<>> words;
  words.reserve(others.size());
  for (const Rank other : others) words.push_back(exchange_word(net, other));
  co_await runtime::when_all(std::move(words));
}

}  // namespace starling::transport::wire
