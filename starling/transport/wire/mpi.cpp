// Compiled where MPI 3 is found; elsewhere mpi_absent.cpp takes its place.
#include "starling/transport/wire/mpi.h"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <list>
#include <map>
#include <utility>

#include "starling/core/error.h"

namespace starling::transport::wire {

namespace {

constexpr int kFrameTag = 0;
// MPI counts in int, and some of its networks are slow or wrong near the end of that range.
constexpr std::size_t kLargestMessage = std::size_t{1} << 30;

void check(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(result, text.data(), &length);
  throw Error(concat("MPI: ", call, ": ", std::string_view(text.data(), static_cast<std::size_t>(length))));
}

bool ended(MPI_Request& request) {
  int done = 0;
  check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

// A message may be longer than MPI can count: it goes in pieces, which MPI keeps in order.
class MpiTransfer final : public Transfer {
 public:
  template <class Start>
  MpiTransfer(std::size_t bytes, Start start) {
    for (std::size_t at = 0; at < bytes; at += kLargestMessage)
      requests_.push_back(start(at, static_cast<int>(std::min(kLargestMessage, bytes - at))));
  }

  State state() const override {
    int done = 0;
    check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE),
          "MPI_Testall");
    return done != 0 ? State::kDone : State::kUnderWay;
  }

  // If the first piece has not begun, no other has.
  bool cancel() override {
    for (MPI_Request& request : requests_) {
      if (!cancel(request)) return false;
    }
    return true;
  }

 private:
  static bool cancel(MPI_Request& request) {
    if (request == MPI_REQUEST_NULL) return false;
    MPI_Status status;
    int cancelled = 0;
    check(MPI_Cancel(&request), "MPI_Cancel");
    check(MPI_Wait(&request, &status), "MPI_Wait");
    check(MPI_Test_cancelled(&status, &cancelled), "MPI_Test_cancelled");
    return cancelled != 0;
  }

  mutable std::vector<MPI_Request> requests_;  // testing sets those that have ended to null
};

class Mpi final : public Engine {
 public:
  explicit Mpi(std::shared_ptr<MpiWorld> world) : world_(std::move(world)) {
    check(MPI_Comm_dup(MPI_COMM_WORLD, &frames_), "MPI_Comm_dup");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &bulk_), "MPI_Comm_dup");
    int* most = nullptr;
    int known = 0;
    check(MPI_Comm_get_attr(bulk_, MPI_TAG_UB, static_cast<void*>(&most), &known), "MPI_Comm_get_attr");
    tags_ = known != 0 ? static_cast<std::uint64_t>(*most) : 32767;
  }
  ~Mpi() override;
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  std::string_view name() const override { return "mpi"; }
  std::string card() const override { return ""; }
  void connect(const std::vector<std::string>&, const std::vector<Rank>& peers) override {
    for (const Rank peer : peers) peers_[peer];
  }
  void post(Rank to, std::vector<std::byte> frame) override;
  std::size_t unsent(Rank to) const override { return peers_.at(to).unsent; }
  std::unique_ptr<Transfer> push(Rank to, std::uint64_t number, std::span<const std::byte> data) override;
  std::unique_ptr<Transfer> pull(Rank from, std::uint64_t number, std::span<std::byte> data) override;
  Transfer::State settle(Transfer& transfer, Rank peer, Duration patience,
                         const std::function<void()>& meanwhile) override;
  void give_up(Rank peer) override { peers_.at(peer).given_up = true; }
  bool poll(Client& client) override;
  int descriptor() const override { return -1; }
  bool arm() override { return true; }
  void flush(Duration patience) override;

 private:
  struct Frame {
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<std::byte> bytes;
  };
  struct Peer {
    std::list<Frame> out;
    std::size_t unsent = 0;
    bool given_up = false;
  };

  int tag_of(std::uint64_t number) const { return static_cast<int>(number % tags_); }
  bool take_in(Client& client);
  bool forget_sent();

  std::shared_ptr<MpiWorld> world_;
  MPI_Comm frames_ = MPI_COMM_NULL;
  MPI_Comm bulk_ = MPI_COMM_NULL;
  std::uint64_t tags_ = 0;
  std::map<Rank, Peer> peers_;
};

// Frames that were not taken may be taken at any time: there is no way to call them back.
Mpi::~Mpi() {
  for (auto& [rank, peer] : peers_) {
    if (!peer.out.empty()) world_->keep(std::make_shared<std::list<Frame>>(std::move(peer.out)));
  }
}

void Mpi::post(Rank to, std::vector<std::byte> frame) {
  Peer& peer = peers_.at(to);
  if (peer.given_up) return;
  peer.unsent += frame.size();
  peer.out.push_back({MPI_REQUEST_NULL, std::move(frame)});
  Frame& last = peer.out.back();
  check(MPI_Isend(last.bytes.data(), static_cast<int>(last.bytes.size()), MPI_BYTE, to, kFrameTag, frames_,
                  &last.request),
        "MPI_Isend");
}

std::unique_ptr<Transfer> Mpi::push(Rank to, std::uint64_t number, std::span<const std::byte> data) {
  return std::make_unique<MpiTransfer>(data.size(), [&](std::size_t at, int bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Isend(data.data() + at, bytes, MPI_BYTE, to, tag_of(number), bulk_, &request), "MPI_Isend");
    return request;
  });
}

std::unique_ptr<Transfer> Mpi::pull(Rank from, std::uint64_t number, std::span<std::byte> data) {
  return std::make_unique<MpiTransfer>(data.size(), [&](std::size_t at, int bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(data.data() + at, bytes, MPI_BYTE, from, tag_of(number), bulk_, &request), "MPI_Irecv");
    return request;
  });
}

// A transfer that does not end belongs to a peer that has left and will not touch it: a peer that dies ends
// us too.
Transfer::State Mpi::settle(Transfer& transfer, Rank peer, Duration patience,
                            const std::function<void()>& meanwhile) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (transfer.state() == Transfer::State::kUnderWay) {
    meanwhile();
    if (std::chrono::steady_clock::now() > deadline) {
      give_up(peer);
      return Transfer::State::kFailed;
    }
    sched_yield();
  }
  return transfer.state();
}

bool Mpi::take_in(Client& client) {
  bool any = false;
  for (;;) {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    check(MPI_Improbe(MPI_ANY_SOURCE, kFrameTag, frames_, &found, &message, &status), "MPI_Improbe");
    if (found == 0) return any;
    int bytes = 0;
    check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    std::vector<std::byte> frame(static_cast<std::size_t>(bytes));
    check(MPI_Mrecv(frame.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
    client.take_frame(status.MPI_SOURCE, frame);
    any = true;
  }
}

bool Mpi::forget_sent() {
  bool any = false;
  for (auto& [rank, peer] : peers_) {
    while (!peer.out.empty() && ended(peer.out.front().request)) {
      peer.unsent -= peer.out.front().bytes.size();
      peer.out.pop_front();
      any = true;
    }
  }
  return any;
}

bool Mpi::poll(Client& client) {
  const bool any = take_in(client);
  return forget_sent() || any;
}

void Mpi::flush(Duration patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto all_out = [this] {
    return std::all_of(peers_.begin(), peers_.end(),
                       [](const auto& item) { return item.second.out.empty() || item.second.given_up; });
  };
  while (!all_out() && std::chrono::steady_clock::now() < deadline) {
    if (!forget_sent()) sched_yield();
  }
}

}  // namespace

std::string why_no_mpi() { return ""; }

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string_view all(text.data(), static_cast<std::size_t>(length));
  return std::string(all.substr(0, all.find_first_of(",\n")));
}

MpiWorld::MpiWorld() : exceptions_(std::uncaught_exceptions()) {
  int running = 0, over = 0, level = 0;
  check(MPI_Initialized(&running), "MPI_Initialized");
  check(MPI_Finalized(&over), "MPI_Finalized");
  if (over != 0) throw Error("MPI has ended in this process, and cannot be started again");
  if (running == 0) {
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
    started_ = true;
  } else {
    check(MPI_Query_thread(&level), "MPI_Query_thread");
  }
  if (level < MPI_THREAD_SERIALIZED)
    throw Error(
        "MPI cannot be used by a thread of its own; start it by MPI_Init_thread with MPI_THREAD_SERIALIZED");
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
}

MpiWorld::~MpiWorld() {
  int over = 0;
  MPI_Finalized(&over);
  if (started_ && over == 0 && std::uncaught_exceptions() <= exceptions_) MPI_Finalize();
}

std::vector<std::string> MpiWorld::exchange(const std::string& text) const {
  int own = static_cast<int>(text.size());
  std::vector<int> sizes(static_cast<std::size_t>(size_));
  check(MPI_Allgather(&own, 1, MPI_INT, sizes.data(), 1, MPI_INT, MPI_COMM_WORLD), "MPI_Allgather");
  std::vector<int> places(sizes.size());
  int end = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) end = (places[i] = end) + sizes[i];
  std::string all(static_cast<std::size_t>(end), '\0');
  check(MPI_Allgatherv(text.data(), own, MPI_BYTE, all.data(), sizes.data(), places.data(), MPI_BYTE,
                       MPI_COMM_WORLD),
        "MPI_Allgatherv");
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    texts.push_back(all.substr(static_cast<std::size_t>(places[i]), static_cast<std::size_t>(sizes[i])));
  return texts;
}

std::unique_ptr<Engine> make_mpi(std::shared_ptr<MpiWorld> world) {
  return std::make_unique<Mpi>(std::move(world));
}

}  // namespace starling::transport::wire
