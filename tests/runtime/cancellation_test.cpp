// Destroys a task at every point where it can be suspended. The task uses every primitive; its peers live on.
// A wait that stayed in a queue, a timer, the list of waits or a transport shows as a use after free, as a
// write into a buffer that was given up, or as an object that is never destroyed.
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/event.h"
#include "starling/runtime/mailbox.h"
#include "starling/runtime/run.h"
#include "starling/runtime/when.h"
#include "starling/transport/inproc.h"

namespace starling::runtime {
namespace {

using namespace std::chrono_literals;
using transport::Transport;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kBytes = 24;

// The objects that outlive the tasks.
struct Shared {
  int live = 0;               // guards in frames
  std::deque<Bytes> buffers;  // what the victim receives into
  bool finished = false;

  Bytes& buffer() { return buffers.emplace_back(kBytes, std::byte{0}); }
};

struct CountedFrame {
  explicit CountedFrame(Shared& shared) : live(shared.live) { ++live; }
  CountedFrame(const CountedFrame&) = delete;
  CountedFrame& operator=(const CountedFrame&) = delete;
  ~CountedFrame() { --live; }
  int& live;
};

Task<> exchange(Transport& net, Rank other, Tag tag, Shared& shared) {
  const CountedFrame guard(shared);
  const Bytes out(kBytes, static_cast<std::byte>(tag + 1));
  Bytes mine(kBytes);
  Bytes& in = net.rank() == 0 ? shared.buffer() : mine;
  auto sending = net.send(other, tag, out);
  co_await net.recv(other, tag, in);
  co_await sending;
  if (in != out) throw Error("another message");
}

Task<> produce(Mailbox<std::unique_ptr<int>>& box, int items, Shared& shared) {
  const CountedFrame guard(shared);
  for (int i = 0; i < items; ++i) {
    if (i % 2 == 0) co_await sleep_for(300ns);
    box.put(std::make_unique<int>(i));
  }
}

Task<int> consume(Mailbox<std::unique_ptr<int>>& box, int items, Shared& shared) {
  const CountedFrame guard(shared);
  int sum = 0;
  for (int i = 0; i < items; ++i) sum += *co_await box.take();
  co_return sum;
}

Task<> open(Event& gate, Shared& shared) {
  const CountedFrame guard(shared);
  co_await yield();
  gate.set();
}

Task<> pass(Event& gate, Shared& shared) {
  const CountedFrame guard(shared);
  co_await gate;
}

Task<> sleep_guarded(Duration time, Shared& shared) {
  const CountedFrame guard(shared);
  co_await sleep_for(time);
}

Task<> receive(Transport& net, Rank from, Tag tag, Shared& shared) {
  const CountedFrame guard(shared);
  co_await net.recv(from, tag, shared.buffer());
}

Task<int> consumed(Mailbox<std::unique_ptr<int>>& box, Shared& shared) {
  std::vector<Task<int>> takers;
  for (int i = 0; i < 3; ++i) takers.push_back(consume(box, 2, shared));
  int sum = 0;
  for (const int part : co_await when_all(std::move(takers))) sum += part;
  co_return sum;
}

Task<> local_part(Shared& shared) {
  const CountedFrame guard(shared);
  Mailbox<std::unique_ptr<int>> box;
  Event gate;
  Scope scope(co_await this_context());
  scope.spawn(produce(box, 6, shared));
  scope.spawn(open(gate, shared));
  co_await when_all(pass(gate, shared), pass(gate, shared));
  if (co_await consumed(box, shared) != 15) throw Error("another sum");
  co_await when_any(sleep_guarded(5us, shared), sleep_guarded(1us, shared), sleep_guarded(1us, shared));
  if (!co_await scope.join_until(Time(kForever))) throw Error("not joined");
}

// Message 60 arrives later, for a receive that has been given up.
Task<> too_early(Transport& net, Shared& shared) {
  co_await when_any(receive(net, 1, 60, shared), sleep_guarded(1us, shared));
  bool late = false;
  try {
    co_await with_deadline(2us, "message 60", receive(net, 1, 60, shared));
  } catch (const Timeout&) {
    late = true;
  }
  if (!late) throw Error("came early");
  co_await net.send(1, 61, {});
  co_await receive(net, 1, 60, shared);
}

Task<> victim(Transport& net, Shared& shared) {
  const CountedFrame guard(shared);
  Scope scope(co_await this_context());
  scope.spawn(local_part(shared), "local");
  co_await with_deadline(1s, "the first exchange", exchange(net, 1, 0, shared));
  for (const Tag tag : {1, 2})
    co_await when_all(exchange(net, 1, tag, shared), exchange(net, 2, tag, shared));
  for (int i = 0; i < 2; ++i) co_await net.recv_any(50);
  co_await too_early(net, shared);
  co_await scope.join();
  shared.finished = true;
}

Task<> converse(Transport& net, Shared& shared) {
  const CountedFrame guard(shared);
  if (net.rank() == 1) co_await exchange(net, 0, 0, shared);
  for (const Tag tag : {1, 2}) co_await exchange(net, 0, tag, shared);
  const Bytes letter(kBytes, std::byte{1});
  co_await net.send(0, 50, letter);
  if (net.rank() == 1) {
    co_await net.recv(0, 61, {});
    co_await net.send(0, 60, letter);
  }
}

// Whatever becomes of rank 0, the two others go on.
Task<> peer(Transport& net, Shared& shared) {
  try {
    co_await converse(net, shared);
  } catch (const PeerLost& error) {
    if (error.rank != 0) throw;
  }
  for (Tag tag = 70; tag < 75; ++tag) co_await exchange(net, 3 - net.rank(), tag, shared);
}

void drive_until(VirtualScheduler& scheduler, Scope& scope, std::uint64_t events) {
  struct Goal {
    VirtualScheduler& scheduler;
    Scope& scope;
    std::uint64_t events;
  } goal{scheduler, scope, events};
  scheduler.drive(
      [](void* argument) {
        const Goal& at = *static_cast<Goal*>(argument);
        return at.scope.size() == 0 || at.scheduler.events() >= at.events;
      },
      &goal);
}

constexpr std::uint64_t kNever = ~std::uint64_t{0};

// Destroys the victim after so many events. Returns how many there were when it was gone or had ended.
std::uint64_t run_and_kill(std::uint64_t after, std::optional<std::uint64_t> seed) {
  auto scheduler = seed ? std::make_unique<VirtualScheduler>(*seed) : std::make_unique<VirtualScheduler>();
  transport::AlphaBeta network({700ns, 1e-9});
  transport::InprocWorld world(*scheduler, 3, network);
  Shared shared, others;
  std::uint64_t events = 0;
  {
    Scope peers(*scheduler);
    std::optional<Scope> scope(std::in_place, *scheduler);
    scope->spawn(victim(world.at(0), shared), "rank 0");
    for (const Rank rank : {1, 2}) peers.spawn(peer(world.at(rank), others), concat("rank ", rank));
    drive_until(*scheduler, *scope, after);
    events = scheduler->events();
    EXPECT_EQ(scope->size() == 0, shared.finished);

    scope->cancel();
    EXPECT_EQ(scope->waits(), "");
    scope.reset();
    EXPECT_EQ(shared.live, 0);
    const std::deque<Bytes> before = shared.buffers;
    run(*scheduler, sleep_for(20us));  // messages in flight arrive nowhere
    world.lose(0, "cancelled");
    drive_until(*scheduler, peers, kNever);
    EXPECT_TRUE(before == shared.buffers) << "a buffer was written to after its receive was gone";
  }
  EXPECT_EQ(others.live, 0);
  EXPECT_EQ(scheduler->waits(), "");
  run(*scheduler, sleep_for(1ms));
  return events;
}

void kill_at_every_event(std::optional<std::uint64_t> seed) {
  const std::uint64_t all = run_and_kill(kNever, seed);
  ASSERT_GT(all, 70u) << "the program is too short to tell anything";
  for (std::uint64_t after = 0; after <= all; ++after) {
    SCOPED_TRACE(
        concat("destroyed after event ", after, " of ", all, ", seed ", seed ? concat(*seed) : "none"));
    run_and_kill(after, seed);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Cancellation, ATaskMayBeDestroyedAtEverySuspensionPoint) { kill_at_every_event(std::nullopt); }

TEST(Cancellation, AlsoInShuffledHistories) {
  for (std::uint64_t seed = 1; seed <= 20 && !HasFailure(); ++seed) kill_at_every_event(seed);
}

}  // namespace
}  // namespace starling::runtime
