#include "starling/session/farewell.h"

#include "starling/core/error.h"

namespace starling::session {

using runtime::Task;
using transport::Transport;

namespace {

constexpr Tag kDone = (Tag{0xff} << 56) | 2;
constexpr Tag kRelease = (Tag{0xff} << 56) | 3;

Task<> hear(Transport& net, Rank from, Tag tag) {
  try {
    co_await net.recv(from, tag, {});
  } catch (const PeerLost&) {
  }
}

Task<> tell(Transport& net, Rank to, Tag tag) {
  try {
    co_await net.send(to, tag, {});
  } catch (const PeerLost&) {
  }
}

}  // namespace

Task<> farewell(Transport& net) {
  net.set_patience(kForever);  // the others may train for hours yet
  if (net.rank() != 0) {
    co_await tell(net, 0, kDone);
    co_await hear(net, 0, kRelease);
    co_return;
  }
  for (Rank rank = 1; rank < net.size(); ++rank) co_await hear(net, rank, kDone);
  for (Rank rank = 1; rank < net.size(); ++rank) co_await tell(net, rank, kRelease);
}

}  // namespace starling::session
