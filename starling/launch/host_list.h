// The hosts of a run and how many workers each takes, as a user writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "starling/core/types.h"

namespace starling::launch {

struct HostSlots {
  std::string name;  // as an agent takes it: "node1", "me@node1", "fe80::1"
  int slots = 1;
};

// "a:4,b:4"; a bare name has one slot, an IPv6 address is in brackets. A host listed twice gets the sum of
// its slots, at its first position. Throws InvalidArgument naming `what`.
std::vector<HostSlots> parse_host_list(std::string_view text, std::string_view what);

// The same, one host per line: "node1", "node1:4" or "node1 slots=4"; text after a '#' is a comment. `what`
// is the name of the file; errors add the number of the line.
std::vector<HostSlots> parse_host_file(std::string_view text, std::string_view what);

int slots_of(const std::vector<HostSlots>& hosts);

// The host of each rank, as an index in `hosts`: workers fill the hosts in their order; ranks above them,
// which serve, are with rank 0. There must be slots for all workers.
std::vector<std::size_t> place_ranks(const std::vector<HostSlots>& hosts, int workers, int ranks);

// The name without the user.
std::string address_in(std::string_view name);

}  // namespace starling::launch
