// The side of served_centre.h that serves slices. The exchanges of a slice follow one another in the order in
// which they arrive complete, or in the order of ranks. There is no lock: a slice is moved in one go.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "starling/runtime/event.h"
#include "starling/runtime/scope.h"
#include "starling/strategy/centre/centre.h"

namespace starling::strategy {

enum class CentrePlace { kServer, kSharded };

// Precedes a slice of a worker's model.
struct PullTerms {
  double alpha = 0;
  double leaves = 0;  // not 0: no slice follows, now or later
};
static_assert(sizeof(PullTerms) == 2 * sizeof(double), "it travels as two numbers, as a model does");

// Which rank serves which slice of the model.
class SliceMap {
 public:
  SliceMap(Member& self, std::size_t elements, CentrePlace place)
      : self_(self), elements_(elements), place_(place) {}

  std::size_t count() const {
    return place_ == CentrePlace::kSharded ? static_cast<std::size_t>(self_.workers()) : 1;
  }
  Slice slice(std::size_t index) const { return slice_of(elements_, count(), index); }
  // As far as this rank knows of losses. Where the server is lost, it is still the owner.
  Rank owner(std::size_t index) const;
  // The messages of a worker about a slice have tags of their own.
  std::uint64_t conversation(std::size_t index, Rank worker) const {
    return index * static_cast<std::uint64_t>(self_.workers()) + static_cast<std::uint64_t>(worker);
  }

 private:
  Member& self_;
  std::size_t elements_;
  CentrePlace place_;
};

class CentreService {
 public:
  // `own_model`: of the worker on this rank, if there is one.
  CentreService(Member& self, const SliceMap& map, CentreOrder order, Data own_model = {});

  // Answers the other workers. It does not end by itself.
  static Task<> serve(std::shared_ptr<CentreService> service);

  // An exchange of a worker with a slice that this rank serves; `difference` gets d.
  Task<> exchange(std::size_t index, Rank worker, Data model, float alpha, Data difference);
  // The worker makes no more of them, with any slice.
  void leave(Rank worker);

 private:
  struct Served {
    Buffer memory;
    Data centre;                      // in that memory
    std::vector<std::uint64_t> seen;  // by worker: how many exchanges there were after its last one
    std::uint64_t exchanges = 0;
    bool attended = false;  // others are answered
    Rank turn = 0;
    runtime::Event turned{"the turns of other workers at the centre"};
  };

  Served& served_slice(std::size_t index);
  Served& begin(std::size_t index, Data model);
  void keep(Served& served, std::size_t index, Data initial);
  void attend_all(std::size_t index, runtime::Scope& scope);
  void attend_own(runtime::Scope& scope);
  Task<> attend(std::size_t index, Rank worker);
  Task<> answer(std::size_t index, Rank worker);
  Task<> await_turn(Served& served, Rank worker);
  Rank whose_turn(const Served& served, Rank worker) const;
  void pulse_turns();

  Member& self_;
  SliceMap map_;
  CentreOrder order_;
  Data own_model_;
  std::map<std::size_t, Served> served_;  // by slice; entries never move
  std::vector<bool> left_;                // by worker
  std::uint64_t first_ = 0;               // the slice that this rank serves from the start
};

}  // namespace starling::strategy
