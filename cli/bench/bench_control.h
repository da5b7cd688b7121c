// The benchmark's side of the control socket of one contestant; peers/obey.h describes the protocol.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/peers/line_socket.h"
#include "starling/core/types.h"

namespace starling::cli {

class BenchControl {
 public:
  // Listens at once: ranks may connect from now on.
  explicit BenchControl(int ranks);

  // The address for the ranks.
  const std::string& address() const { return address_; }

  // Waits until every rank has said hello. `any_ended` is asked now and then: a rank that ended never will.
  // Throws Timeout or Error naming the missing ones.
  void wait_for_hellos(Duration patience, const std::function<bool()>& any_ended);

  // Sends the line to all ranks; returns their answers in rank order. Throws WrongResult if a rank reports
  // one, Timeout naming those without an answer, or Error if a rank failed or went away.
  std::vector<std::string> ask(const std::string& line, Duration patience);

  // Asks the ranks to end, without waiting.
  void quit() noexcept;

 private:
  void accept_one(std::vector<LineSocket>& strangers);
  void greet(std::vector<LineSocket>& strangers);
  std::string missing() const;
  void tell_all(const std::string& line);
  std::optional<std::string> take_answer(std::size_t rank, const std::string& line);

  std::string address_;
  Descriptor listener_;
  std::vector<std::optional<LineSocket>> ranks_;  // empty: no hello yet
};

}  // namespace starling::cli
