#include "starling/session/startup_sync.h"

#include <algorithm>

namespace starling::session {

using runtime::Task;
using strategy::Data;
using strategy::ranks_up_to;

namespace {

constexpr Tag kInitialModel = (Tag{0xff} << 56) | 1;
constexpr Tag kRest = (Tag{0xff} << 56) | 4;
constexpr Tag kOrigin = (Tag{0xff} << 56) | 5;
constexpr Tag kLowest = (Tag{0xff} << 56) | 7;
constexpr Tag kServerState = (Tag{0xff} << 56) | 6;

}  // namespace

Task<> agree_on_model(transport::Transport& net, strategy::RunInfo& info) {
  const Data model{std::span<float>(info.initial_model)};
  const Group everybody = ranks_up_to(net.size());
  co_await collective::broadcast(net, everybody, 0, model, kInitialModel);
}

Task<std::uint64_t> lowest_of(transport::Transport& net, int workers, std::uint64_t value) {
  std::vector<std::int64_t> lowest{static_cast<std::int64_t>(value)};
  const Group all = ranks_up_to(workers);
  const Data data{std::span<std::int64_t>(lowest)};
  const collective::Reduction min{collective::Reduction::Kind::kMin, 1};
  co_await collective::all_reduce(net, all, data, min, kLowest);
  co_return static_cast<std::uint64_t>(lowest.front());
}

Task<> hand_over_state(transport::Transport& net, Rank server, std::span<const std::byte> state) {
  co_await net.send(server, kServerState, state);
}

Task<Bytes> receive_state(transport::Transport& net) {
  transport::Letter letter = co_await net.recv_any(kServerState);
  co_return std::move(letter.bytes);
}

// All in one message.
Task<> agree_on_rest(transport::Transport& net, collective::SharedGroup workers, const Callbacks& callbacks,
                     bool own_extras) {
  std::vector<std::span<std::byte>> parts = callbacks.fixed;
  for (const std::span<float> extra : callbacks.extras) {
    if (!own_extras) parts.push_back(std::as_writable_bytes(extra));
  }
  std::size_t bytes = 0;
  for (const auto part : parts) bytes += part.size();
  std::vector<float> packed((bytes + sizeof(float) - 1) / sizeof(float));
  std::byte* info = std::as_writable_bytes(std::span(packed)).data();
  for (const auto part : parts) info = std::copy(part.begin(), part.end(), info);
  const Data all{std::span<float>(packed)};
  co_await collective::broadcast(net, workers, 0, all, kRest);
  const std::byte* from = std::as_bytes(std::span(packed)).data();
  for (const auto part : parts) {
    std::copy_n(from, part.size(), part.data());
    from += part.size();
  }
}

Task<Time> common_origin(transport::Transport& net) {
  const Group everybody = ranks_up_to(net.size());
  co_await collective::barrier(net, everybody, kOrigin);
  co_return net.scheduler().now();
}

}  // namespace starling::session
