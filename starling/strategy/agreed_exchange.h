// Exchanges among all workers that survive the loss of some: all that are left agree whether an exchange took
// place. When a view without the lost ones comes into force, every worker lets its exchanges end, well or
// not, and then reports which it has completed. If any worker has the result of an exchange, the lowest one
// that has it gives it to all that have not; if none has, the exchange is repeated among the members of the
// new view, with the input that a failed reduction leaves as it was.
//
// Exchanges go by lanes: the exchanges of one lane follow each other. An exchange completes only when all
// members have begun it, so nobody is more than one ahead in a lane: it suffices to keep the last result of
// each. In shared memory nothing is kept, because there all survivors complete an exchange or none does
// (collective/direct.h).
//
// All members end with the same result. Suppose that two hold different results, formed in epochs d < e. It
// was formed again in e only because no member of that view had a result when it reported, and after its
// report none completes an exchange of an older epoch. So the holder of the older result is not in that view.
//
// Without an agreed membership an exchange ends with PeerLost, as any other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

// Among whom an exchange takes place: the members of the view of this epoch.
struct ExchangeTerms {
  collective::SharedGroup group;
  std::uint64_t epoch = 1;
};

class AgreedExchange {
 public:
  using Lane = std::uint32_t;
  using Work = std::function<Task<>(const ExchangeTerms& terms)>;
  using TaggedWork = std::function<Task<>(const ExchangeTerms& terms, Tag tag)>;

  // State of the strategy that the members have to agree on besides the results.
  class Recovery {
   public:
    // Nothing of an older epoch is under way any more.
    virtual Bytes report() = 0;
    // With the reports of all members. May exchange among them; PeerLost leads to another view, and to new
    // reports.
    virtual Task<> recover(const membership::Reports& reports, const ExchangeTerms& terms) = 0;

   protected:
    ~Recovery() = default;
  };

  // One per worker and run, from its strategy. `algorithm` is that of the large exchanges.
  explicit AgreedExchange(Worker& self, collective::Choice algorithm = {});
  ~AgreedExchange();
  AgreedExchange(const AgreedExchange&) = delete;
  AgreedExchange& operator=(const AgreedExchange&) = delete;

  // Before the first exchange. It must outlive them.
  void set_recovery(Recovery& recovery);

  // The members now, all of whom agree about the exchanges before.
  Task<ExchangeTerms> terms();
  // Whether they are those of this epoch.
  bool in_force(std::uint64_t epoch) const;
  // Returns when they are no longer. Not without an agreed membership.
  Task<> end_of(std::uint64_t epoch);
  bool has_views() const { return state_ != nullptr; }

  // Makes one attempt at exchange `number` of the lane, counted from 1, under these terms. `result` is where
  // all members have the same afterwards; none: each has something else, and nobody can give it. False: a
  // member was lost and the exchange has not taken place; it is to be repeated under new terms.
  Task<bool> attempt(const ExchangeTerms& terms, Lane lane, std::uint64_t number, std::optional<Data> result,
                     Work work);
  // Whether this worker has the result of it.
  bool completed(Lane lane, std::uint64_t number) const;
  // The same within Recovery::recover(). PeerLost if it has not taken place: then `result` is written with
  // the next reports, if another member has it.
  Task<> recover_by(const ExchangeTerms& terms, Lane lane, std::uint64_t number, Data result, Work work);

  // The next exchange of a lane whose exchanges are not numbered elsewhere. Repeats it until it has taken
  // place.
  Task<> in_lane(Lane lane, Data result, TaggedWork work);
  // In lane 0: for exchanges that follow one another.
  Task<> in_order(Data result, TaggedWork work) { return in_lane(0, result, std::move(work)); }
  // An all-reduce of these, and the same noted in the journal.
  Task<> all_reduce(Data data, collective::Reduction how, collective::Choice choice = {});
  Task<> noted_all_reduce(Channel channel, std::uint64_t round, Data data, collective::Reduction how,
                          collective::Choice choice = {});

  Task<> barrier();

  // The last call: returns when all workers have made all their exchanges, so that none needs this one any
  // more.
  Task<> finish();

 private:
  struct State;

  Worker& self_;
  std::map<Lane, std::uint64_t> made_;  // exchanges in lanes whose exchanges are numbered here
  std::shared_ptr<State> state_;  // null: no agreed membership. Shared with the task that answers the others
};

}  // namespace starling::strategy
