// The record of a run: every rank writes its own and sends it to the coordinator (coordinator.h) when its
// strategy is over. It keeps it until the run is concluded: if the coordinator is lost, the next one gets it
// too. Belongs to the engine's thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "starling/record/run_record.h"
#include "starling/runtime/event.h"
#include "starling/session/background/control_channel.h"
#include "starling/session/background/record_parts.h"
#include "starling/session/worker/step_hook.h"
#include "starling/strategy/run_info.h"

namespace starling::session {

class RecordCollector final : public StepHook {
 public:
  // If none is wanted, the journals keep no spans and nothing is sent.
  RecordCollector(transport::Transport& net, ControlChannel& control, const strategy::RunInfo& info,
                  bool wanted, const record::RecordPlan& plan);

  // The journal of the worker on this rank.
  void watch(record::Journal& worker);
  // The service that runs on this rank, beside a worker or alone. Its journal belongs to the record; alone,
  // the record is sent when the coordinator asks for it.
  void include(record::Journal& service);
  // This is no traffic of the strategy either. It must outlive the record.
  void leave_out(const transport::Traffic& traffic) { left_out_ = &traffic; }
  // Times and traffic count from here. What ControlChannel sends is not counted: it is no traffic of the
  // strategy, and there is none of it in a simulated run.
  void begin(Time origin);

  // The strategy was over at `end`; `why` is empty if it did all its work. Takes the spans out of the
  // journal. On ranks other than the coordinator the record is on its way afterwards.
  void bring_in(record::Journal& journal, Time end, std::string why);
  // Until the coordinator has the record, or this rank is the coordinator.
  runtime::Task<> delivered();
  // The coordinator: until every rank's record is here or the rank is lost.
  runtime::Task<> gathered();
  // The coordinator: by rank. A lost rank is in it with what is known. Empty if no record is wanted.
  std::vector<record::RankRecord> take();
  // No coordinator will need this rank's record any more.
  void forget() { own_.reset(); }

  // Counts the traffic of the step before. Sends the spans so far when there are many.
  runtime::Task<bool> before_step(std::uint64_t) override;

  // Notes the last known progress of a worker in case it is lost.
  void note(Rank worker, std::uint64_t steps, std::uint64_t samples);

 private:
  record::RankRecord blank(Rank rank) const;
  record::RankRecord own(record::Journal& journal, Time end);
  record::Span since_origin(record::Span span) const;
  record::RankRecord take_part(record::RecordPart part);
  transport::Traffic traffic() const;
  void count_traffic(record::RankRecord& record) const;
  void deliver();
  void receive(Rank from, const Bytes& bytes);
  void note_losses();
  runtime::Task<> arrival_of(Rank rank);

  transport::Transport& net_;
  ControlChannel& control_;
  const strategy::RunInfo& info_;
  bool wanted_;
  Time origin_{};
  transport::Traffic before_;
  const transport::Traffic* left_out_ = nullptr;
  bool keeps_spans_;
  record::Journal* worker_ = nullptr;
  record::Journal* service_ = nullptr;
  RecordParts parts_;
  std::optional<record::RankRecord> own_;  // when the strategy is over
  Rank sent_to_ = -1;                      // the coordinator that was sent it
  Rank taken_by_ = -1;                     // the last one that has it
  runtime::Event news_;

  // By rank; filled on the coordinator.
  std::vector<std::optional<record::RankRecord>> records_;
  std::vector<record::RankRecord> known_;  // of ranks whose record does not come
};

}  // namespace starling::session
