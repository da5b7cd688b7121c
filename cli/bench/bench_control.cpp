#include "cli/bench/bench_control.h"

#include <poll.h>

#include <algorithm>
#include <chrono>

#include "cli/peers/job.h"

namespace starling::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::string new_address() {
  static int count = 0;
  return concat("starling-bench-", getpid(), "-", count++);
}

// Waits until one of the sockets can be read, but no longer than `patience`.
void wait_readable(const std::vector<int>& descriptors, Duration patience) {
  std::vector<pollfd> polled;
  polled.reserve(descriptors.size());
  for (const int descriptor : descriptors) polled.push_back({descriptor, POLLIN, 0});
  const auto ms = std::chrono::ceil<milliseconds>(std::max(patience, Duration::zero())).count();
  poll(polled.data(), polled.size(), static_cast<int>(ms));
}

bool readable(int descriptor) {
  pollfd polled{descriptor, POLLIN, 0};
  return poll(&polled, 1, 0) > 0;
}

std::string ranks_text(const std::vector<std::size_t>& ranks) {
  return concat(ranks.size() == 1 ? "rank " : "ranks ", join_texts(ranks));
}

}  // namespace

BenchControl::BenchControl(int ranks)
    : address_(new_address()),
      listener_(listen_at_name(address_, SOCK_STREAM, ranks)),
      ranks_(static_cast<std::size_t>(ranks)) {}

void BenchControl::accept_one(std::vector<LineSocket>& strangers) {
  Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.valid() && is_same_user(socket)) strangers.emplace_back(std::move(socket));
}

// Assigns ranks that have said hello to their index.
void BenchControl::greet(std::vector<LineSocket>& strangers) {
  for (LineSocket& stranger : strangers) {
    if (!readable(stranger.descriptor().get()) || !stranger.receive()) continue;
    const std::optional<std::string> line = stranger.take_line();
    if (!line) continue;
    const std::vector<std::string> words = split(*line, ' ');
    if (words.size() != 2 || words[0] != "hello") throw Error(concat("not a greeting: ", *line));
    const auto last = static_cast<long long>(ranks_.size()) - 1;
    const auto rank = static_cast<std::size_t>(parse_integer(words[1], "rank", 0, last));
    if (ranks_[rank]) throw Error(concat("rank ", rank, " came twice"));
    ranks_[rank] = std::move(stranger);
  }
  std::erase_if(strangers, [](const LineSocket& socket) { return !socket.descriptor().valid(); });
}

std::string BenchControl::missing() const {
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!ranks_[rank]) ranks.push_back(rank);
  }
  return ranks.empty() ? "" : ranks_text(ranks);
}

void BenchControl::wait_for_hellos(Duration patience, const std::function<bool()>& any_ended) {
  const auto deadline = steady_clock::now() + patience;
  std::vector<LineSocket> strangers;
  while (!missing().empty()) {
    std::vector<int> descriptors{listener_.get()};
    for (const LineSocket& stranger : strangers) descriptors.push_back(stranger.descriptor().get());
    wait_readable(descriptors, milliseconds(50));
    accept_one(strangers);
    greet(strangers);
    if (missing().empty()) return;
    if (any_ended()) throw Error(concat(missing(), " did not start"));
    if (steady_clock::now() > deadline) {
      throw Timeout(concat(missing(), " did not start within ", format_duration(patience)));
    }
  }
}

// Nothing if the rank has not answered yet. Throws if it ended, also if it had answered before: the others
// may then wait for it in vain.
std::optional<std::string> BenchControl::take_answer(std::size_t rank, const std::string& line) {
  if (!readable(ranks_[rank]->descriptor().get())) return std::nullopt;
  if (!ranks_[rank]->receive()) throw Error(concat("rank ", rank, " ended during '", line, "'"));
  std::optional<std::string> answer = ranks_[rank]->take_line();
  if (!answer) return std::nullopt;
  if (answer->starts_with("wrong ")) throw WrongResult(answer->substr(6));
  if (answer->starts_with("failed ")) throw Error(concat("rank ", rank, ": ", answer->substr(7)));
  return answer;
}

void BenchControl::tell_all(const std::string& line) {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!ranks_[rank]->send_line(line)) throw Error(concat("rank ", rank, " ended before '", line, "'"));
  }
}

std::vector<std::string> BenchControl::ask(const std::string& line, Duration patience) {
  tell_all(line);
  std::vector<int> descriptors;
  for (const auto& rank : ranks_) descriptors.push_back(rank->descriptor().get());
  std::vector<std::string> answers(ranks_.size());
  const auto deadline = steady_clock::now() + patience;
  for (;;) {
    wait_readable(descriptors, deadline - steady_clock::now());
    std::vector<std::size_t> silent;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (const auto answer = take_answer(rank, line)) answers[rank] = *answer;
      if (answers[rank].empty()) silent.push_back(rank);
    }
    if (silent.empty()) return answers;
    if (steady_clock::now() > deadline) {
      throw Timeout(
          concat(ranks_text(silent), " did not answer '", line, "' within ", format_duration(patience)));
    }
  }
}

void BenchControl::quit() noexcept {
  for (std::optional<LineSocket>& rank : ranks_) {
    if (rank) rank->send_line("quit");
  }
}

}  // namespace starling::cli
