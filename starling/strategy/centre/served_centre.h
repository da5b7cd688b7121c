// The centre cut in slices, each served by one rank (centre_service.h). A worker sends its model, slice by
// slice, and receives d of centre.h, by which the centre has moved.
//
//   server   One slice, on the server's rank: its link carries n M each way. If it dies, the run ends.
//   sharded  Every worker serves a slice, so all links carry the same. The slice of a lost worker goes on at
//            the next one that is left, which begins it with its own model: the centre is near to all models.
//            An exchange of a slice that is interrupted by the loss does not take place.
//
// Bytes sent per worker and exchange: M, and 16 for each slice; a rank that serves sends its slice back to
// every worker. What a worker serves to itself is not sent.
#pragma once

#include <memory>
#include <optional>

#include "starling/strategy/centre/centre_service.h"

namespace starling::strategy {

class ServedCentre final : public Centre {
 public:
  // `computed`: when the worker's present step was computed; none while it computes. Both must outlive this.
  ServedCentre(Worker& self, CentrePlace place, CentreOrder order, const std::optional<Time>& computed);

  Task<> pull(Data model, float alpha, Data difference) override;
  Task<> leave() override;

 private:
  Task<> pull_slice(std::size_t slice, Data model, float alpha, Data difference);
  Task<> leave_owner(std::size_t slice);

  Worker& self_;
  SliceMap map_;
  const std::optional<Time>& computed_;
  std::shared_ptr<CentreService> service_;  // null: another rank serves
  Rank last_to_answer_ = record::kNobody;
};

}  // namespace starling::strategy
