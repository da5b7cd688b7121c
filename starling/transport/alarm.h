// A wakeup that calls a function of its owner, once, at the time it was queued for.
#pragma once

#include "starling/runtime/wakeup.h"

namespace starling::transport {

template <class Owner, void (Owner::*kAct)()>
struct Alarm : runtime::Wakeup {
  explicit Alarm(Owner& its_owner)
      : Wakeup([](Wakeup& self) { (static_cast<Alarm&>(self).owner.*kAct)(); }), owner(its_owner) {}
  Owner& owner;
};

}  // namespace starling::transport
