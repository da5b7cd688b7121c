// The work of a direct exchange, once it is committed. The data is cut in pieces; a member that runs takes
// the next one, beginning with its own share, so nobody waits for a member that the system has not scheduled
// yet.
//
// A piece goes block by block: the sum of a block is formed in the worker's log, the log is numbered, and
// only then copied to the members. If the worker dies, the member that finds its piece copies the numbered
// log out again (or, if it had not been numbered, forms the sum again from data that nobody has touched) and
// goes on.
#pragma once

#include <cstdint>
#include <vector>

#include "starling/collective/direct_meeting.h"
#include "starling/core/combine.h"
#include "starling/core/partition.h"

namespace starling::collective {

// The number of pieces for an exchange of this much data.
std::size_t count_pieces(DirectTask task, const Data& data, std::size_t members);

class Work {
 public:
  Work(Meeting& meeting, const Contribution& brings);

  // Returns when every piece is done, by whichever member. Throws Timeout if a living member holds a piece
  // and does not go on; the data is then undefined.
  Task<> run();

 private:
  class Progress;

  void prepare_reduction();
  Task<> take_pieces();
  bool claim(std::size_t piece);
  bool claimable(std::uint64_t word) const;
  bool claimable_left() const;
  bool finished();
  void process(std::size_t piece);
  void redo_logged_block(std::size_t piece);
  void reduce_block(std::size_t piece, std::size_t block);
  void hand_out(std::size_t piece, Slice elements);
  void copy(std::size_t piece, Slice elements);
  void publish(std::size_t piece, std::uint64_t word);

  std::size_t owner(std::size_t piece) const;  // the member whose slice it belongs to
  Slice range(std::size_t piece) const;        // in elements
  std::size_t blocks(std::size_t piece) const;
  Slice block_range(std::size_t piece, std::size_t block) const;
  bool goes_to(std::size_t piece, std::size_t member) const;
  std::byte* place(std::size_t member, std::size_t element) const;
  void fault(const char* where) const;
  void wake_all();

  Meeting& meeting_;
  const Contribution& brings_;
  transport::SharedMemory& memory_;
  Rank rank_;
  std::size_t element_;  // bytes
  Combine combine_;
  std::vector<double> weights_;
  std::vector<const std::byte*> sources_;
  std::size_t open_ = 0;  // all pieces before it are done
};

}  // namespace starling::collective
