// How the processes of a run on several hosts find each other: each brings a card to the rendezvous and
// receives the cards of all. The callers decide what a card contains, such as the address of a network
// endpoint. docs/hosts.md describes the protocol, and what the token protects from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "starling/core/types.h"
#include "starling/join/rendezvous_address.h"

namespace starling::join {

// Blocks until all `ranks` have come to the server (rendezvous_server.h), which may not have started yet;
// returns the cards by rank. A card has at most 64 KiB.
//
// Throws Timeout naming the address and the ranks that have not come, or why the server could not be reached;
// InvalidArgument if the server knows another token or another number of ranks, or this rank has come
// already; Error if the server ends meanwhile, is not a rendezvous server, or speaks another version. Looking
// up the name of a host cannot be interrupted: a name server that does not answer may delay this beyond its
// patience.
std::vector<std::string> meet(const RendezvousAddress& point, Rank rank, int ranks, std::string_view card,
                              Duration patience);

}  // namespace starling::join
