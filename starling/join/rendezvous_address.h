// Where the processes of a run on several hosts find each other, and the secret by which they know that they
// belong together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace starling::join {

struct RendezvousAddress {
  std::string host;  // a name or an address; an IPv6 address without brackets
  std::uint16_t port = 0;
  std::string token;  // no part of any text made here
};

// "node7:4000", "10.0.0.7:4000", "[fe80::1]:4000". Throws InvalidArgument naming `what`.
RendezvousAddress parse_rendezvous_address(std::string_view text, std::string_view what);

// The form that parse_rendezvous_address reads back.
std::string address_of(const RendezvousAddress& point);

// 32 hexadecimal digits from the kernel's source of randomness.
std::string make_token();

// Takes the same time whichever characters differ, so that a token cannot be guessed character by character.
bool same_token(std::string_view given, std::string_view expected);

}  // namespace starling::join
