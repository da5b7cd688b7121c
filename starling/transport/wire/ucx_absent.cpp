// In place of ucx.cpp where UCX was not found.
#include "starling/core/error.h"
#include "starling/transport/wire/ucx.h"

namespace starling::transport::wire {

std::string why_no_ucx() { return "UCX (libucx-dev) was not found when Starling was built"; }

std::string ucx_version() { return ""; }

std::unique_ptr<Engine> make_ucx(Rank) { throw Error(concat("transport ucx: ", why_no_ucx())); }

}  // namespace starling::transport::wire
