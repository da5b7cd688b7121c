// A worker's groups from the generator.
#pragma once

#include <utility>

#include "starling/coordination/generator_channel.h"

namespace starling::coordination {

class GroupClient final : public GeneratorChannel {
 public:
  GroupClient(transport::Transport& net, const GroupOptions& setting, std::function<Duration()> computing)
      : GeneratorChannel(net, setting), computing_(std::move(computing)) {}

  runtime::Task<std::optional<GroupTurn>> next() override;
  runtime::Task<std::optional<GroupTurn>> next_before_leaving() override;
  bool called() const override { return called_ > finished_; }
  std::uint64_t& count() override { return count_; }
  void finished() override;
  void failed() override;

 private:
  void handle(const GroupMessage& note) override;
  void ask(GroupMessage::Verb verb);
  runtime::Task<std::optional<GroupTurn>> take_answer();
  void begin_census();
  void answer_census();

  std::function<Duration()> computing_;
  Duration computed_{};         // at its last request
  std::uint64_t count_ = 0;     // synchronisations begun
  std::uint64_t finished_ = 0;  // number of the last group
  std::uint64_t called_ = 0;    // number of the last group that it was called to
  bool more_ = false;           // more groups belong to this synchronisation
  bool through_ = false;        // with this synchronisation
  bool leaves_ = false;
  bool asks_ = false;                   // the generator owes an answer
  std::optional<GroupMessage> answer_;  // not used yet
  std::optional<GroupMessage> given_;   // the last group, if it is not finished
  bool running_ = false;                // that group
  bool census_ = false;                 // has to be answered
};

}  // namespace starling::coordination
