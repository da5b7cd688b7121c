// The gradients of a step on their way: they are put together in buckets by a plan, and each bucket is sent
// when the backward pass has filled it. What the schedules have in common; each of them says how the plan is
// made and what is done with a bucket.
//
// A round is the transfers of one step. Its last ones may still be under way when the next step has
// begun: they have arrived before the forward pass uses their sections.
#pragma once

#include <cstdint>
#include <vector>

#include "starling/collective/buckets.h"
#include "starling/strategy/schedule/bucket_size.h"
#include "starling/strategy/schedule/transfer_scheduler.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

class BucketSchedule : public StepListener {
 public:
  struct TransferOptions {
    int window = 1;  // transfers at once
    collective::Choice algorithm = {};
    BucketSizeOptions fusion = {};
  };

  // An exchange of all members.
  struct Transfer {
    record::Detail::Kind kind = record::Detail::Kind::kAllReduce;
    Slice sections;
    std::optional<Data> result;  // where all members have the same afterwards; none: each has something else
    std::function<Task<>(const ExchangeTerms& terms, Tag tag)> work;
  };

  void begins() final;
  void gradient_ready(std::size_t section) override;
  Task<> before_forward(std::size_t section) final;
  Task<> settle() override;
  std::size_t part_of(std::size_t section) const final;

 protected:
  // Whether update() is called section by section before the next forward pass, or by somebody else.
  enum class Update { kElsewhere, kBySection };

  BucketSchedule(Worker& self, AgreedExchange& agreed, const TransferOptions& setting,
                 TransferScheduler::Order order, Update update, const runtime::Context& context);
  ~BucketSchedule() override = default;

  // From here on what a schedule decides.
  virtual collective::Buckets plan(std::size_t threshold) = 0;   // of elements
  virtual std::size_t jobs() const { return buckets().size(); }  // of a round
  virtual void opened() {}                                       // a round, before the first is filled
  virtual void filled(std::size_t bucket) = 0;
  // Says what a numbered transfer exchanges, and is told when it has been exchanged.
  virtual Transfer transfer(std::size_t job) { return average(job); }
  virtual void transferred(std::size_t job) { arrive(job); }
  // Before a plan is replaced, with nothing under way.
  virtual Task<> leave_plan();
  // Whether the plan may be another in the next round, and the plan if it is.
  virtual bool may_replan() const { return fusion_.tuned(); }
  virtual Task<collective::Buckets> replan();
  // A number for everything else that must be the same on all workers.
  virtual std::uint64_t kind() const = 0;

  Worker& self() { return self_; }
  const Worker& self() const { return self_; }
  TransferScheduler& transfers() { return transfers_; }
  AgreedExchange& agreed() { return agreed_; }
  const TransferOptions& setting() const { return setting_; }
  const collective::Buckets& buckets() const { return buckets_; }
  // The step whose gradients are under way, how they become their mean, and its learning rate.
  std::uint64_t round() const { return round_; }
  collective::Reduction how() const { return how_; }
  double learning_rate() const { return learning_rate_; }
  std::vector<Slice> places() const;  // of the sections

  // The gradients of the bucket become their mean over all workers.
  Transfer average(std::size_t bucket) {
    return average(buckets_[bucket].elements, buckets_[bucket].sections, setting_.algorithm);
  }
  Transfer average(Slice elements, Slice sections, collective::Choice algorithm);
  // Exchanges it, noted as a transfer of its sections.
  Task<> exchange(const Transfer& transfer, const ExchangeTerms& terms, Tag tag);
  void arrive(std::size_t bucket);
  static AgreedExchange::Lane lane_of(std::size_t job) { return static_cast<AgreedExchange::Lane>(1 + job); }
  // The round waits for its plan.
  bool opening() const { return opening_; }

 private:
  Task<bool> run_transfer(std::size_t job, const ExchangeTerms& terms, Tag tag);
  void open();
  void start();
  void take();
  Task<> prepare();
  Task<> agree();
  void set_plan(collective::Buckets buckets);
  bool here(std::size_t section) const;
  Task<> wait_for(std::size_t section);

  Worker& self_;
  AgreedExchange& agreed_;
  TransferOptions setting_;
  Update update_;
  collective::Buckets buckets_;
  std::vector<Slice> buckets_of_;     // by section
  std::vector<std::size_t> missing_;  // by bucket: sections whose gradient is not ready
  std::vector<bool> arrived_;         // by bucket
  std::vector<bool> updated_;         // by section
  std::vector<std::size_t> ready_;    // sections that wait for the round to be open
  std::uint64_t round_ = 0;
  collective::Reduction how_;
  double learning_rate_ = 0;
  bool fresh_ = false;         // a step has begun and none of its gradients is ready
  bool opening_ = false;       // the round waits for its plan
  bool plan_agreed_ = false;   // the first one
  std::uint64_t meeting_ = 0;  // that was over last
  BucketSize fusion_;
  TransferScheduler transfers_;  // goes first: its tasks use the rest
};

}  // namespace starling::strategy
