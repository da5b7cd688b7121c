// A worker's groups from the generator.
#pragma once

#include <utility>

#include "starling/coordination/correspondent.h"

namespace starling::coordination {

class GroupClient final : public Correspondent {
 public:
  GroupClient(transport::Transport& net, const GroupSetting& setting, std::function<Duration()> computing)
      : Correspondent(net, setting), computing_(std::move(computing)) {}

  runtime::Task<std::optional<Meeting>> next() override;
  runtime::Task<std::optional<Meeting>> next_before_leaving() override;
  std::uint64_t& count() override { return count_; }
  void finished() override;
  void failed() override;

 private:
  void handle(const GroupNote& note) override;
  void ask(GroupNote::Verb verb);
  runtime::Task<std::optional<Meeting>> take_answer();
  void begin_census();
  void answer_census();

  std::function<Duration()> computing_;
  Duration computed_{};         // when it asked last
  std::uint64_t count_ = 0;     // synchronisations begun
  std::uint64_t finished_ = 0;  // number of the last group
  bool more_ = false;           // groups belong to this synchronisation
  bool through_ = false;        // with this synchronisation
  bool leaves_ = false;
  bool asks_ = false;                // the generator owes an answer
  std::optional<GroupNote> answer_;  // that nobody has looked at yet
  std::optional<GroupNote> given_;   // the last group, if it is not finished
  bool running_ = false;             // that group
  bool census_ = false;              // has to be answered
};

}  // namespace starling::coordination
