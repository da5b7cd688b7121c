#include "starling/launch/host_list.h"

#include <algorithm>
#include <numeric>

#include "starling/core/error.h"
#include "starling/core/text.h"
#include "starling/launch/launcher.h"

namespace starling::launch {

namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

[[noreturn]] void refuse(std::string_view what, std::string_view text, std::string_view allowed) {
  throw InvalidArgument(concat(what, ": '", text, "' is not a host; allowed: ", allowed));
}

// A text that an agent could take for an option, or a shell for more than a word, is not a name.
bool is_name(std::string_view name) {
  const std::size_t at = name.find('@');
  if (at != std::string_view::npos) return is_name(name.substr(0, at)) && is_name(name.substr(at + 1));
  return !name.empty() && name.front() != '-' && name.find_first_not_of(kLetters) == std::string_view::npos;
}

bool is_v6(std::string_view text) {
  const std::size_t zone = std::min(text.find('%'), text.size());
  return text.substr(0, zone).find(':') != std::string_view::npos &&
         text.substr(0, zone).find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos &&
         (zone == text.size() || is_name(text.substr(zone + 1)));
}

int parse_slots(std::string_view text, std::string_view what, std::string_view name) {
  return static_cast<int>(parse_integer(text, concat(what, ", the workers of ", name), 1, kMostWorkers));
}

// "name", "name:4", "[fe80::1]:4", "me@[fe80::1]"; no slots if the text does not say how many.
HostSlots parse_host(std::string_view text, std::string_view what, std::string_view allowed) {
  const std::size_t open = text.find('['), close = text.find(']');
  const bool bracketed = open != std::string_view::npos && close != std::string_view::npos && open < close;
  const std::size_t end = std::min(text.find(':', bracketed ? close : 0), text.size());
  HostSlots host{.name = {}, .slots = 0};
  if (bracketed) {
    const std::string_view user = text.substr(0, open), address = text.substr(open + 1, close - open - 1);
    if (end != close + 1 || !is_v6(address)) refuse(what, text, allowed);
    if (!user.empty() && (!user.ends_with('@') || !is_name(user.substr(0, user.size() - 1))))
      refuse(what, text, allowed);
    host.name = concat(user, address);
  } else {
    host.name = text.substr(0, end);
    if (!is_name(host.name)) refuse(what, text, allowed);
  }
  if (end < text.size()) host.slots = parse_slots(text.substr(end + 1), what, host.name);
  return host;
}

constexpr std::string_view kLineAllowed = "NAME, NAME:4 or NAME slots=4";

HostSlots parse_line(std::string_view line, std::string_view what) {
  constexpr std::string_view kSlots = "slots=";
  const std::size_t blank = std::min(line.find_first_of(" \t"), line.size());
  HostSlots host = parse_host(line.substr(0, blank), what, kLineAllowed);
  const std::string_view rest = trim(line.substr(blank));
  if (rest.empty()) return host;
  if (!rest.starts_with(kSlots) || host.slots != 0) refuse(what, line, kLineAllowed);
  host.slots = parse_slots(rest.substr(kSlots.size()), what, host.name);
  return host;
}

void add(std::vector<HostSlots>& hosts, const HostSlots& host, std::string_view what) {
  const auto same = std::find_if(hosts.begin(), hosts.end(),
                                 [&](const HostSlots& other) { return other.name == host.name; });
  HostSlots& kept = same == hosts.end() ? hosts.emplace_back(HostSlots{host.name, 0}) : *same;
  kept.slots += std::max(host.slots, 1);
  if (kept.slots > kMostWorkers) {
    throw InvalidArgument(concat(what, ": ", kept.slots, " workers on ", kept.name, "; allowed: up to ",
                                 kMostWorkers, " on a host"));
  }
}

}  // namespace

std::vector<HostSlots> parse_host_list(std::string_view text, std::string_view what) {
  std::vector<HostSlots> hosts;
  if (trim(text).empty())
    throw InvalidArgument(concat(what, " is empty; allowed: NAME:WORKERS,NAME:WORKERS,..."));
  for (const std::string& word : split(text, ','))
    add(hosts, parse_host(word, what, "NAME or NAME:WORKERS, as in node1:4,node2:4"), what);
  return hosts;
}

std::vector<HostSlots> parse_host_file(std::string_view text, std::string_view what) {
  std::vector<HostSlots> hosts;
  int number = 0;
  for (const std::string& whole : split(text, '\n')) {
    const std::string place = concat(what, ", line ", ++number);
    const std::string_view line = trim(std::string_view(whole).substr(0, whole.find('#')));
    if (!line.empty()) add(hosts, parse_line(line, place), place);
  }
  if (hosts.empty())
    throw InvalidArgument(concat(what, " names no host; allowed: ", kLineAllowed, ", a host a line"));
  return hosts;
}

int slots_of(const std::vector<HostSlots>& hosts) {
  return std::accumulate(hosts.begin(), hosts.end(), 0,
                         [](int sum, const HostSlots& host) { return sum + host.slots; });
}

std::vector<std::size_t> place_ranks(const std::vector<HostSlots>& hosts, int workers, int ranks) {
  std::vector<std::size_t> places;
  for (std::size_t host = 0; host < hosts.size(); ++host)
    places.insert(places.end(), static_cast<std::size_t>(hosts[host].slots), host);
  if (places.size() < static_cast<std::size_t>(workers))
    throw InvalidArgument(concat(workers, " workers on hosts for ", places.size()));
  places.resize(static_cast<std::size_t>(workers));
  places.resize(static_cast<std::size_t>(ranks), 0);
  return places;
}

std::string address_in(std::string_view name) { return std::string(name.substr(name.find('@') + 1)); }

}  // namespace starling::launch
