// The connections of the rendezvous server. A new one is a stranger and has to say hello soon; the handler
// then refuses it or gives it a seat, and parts with it later. Everything but stop() and post() belongs to
// the thread that is in run().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "starling/core/types.h"
#include "starling/join/rendezvous_protocol.h"

namespace starling::join {

// Must not outlive its RendezvousConnections.
struct Connection;
using ConnectionPtr = std::shared_ptr<Connection>;

// Decides about connections; called in run().
class ConnectionHandler {
 public:
  // Calls seat(), or refuse().
  virtual void said_hello(const ConnectionPtr& connection, Hello hello) = 0;
  // Someone seated has waited for as long as it wanted to: calls part().
  virtual void out_of_patience(const ConnectionPtr& connection) = 0;
  // Called once for every visitor that had a seat: it has gone, or its last message is on the way.
  virtual void settled(const ConnectionPtr& connection) = 0;

 protected:
  ~ConnectionHandler() = default;
};

class RendezvousConnections {
 public:
  struct Options {
    std::string bind;
    std::uint16_t port = 0;
    std::size_t strangers = 1;  // at most; the oldest has to go
    Duration first_word{};      // time for their message, and for a visitor that is parting
  };

  // Listens from now on. Throws as listen_at does (tcp_socket.h).
  RendezvousConnections(const Options& setting, ConnectionHandler& host);
  // After run() has returned. Closes all connections; the host is not called.
  ~RendezvousConnections();

  std::uint16_t port() const;

  void run();
  void stop();
  void post(std::function<void()> work);

  // Welcomes a stranger.
  void seat(const ConnectionPtr& connection, Duration patience);
  void refuse(const ConnectionPtr& connection, const Refusal& refusal);
  // A last message for someone seated, which has so long to fetch it.
  void part(const ConnectionPtr& connection, std::shared_ptr<const std::string> last, Duration patience);
  // Says whether someone seated is still there; if not, settles it first.
  bool present(const ConnectionPtr& connection);

 private:
  class Acceptor;
  std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace starling::join
