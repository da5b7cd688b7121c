// The record of a run: every rank writes its own and sends it to rank 0 when its strategy is over. Belongs to
// the engine's thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "starling/record/run_record.h"
#include "starling/runtime/event.h"
#include "starling/session/background/control_channel.h"
#include "starling/strategy/run_info.h"

namespace starling::session {

class RecordCollector {
 public:
  // If none is wanted, the journals keep no spans and nothing is sent.
  RecordCollector(transport::Transport& net, ControlChannel& control, const strategy::RunInfo& info,
                  bool wanted);

  // The service that runs on this rank, beside a worker or alone. Its journal belongs to the record; alone,
  // the record is sent when rank 0 asks for it.
  void include(record::Journal& service);
  // Times and traffic count from here. What ControlChannel sends is not counted: it is no traffic of the
  // strategy, and there is none of it in a simulated run.
  void begin(Time origin);

  // The strategy was over at `end`; `why` is empty if it did all its work. Takes the spans out of the
  // journal. On ranks other than 0 the record is on its way afterwards.
  void bring_in(record::Journal& journal, Time end, std::string why);
  // Other ranks: until rank 0 has the record or is lost.
  runtime::Task<> delivered();
  // Rank 0: until every other rank's record is here or the rank is lost.
  runtime::Task<> gathered();
  // Rank 0: by rank. A lost rank is in it with what is known. Empty if no record is wanted.
  std::vector<record::RankRecord> take();

  // Notes the last known progress of a worker in case it is lost.
  void note(Rank worker, std::uint64_t steps, std::uint64_t samples);

 private:
  record::RankRecord blank(Rank rank) const;
  record::RankRecord own(record::Journal& journal, Time end);
  void count_traffic(record::RankRecord& record) const;
  void receive(Rank from, const Bytes& bytes);
  void note_losses();
  runtime::Task<> arrival_of(Rank rank);

  transport::Transport& net_;
  ControlChannel& control_;
  const strategy::RunInfo& info_;
  bool wanted_;
  Time origin_{};
  transport::Traffic before_;
  record::Journal* service_ = nullptr;
  bool taken_ = false;  // rank 0 has this rank's record
  runtime::Event news_;

  // On rank 0, by rank.
  std::vector<std::optional<record::RankRecord>> records_;
  std::vector<record::RankRecord> known_;  // of ranks whose record does not come
};

}  // namespace starling::session
