#include "starling/join/rendezvous_address.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "starling/core/error.h"

namespace starling::join {

RendezvousAddress parse_rendezvous_address(std::string_view text, std::string_view what) {
  const auto refuse = [&] {
    throw InvalidArgument(concat(
        what, ": '", text, "'; allowed: HOST:PORT such as node7:4000, 10.0.0.7:4000 or [fe80::1]:4000"));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) refuse();
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  // Without brackets it is unclear which colon of an IPv6 address comes before the port.
  const bool has_colon = host.find(':') != std::string_view::npos;
  if (host.empty() || bracketed != has_colon || host.find_first_of("[] \t\n") != std::string_view::npos)
    refuse();
  const long long port = parse_integer(text.substr(colon + 1), concat(what, ", the port"), 1, 65535);
  return {.host = std::string(host), .port = static_cast<std::uint16_t>(port), .token = {}};
}

std::string address_of(const RendezvousAddress& point) {
  const bool brackets = point.host.find(':') != std::string::npos;
  return concat(brackets ? "[" : "", point.host, brackets ? "]:" : ":", point.port);
}

std::string make_token() {
  std::array<unsigned char, 16> random{};
  // So few bytes come at once or not at all.
  while (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    if (errno != EINTR) throw Error(concat("getrandom: ", std::strerror(errno)));
  }
  std::string token;
  for (const unsigned char byte : random) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

bool same_token(std::string_view given, std::string_view expected) {
  // Volatile: a compiler that sees through the loop may leave it at the first difference.
  volatile unsigned char difference = given.size() == expected.size() ? 0 : 1;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const char other = i < given.size() ? given[i] : '\0';
    difference = static_cast<unsigned char>(difference | (other ^ expected[i]));
  }
  return difference == 0;
}

}  // namespace starling::join
