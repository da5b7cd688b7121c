// The server of the rendezvous (rendezvous.h). Runs in a thread of its own, in the launcher or in rank 0.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "starling/core/types.h"

namespace starling::join {

class RendezvousServer {
 public:
  struct Options {
    std::string bind = "127.0.0.1";  // an address of this host, or its name; "::" for all of them
    std::uint16_t port = 0;          // 0: any that is free
    std::string token;
    int ranks = 1;
    int meetings = 1;                              // how often they meet; then everybody is refused
    Duration patience = std::chrono::seconds(60);  // nobody waits longer, whatever patience it brings
    // Connections that have not shown the token: how many there may be, the oldest goes first, and how long
    // each may take.
    int strangers = 256;
    Duration first_word = std::chrono::seconds(5);
  };

  // Throws InvalidArgument if an option makes no sense or the address is not one of this host, Error if the
  // port cannot be had.
  explicit RendezvousServer(const Options& options);
  // Ends at once; who waits gets an error. See served().
  ~RendezvousServer();

  std::uint16_t port() const;

  // The ranks that have not come, now; none after the last meeting. From any thread.
  std::vector<Rank> missing() const;

  // Until the last meeting is complete and everybody has been sent the cards: a server that ends earlier
  // leaves some without them. False if that is not so after `patience`. From any thread.
  bool served(Duration patience) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::join
