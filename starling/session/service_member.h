// A service's view of a real process, beside a worker or on a rank of its own. Belongs to the engine's
// thread.
#pragma once

#include <string>

#include "starling/session/kept.h"
#include "starling/strategy/place.h"

namespace starling::session {

class ServiceMember final : public strategy::Placed<strategy::Member> {
 public:
  // `kept` may be a worker's too, and must outlive it.
  ServiceMember(const strategy::Place& place, transport::Transport& net, Random random, Kept& kept)
      : Placed(place, net, random), kept_(kept) {
    kept.keep("service/random", std::as_writable_bytes(std::span(&Placed::random(), 1)));
  }

  void keep(std::string_view name, std::span<std::byte> state) override {
    kept_.keep(concat("service/", name), state);
  }

 private:
  Kept& kept_;
};

}  // namespace starling::session
