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
    int meetings = 1;                              // how often they meet; afterwards all are refused
    Duration patience = std::chrono::seconds(60);  // no process waits longer, whatever its own patience
    // Connections that have not shown the token: how many there may be, the oldest goes first, and how long
    // each may take.
    int strangers = 256;
    Duration first_word = std::chrono::seconds(5);
  };

  // Throws InvalidArgument if an option makes no sense or the address is not one of this host, Error if the
  // port cannot be had.
  explicit RendezvousServer(const Options& options);
  // Ends at once; waiting processes get an error. See served().
  ~RendezvousServer();

  std::uint16_t port() const;

  // The ranks that have not come yet; none after the last meeting. From any thread.
  std::vector<Rank> missing() const;

  // Waits until the last meeting is complete and all cards have been sent: a server that ends earlier leaves
  // some processes without them. False after `patience`. From any thread.
  bool served(Duration patience) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace starling::join
