#include "starling/strategy/strategy.h"

namespace starling::strategy {

Task<> Strategy::serve(Member&) const { co_return; }

}  // namespace starling::strategy
