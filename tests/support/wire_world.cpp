#include "tests/support/wire_world.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "starling/core/error.h"
#include "starling/core/text.h"
#include "starling/launch/forked_ranks.h"
#include "starling/runtime/run.h"
#include "starling/transport/shm/shm.h"
#include "starling/transport/wire/greeting.h"
#include "starling/transport/wire/ucx.h"
#include "tests/support/process_rank.h"

namespace starling::testing {

namespace {

using transport::shm::Arena;

constexpr Tag kCards = 1;

// All cards, by rank, exchanged over the shared memory that the ranks really have.
runtime::Task<std::vector<std::string>> exchange(transport::Transport& net, std::string card) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(card));
  for (Rank to = 0; to < net.size(); ++to) co_await net.send(to, kCards, bytes);
  std::vector<std::string> cards(static_cast<std::size_t>(net.size()));
  for (int i = 0; i < net.size(); ++i) {
    const transport::Letter letter = co_await net.recv_any(kCards);
    cards[static_cast<std::size_t>(letter.from)].assign(reinterpret_cast<const char*>(letter.bytes.data()),
                                                        letter.bytes.size());
  }
  co_return cards;
}

// Moves this process to another host of a test bed: a network of its own, and the view of it in /sys.
void enter_network(const std::string& name) {
  const Descriptor network(open(concat("/run/netns/", name).c_str(), O_RDONLY | O_CLOEXEC));
  const bool entered = network.valid() && setns(network.get(), CLONE_NEWNET) == 0 &&
                       unshare(CLONE_NEWNS) == 0 && mount("", "/", "none", MS_SLAVE | MS_REC, nullptr) == 0 &&
                       mount(name.c_str(), "/sys", "sysfs", 0, nullptr) == 0;
  if (!entered) throw Error(concat("cannot enter network ", name, ": ", std::strerror(errno)));
}

// The networks of a test bed, in which the hosts then are in turn. Without them all are in the one of this
// process.
std::vector<std::string> networks() {
  const char* const names = std::getenv("STARLING_TEST_NETWORKS");
  return names == nullptr ? std::vector<std::string>() : split(names, ',');
}

struct Host {
  std::shared_ptr<Arena> arena;
  std::vector<Rank> members;
};

void join_texts(transport::Transport& known, const Host& host, Duration silence, const World::Body& body) {
  auto& loop = static_cast<runtime::LoopScheduler&>(known.scheduler());
  transport::wire::Remote::Options others;
  others.engine = transport::wire::make_ucx(known.rank());
  others.silence = silence;
  const auto cards = runtime::run(loop, exchange(known, others.engine->card()));
  host.arena->set_members(host.members);
  for (Rank rank = 0; rank < known.size(); ++rank) {
    if (!host.arena->has(rank)) others.peers.push_back(rank);
  }
  others.engine->connect(cards, others.peers);
  const std::vector<Rank> peers = others.peers;
  transport::ShmTransport net(loop, host.arena, known.rank(), known.size(), std::move(others));
  runtime::run(loop, transport::wire::greet(net, peers));
  live_as_process(net, body);
}

}  // namespace

std::vector<std::string> WireWorld::run(int ranks, const Body& body) {
  std::vector<Host> hosts(static_cast<std::size_t>(hosts_ == 0 ? ranks : std::min(hosts_, ranks)));
  for (Rank rank = 0; rank < ranks; ++rank)
    hosts[static_cast<std::size_t>(rank) % hosts.size()].members.push_back(rank);
  for (Host& host : hosts) host.arena = Arena::create(static_cast<int>(host.members.size()));
  launch::ForkedRanks processes(ranks, [&](transport::Transport& known) {
    const std::size_t host = static_cast<std::size_t>(known.rank()) % hosts.size();
    const std::vector<std::string> names = networks();
    if (!names.empty()) enter_network(names[host % names.size()]);
    join_texts(known, hosts[host], silence_, body);
  });
  return outcomes_of(processes);
}

}  // namespace starling::testing
