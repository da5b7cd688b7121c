// The accuracy over the time of a run: snapshots are collected while it goes on and judged afterwards, or at
// once on a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "starling/record/run_record.h"
#include "starling/session/callbacks.h"
#include "starling/torch/evaluator.h"
#include "starling/torch/train_options.h"

namespace starling::torch {

inline constexpr Duration kSnapshotEvery = std::chrono::milliseconds(500);

class AccuracyCurve {
 public:
  // `reached` is called once, from any thread, when a snapshot has reached the target of the setting.
  AccuracyCurve(const TrainOptions& setting, std::function<void()> reached);
  ~AccuracyCurve();

  // From any thread, quickly.
  void add(session::Snapshot snapshot);
  // The same for one that another worker has in its own curve: it is judged only if this one is finished.
  void keep(session::Snapshot snapshot);

  struct Result {
    std::vector<record::LossPoint> points;
    std::optional<double> test_accuracy;  // of the last model
    std::optional<double> train_loss;     // before the end
    std::optional<Duration> time_to_target;
    data::TensorFile model;
  };
  // When the run is over. Judges at most `setting.eval_points` snapshots, `all` or only the last one.
  Result finish(bool all);

 private:
  struct Entry {
    session::Snapshot snapshot;
    std::optional<Score> score;
    bool kept = false;  // for another worker
  };

  void insert(Entry entry);
  void thin();
  Evaluator& evaluator();
  void judge_as_they_come();
  void end_judging();
  void judge(Entry& entry);
  void choose();
  bool reaches(const Entry& entry) const;

  const TrainOptions& setting_;
  Duration interval_;
  std::function<void()> reached_;
  // Of the judging thread, then of finish(); made by the first that needs it, since most workers never do.
  std::optional<Evaluator> evaluator_;
  std::mutex mutex_;
  std::condition_variable added_;
  std::vector<Entry> entries_;  // by time
  bool over_ = false;
  bool told_ = false;
  std::thread judge_;
};

}  // namespace starling::torch
