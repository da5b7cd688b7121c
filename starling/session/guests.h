// The connections of the server of the rendezvous. One that comes is a stranger and has to say hello soon;
// the host then refuses it or gives it a seat, and parts with it later. Everything but stop() and post()
// belongs to the thread that is in run().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "starling/core/types.h"
#include "starling/session/rendezvous_wire.h"

namespace starling::session {

// Must not outlive its Guests.
struct Guest;
using GuestPtr = std::shared_ptr<Guest>;

// What is made of the guests; called in run().
class GuestHost {
 public:
  // Calls seat(), or refuse().
  virtual void said_hello(const GuestPtr& guest, Hello hello) = 0;
  // Someone seated has waited for as long as it wanted to: calls part().
  virtual void out_of_patience(const GuestPtr& guest) = 0;
  // Once for everyone who had a seat: it has gone, or its last message is on the way.
  virtual void settled(const GuestPtr& guest) = 0;

 protected:
  ~GuestHost() = default;
};

class Guests {
 public:
  struct Setting {
    std::string bind;
    std::uint16_t port = 0;
    std::size_t strangers = 1;  // at most; the oldest has to go
    Duration first_word{};      // how long they may take, and how long someone who parts may
  };

  // Listens from now on. Throws as listen_at does (tcp_socket.h).
  Guests(const Setting& setting, GuestHost& host);
  // After run() has returned. Closes all connections; the host is not called.
  ~Guests();

  std::uint16_t port() const;

  void run();
  void stop();
  void post(std::function<void()> work);

  // Welcomes a stranger.
  void seat(const GuestPtr& guest, Duration patience);
  void refuse(const GuestPtr& guest, const Refusal& refusal);
  // A last message for someone seated, which has so long to fetch it.
  void part(const GuestPtr& guest, std::shared_ptr<const std::string> last, Duration patience);
  // Says whether someone seated is still there; if not, settles it first.
  bool present(const GuestPtr& guest);

 private:
  class Door;
  std::unique_ptr<Door> door_;
};

}  // namespace starling::session
