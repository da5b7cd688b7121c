// The schedule of DeAR (dear.h), and what its workers agree on when one of them is lost.
//
// A worker owns a slice of each bucket: it reduces its gradients, and updates its parameters if weights are
// gathered. When a worker is lost, the buckets that somebody has reduced and nobody has gathered are
// completed among those that are left, old slice by old slice:
//   - the owner lives and has updated its slice: it gives the parameters;
//   - the owner lives and has reduced it: it gives the mean gradient;
//   - otherwise: the survivors still have their own gradients of it, whose mean over them takes its place.
// All then have the same mean gradient or the same parameters; where an update is due, all make the same one.
// For that the optimiser's state is gathered first. The state of a lost worker's slices is lost: it begins at
// zero again. Then slices are cut anew among the members.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "starling/strategy/schedule/bucket_schedule.h"

namespace starling::strategy {

// Transfers are numbered by urgency: the reduce-scatters in the order of the buckets, which is that of the
// backward pass, then the all-gathers in that of the forward pass.
class DearSchedule final : public BucketSchedule, private AgreedExchange::Recovery {
 public:
  DearSchedule(Worker& self, AgreedExchange& agreed, const TransferOptions& setting, bool weights,
               std::size_t edge, std::size_t front, const runtime::Context& context)
      : BucketSchedule(self, agreed, setting, TransferScheduler::Order::kLeader,
                       weights ? Update::kElsewhere : Update::kBySection, context),
        weights_(weights),
        edge_(edge),
        front_(front),
        optimizer_(weights ? &self.flat_optimizer() : nullptr),
        partition_(self.everyone()) {
    agreed.set_recovery(*this);
  }

  // Every worker has the whole state of the optimiser afterwards. Nothing may be under way.
  Task<> gather_state();

 private:
  collective::Buckets plan(std::size_t threshold) override;
  std::size_t jobs() const override {
    const std::size_t count = buckets().size();
    return 2 * count - (count > 0 && whole(count - 1) ? 1 : 0);
  }
  std::uint64_t kind() const override { return weights_ ? 1 : 2; }
  Task<> leave_plan() override { return gather_state(); }

  void opened() override;
  void filled(std::size_t bucket) override { transfers().offer(bucket); }
  Transfer transfer(std::size_t job) override;
  void transferred(std::size_t job) override;
  Transfer reduce(std::size_t bucket);
  Transfer gather(std::size_t bucket);
  void reduced(std::size_t bucket);
  void pass_on(std::size_t bucket);
  bool whole(std::size_t bucket) const { return whole(buckets(), bucket); }
  bool whole(const collective::Buckets& plan, std::size_t bucket) const;

  // Sums of squares over all slices that an update of a slice depends on.
  struct Squares {
    double gradient = 0;          // if gradients are clipped
    std::vector<double> tensors;  // of an optimiser that works by tensor
  };
  bool needs_squares() const { return weights_ && (self().clip_norm() > 0 || optimizer_->squares() > 0); }
  Task<> update_by_squares();
  Task<> sum_up_gradient(Squares& squares);
  Task<> sum_up_tensors(Squares& squares);
  void find_squares_if_all_reduced();
  double own_squares();
  void add_own_squares(std::span<double> sums);
  void scale_gradients(const Squares& squares);
  void advance_by(const Squares& squares);
  void advance();
  void update(std::size_t bucket);
  Slice own(std::size_t bucket) { return slice(bucket, collective::index_in(partition_, self().rank())); }
  Slice slice(std::size_t bucket, std::size_t owner) const {
    return slice(buckets()[bucket].elements, owner);
  }
  Slice slice(Slice part, std::size_t owner) const;

  // What a member reports of the round that is under way.
  struct Status {
    bool lost = false;
    std::uint64_t round = 0;
    std::uint64_t plans = 0;         // it has begun to use
    std::uint64_t completions = 0;   // it has begun
    std::vector<bool> reduced;       // by bucket: its own slice
    std::optional<Squares> squares;  // known, and its slices are updated
  };
  // How the members complete what was under way. All of them find the same from the same reports.
  struct Completion {
    collective::SharedGroup members;  // they own the slices afterwards
    std::vector<Status> owners;       // by place in the partition
    std::vector<std::size_t> buckets;
    bool gathers_state = false;
    bool updates = false;  // parameters are updated in these buckets
    Squares squares;       // to update by
  };
  // What is summed up for a bucket: the slices that their owners have, or all members' own gradients.
  enum class Part : std::uint32_t { kParameters, kReduced, kLocal, kState, kEnd };

  Bytes report() override;
  Task<> recover(const membership::Reports& reports, const ExchangeTerms& terms) override;
  static Status status_from(const Bytes& bytes, Rank from);
  std::uint64_t begun_completions() const { return completions_ + (completion_ ? 1 : 0); }
  Completion plan_completion(const membership::Reports& reports, const ExchangeTerms& terms);
  Task<> carry_out(const ExchangeTerms& terms);
  Task<> gather_state_of_the_living(const ExchangeTerms& terms);
  Task<> complete_bucket(std::size_t bucket, const ExchangeTerms& terms);
  void finish_bucket(std::size_t bucket);
  Part part_for(std::size_t owner, std::size_t bucket) const;
  Data owned(Slice elements, Data values, bool has);
  Data own_part(Part part, std::size_t bucket, Data values);
  Task<Data> sum_up(Part part, std::size_t which, Data data, collective::Reduction how,
                    const ExchangeTerms& terms);

  bool weights_;
  std::size_t edge_;   // elements
  std::size_t front_;  // elements; of the foremost sections that are all-reduced at once
  optim::Optimizer* optimizer_;
  collective::SharedGroup partition_;  // the owners of the slices
  std::vector<bool> reduced_;          // by bucket of this round
  std::vector<bool> recovered_;        // by bucket of this round: completed after a loss
  bool advanced_ = false;              // the optimiser, in this round
  bool squares_begun_ = true;          // of the round; before the first there is nothing to sum up
  std::optional<Squares> squares_;     // once all slices are updated by them
  std::uint64_t plans_ = 0;            // begun to use
  collective::Buckets plan_in_use_;  // the last of these: the slices of the optimiser's state are those of it
  std::optional<Completion> completion_;
  std::uint64_t completions_ = 1;                // its number
  std::map<AgreedExchange::Lane, Buffer> sums_;  // of this completion
  std::set<std::size_t> finished_;               // buckets of this completion
  std::vector<float> scratch_;
};

}  // namespace starling::strategy
