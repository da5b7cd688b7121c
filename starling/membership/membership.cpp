#include "starling/membership/membership.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "starling/runtime/deadline.h"
#include "starling/runtime/scope.h"

namespace starling::membership {

using runtime::Task;

namespace {

constexpr Tag kReports = (Tag{0xff} << 56) | (Tag{2} << 8) | 2;

Group first_ranks(int count) {
  Group ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

Membership::Membership(transport::Transport& net, int workers, Options options)
    : net_(net),
      options_(options),
      sender_(net),
      agreement_(
          net.rank(), {1, first_ranks(workers)},
          [this](Rank to, const ViewMessage& message) { send(to, kViewMessages, to_bytes(message)); },
          [this](const View& view) { install(view); }),
      known_(first_ranks(workers)),
      members_(first_ranks(workers)) {
  net_.set_judge(this, workers);
  for (Rank rank = 0; rank < workers; ++rank) {
    if (net_.lost(rank)) suspect(rank, Evidence::kEnded, net_.why_lost(rank));
  }
}

Membership::~Membership() { net_.set_judge(nullptr, 0); }

// The transport calls these two in the middle of its own work: they only take a note.
void Membership::suspect(Rank rank, Evidence evidence, const std::string& why) {
  why_[rank] = why;
  news_.push_back({rank, evidence});
  judged_.pulse();
}

void Membership::hear_again(Rank rank) {
  news_.push_back({rank, {}});
  judged_.pulse();
}

Task<> Membership::run() {
  runtime::Scope scope(co_await runtime::this_context());
  scope.spawn(listen(), "views");
  scope.spawn(listen_for_reports(), "reports on views");
  scope.spawn(judge(), "evidence");
  scope.spawn(repeat_proposals(), "proposals of views");
  co_await scope.join();
}

Task<> Membership::listen() {
  for (;;) {
    std::optional<transport::Letter> letter;
    try {
      letter = co_await net_.recv_any(kViewMessages, transport::Idle::kYes);
    } catch (const PeerLost&) {
      co_return;  // nobody is left
    }
    agreement_.receive(letter->from, view_message_from(letter->bytes, letter->from));
    check_excluded();
    judged_.pulse();
  }
}

Task<> Membership::listen_for_reports() {
  for (;;) {
    std::optional<transport::Letter> letter;
    try {
      letter = co_await net_.recv_any(kReports, transport::Idle::kYes);
    } catch (const PeerLost&) {
      co_return;
    }
    ByteReader reader =
        ByteReader::message(letter->bytes, concat("a report on a view from rank ", letter->from));
    const auto epoch = reader.get<std::uint64_t>();
    const auto report = reader.rest();
    if (epoch < view().epoch) continue;
    reports_[epoch][letter->from].assign(report.begin(), report.end());
    reported_.pulse();
  }
}

Task<> Membership::judge() {
  for (;;) {
    while (!news_.empty()) {
      const News news = news_.front();
      news_.pop_front();
      weigh(news);
      check_excluded();
    }
    judged_.pulse();  // a proposal may have come to nothing
    co_await judged_;
  }
}

void Membership::weigh(const News& news) {
  if (!news.evidence) {
    silent_.erase(news.rank);
    agreement_.note_reachable(news.rank);
  } else if (*news.evidence == Evidence::kEnded) {
    agreement_.note_dead(news.rank);
  } else if (*news.evidence == Evidence::kUnreachable) {
    broken_.insert(news.rank);
    agreement_.note_unreachable(news.rank);
  } else {
    silent_.insert(news.rank);
  }
  judge_silence();
}

// A rank is judged by its own host as long as any member there is heard: it may be stopped, or swapped out,
// and its host knows better what is the matter with it. So only whole hosts are silent.
void Membership::judge_silence() {
  const Group members = view().members;
  for (const Rank rank : std::set<Rank>(silent_)) {
    const bool heard = std::any_of(members.begin(), members.end(), [&](Rank other) {
      return host_of(other) == host_of(rank) && silent_.count(other) == 0 &&
             !contains(agreement_.missing(), other);
    });
    heard ? agreement_.note_reachable(rank) : agreement_.note_unreachable(rank);
  }
}

int Membership::host_of(Rank rank) const {
  return net_.hosts() ? net_.hosts()->at(static_cast<std::size_t>(rank)) : 0;
}

Task<> Membership::repeat_proposals() {
  for (;;) {
    while (!agreement_.wants_retry()) co_await judged_;
    check_patience();
    co_await runtime::sleep_for(options_.retry_pause);
    agreement_.retry();
    check_excluded();
  }
}

// A member may find out by itself: it completes a proposal that leaves it out if those that made it are dead.
void Membership::check_excluded() const {
  if (!agreement_.excluded()) return;
  throw Excluded(concat("rank ", net_.rank(),
                        " is no longer part of the run: the others went on without it, ",
                        "because it was cut off or stood still"));
}

// A first attempt may fail because another member proposes, too. A connection that is broken stays so: the
// other end has closed it because it has gone on, or has gone on since.
void Membership::check_patience() {
  const Time now = net_.scheduler().now();
  if (!agreement_.can_go_on_without(broken_)) {
    throw Excluded(concat("rank ", net_.rank(), " is no longer part of the run: ", too_few().what()));
  }
  if (!too_few_since_) {
    too_few_since_ = now;
  } else if (now - *too_few_since_ > options_.patience) {
    throw too_few();
  } else if (!std::exchange(warned_, true)) {
    net_.scheduler().log(LogLevel::kWarning,
                         concat("rank ", net_.rank(), ": ", too_few().what(), "; waiting for them"));
  }
}

Error Membership::too_few() const {
  const Group missing = agreement_.missing();
  std::string why;
  if (!missing.empty()) {
    const auto known = why_.find(missing.front());
    if (known != why_.end()) why = concat(" (", known->second, ")");
  }
  return Error(concat("rank ", join_texts(missing), " cannot be reached", why, ", and of the ",
                      view().members.size(), " workers too few are left here to go on without them"));
}

void Membership::send(Rank to, Tag tag, Bytes bytes) {
  if (net_.lost(to)) return;
  ++traffic_.messages;
  traffic_.bytes += bytes.size();
  sender_.send(to, tag, std::move(bytes));
}

void Membership::install(const View& view) {
  const Group before = std::exchange(known_, view.members);
  if (!contains(view, net_.rank())) return;
  for (const Rank rank : before) {
    if (contains(view, rank)) continue;
    const auto why = why_.find(rank);
    net_.exclude(rank, why != why_.end() ? why->second : "the others have lost it");
  }
  reports_.erase(reports_.begin(), reports_.lower_bound(view.epoch));
  members_ = view.members;
  too_few_since_.reset();
  warned_ = false;
  changes_.pulse();
  reported_.pulse();
}

Task<std::optional<Reports>> Membership::exchange_reports(std::uint64_t epoch, Bytes own) {
  if (view().epoch != epoch) co_return std::nullopt;
  ByteWriter writer = ByteWriter::message();
  const Bytes message = writer.put(epoch).put_raw(own).take();
  for (const Rank rank : view().members) {
    if (rank != net_.rank()) send(rank, kReports, message);
  }
  reports_[epoch][net_.rank()] = std::move(own);
  while (view().epoch == epoch && reports_[epoch].size() < view().members.size()) {
    reported_.rename(concat("the reports of the others on view ", epoch));
    co_await reported_;
  }
  if (view().epoch != epoch) co_return std::nullopt;
  co_return reports_[epoch];
}

}  // namespace starling::membership
