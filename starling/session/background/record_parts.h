// A run's record while the run goes on: a rank whose journal is full hands its spans over to the coordinator,
// which then asks all ranks for theirs and folds what is older (record/record_fold.h). Runs that fill no
// journal send nothing. What a lost coordinator had is lost, and counted. Belongs to the engine's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "starling/record/record_fold.h"
#include "starling/session/background/control_channel.h"

namespace starling::session {

class RecordParts {
 public:
  // The spans of this rank since the part before.
  using TakePart = std::function<record::RankRecord(record::RecordPart)>;

  RecordParts(transport::Transport& net, ControlChannel& control, const record::RecordPlan& plan,
              TakePart take_part);

  // The journals of this rank: the worker's, that of a service, or both.
  void watch(const record::Journal& journal) { journals_.push_back(&journal); }
  // Times count from here.
  void begin(Time origin) { origin_ = origin; }

  // Between two steps of the worker: sends the spans so far when there are many.
  void send_if_full();

  // The coordinator: a part has arrived.
  void receive(const record::RankRecord& part);
  // The coordinator: a rank that is lost or has sent its last part is not waited for.
  void stop_waiting_for(Rank rank);
  // The coordinator, at the end: what was kept becomes part of the records.
  void finish(std::vector<record::RankRecord>& records);

 private:
  bool full() const;
  void send_part(record::RecordPart part);
  void begin_round();
  void end_round();

  transport::Transport& net_;
  ControlChannel& control_;
  std::size_t part_size_;
  TakePart take_part_;
  std::vector<const record::Journal*> journals_;
  Time origin_{};

  // Of the coordinator.
  record::RecordFold fold_;
  std::optional<Time> round_;   // the one that is going on began then
  std::vector<bool> awaited_;   // by rank: its answer is not here
  std::vector<bool> finished_;  // by rank: none will come
};

}  // namespace starling::session
