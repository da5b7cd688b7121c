#include "starling/join/rendezvous_protocol.h"

#include <algorithm>
#include <utility>

namespace starling::join {

namespace {

constexpr std::string_view kMagic = "Strl";
constexpr std::size_t kHelloFixedBytes = 14;  // three numbers of 32 bits, one of 16

template <class T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

// Takes values off the front. Once a value was missing, everything is zero and empty, and `good` is false.
class Pieces {
 public:
  explicit Pieces(std::string_view rest) : rest_(rest) {}

  template <class T>
  T number() {
    T value = 0;
    const std::string_view bytes = text(sizeof(T));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value = static_cast<T>(value | static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i));
    }
    return value;
  }
  std::string_view text(std::size_t bytes) {
    good_ = good_ && bytes <= rest_.size();
    if (!good_) return {};
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  std::string_view all() { return text(rest_.size()); }
  bool good() const { return good_; }
  bool at_end() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

std::string message(Word word, std::string_view body) {
  std::string out(kMagic);
  out.reserve(kHeadBytes + body.size());
  put(out, kRendezvousVersion);
  put(out, static_cast<std::uint16_t>(word));
  put(out, static_cast<std::uint32_t>(body.size()));
  out += body;
  return out;
}

}  // namespace

std::string hello_message(const Hello& hello) {
  std::string body;
  put(body, hello.rank);
  put(body, hello.ranks);
  put(body, hello.patience_ms);
  put(body, static_cast<std::uint16_t>(hello.token.size()));
  body += hello.token;
  body += hello.card;
  return message(Word::kHello, body);
}

std::string welcome_message() { return message(Word::kWelcome, {}); }

std::string cards_message(const std::vector<std::string>& cards) {
  std::string body;
  for (const std::string& card : cards) {
    put(body, static_cast<std::uint32_t>(card.size()));
    body += card;
  }
  return message(Word::kCards, body);
}

std::string missing_message(const std::vector<Rank>& missing) {
  std::string body;
  for (const Rank rank : missing) put(body, static_cast<std::uint32_t>(rank));
  return message(Word::kMissing, body);
}

std::string refusal_message(const Refusal& refusal) {
  std::string body(1, refusal.callers_mistake ? '\1' : '\0');
  body += std::string_view(refusal.reason).substr(0, kMostReasonBytes);
  return message(Word::kRefusal, body);
}

std::optional<Head> read_head(std::string_view head) {
  if (head.size() != kHeadBytes || !head.starts_with(kMagic)) return std::nullopt;
  Pieces pieces(head.substr(kMagic.size()));
  Head read;
  read.version = pieces.number<std::uint16_t>();
  read.word = static_cast<Word>(pieces.number<std::uint16_t>());
  read.length = pieces.number<std::uint32_t>();
  return read;
}

std::size_t most_bytes(Word word, int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  switch (word) {
    case Word::kHello:
      return kHelloFixedBytes + kMostTokenBytes + kMostCardBytes;
    case Word::kCards:
      return count * (sizeof(std::uint32_t) + kMostCardBytes);
    case Word::kMissing:
      return count * sizeof(std::uint32_t);
    case Word::kRefusal:
      return 1 + kMostReasonBytes;
    case Word::kWelcome:
      break;
  }
  return 0;
}

std::optional<Hello> read_hello(std::string_view body) {
  Pieces pieces(body);
  Hello hello;
  hello.rank = pieces.number<std::uint32_t>();
  hello.ranks = pieces.number<std::uint32_t>();
  hello.patience_ms = pieces.number<std::uint32_t>();
  const std::size_t token_bytes = pieces.number<std::uint16_t>();
  const std::string_view token = pieces.text(token_bytes);
  const std::string_view card = pieces.all();
  if (!pieces.good() || token.size() > kMostTokenBytes || card.size() > kMostCardBytes) return std::nullopt;
  hello.token = token;
  hello.card = card;
  return hello;
}

std::optional<std::vector<std::string>> read_cards(std::string_view body, int ranks) {
  Pieces pieces(body);
  std::vector<std::string> cards;
  for (int i = 0; i < ranks && pieces.good(); ++i) {
    cards.emplace_back(pieces.text(pieces.number<std::uint32_t>()));
  }
  if (!pieces.at_end()) return std::nullopt;
  return cards;
}

std::optional<std::vector<Rank>> read_missing(std::string_view body, int ranks) {
  Pieces pieces(body);
  std::vector<Rank> missing;
  while (pieces.good() && !pieces.at_end()) {
    const auto rank = pieces.number<std::uint32_t>();
    if (!pieces.good() || rank >= static_cast<std::uint32_t>(ranks)) return std::nullopt;
    missing.push_back(static_cast<Rank>(rank));
  }
  return missing;
}

std::optional<Refusal> read_refusal(std::string_view body) {
  if (body.empty() || body.size() > 1 + kMostReasonBytes) return std::nullopt;
  Refusal refusal{.callers_mistake = body.front() == '\1', .reason = std::string(body.substr(1))};
  std::replace_if(
      refusal.reason.begin(), refusal.reason.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return refusal;
}

}  // namespace starling::join
