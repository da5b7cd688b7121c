// The mean of vectors whose codes have every element: slice i of all goes to the i-th member, which forms the
// mean of floats and sends its code to all. So each element is rounded twice, whatever the number of workers;
// codes that travelled along a ring would be rounded at every hop.
//
// What the second rounding leaves out the owner of the slice adds to its next mean (Tang et al.,
// "DoubleSqueeze", ICML'19). When members change, slices do, and that is forgotten.
//
// A member sends 2 C (n-1)/n, C being the size of a code of the whole vector, and receives as much.
#pragma once

#include <deque>
#include <vector>

#include "starling/strategy/compressed/coded_mean.h"

namespace starling::strategy {

class DenseMean final : public CodedMean {
 public:
  DenseMean(Worker& self, AgreedExchange& agreed, const compression::Rule& rule,
            const compression::Layout& layout, const std::string& name);

  Task<> form(Data meant, double weight, std::uint64_t number, Data mean) override;

 private:
  // Of an exchange among certain members.
  struct Round {
    Group group = {};
    std::size_t index = 0;  // of this worker
    Data meant = {};
    double weight = 0;
    std::uint64_t number = 0;
    Data mean = {};

    Slice slice(std::size_t i) const { return slice_of(meant.count, group.size(), i); }
    std::span<float> of(Data data, std::size_t i) const {
      return floats(data).subspan(slice(i).begin, slice(i).size());
    }
  };

  Task<> exchange(const ExchangeTerms& terms, Tag tag, Round round);
  void make_room(const Round& round);
  void encode_own(const Round& round);
  Task<> swap_slices(const Round& round, Tag tag);
  void form_own_slice(const Round& round);
  void decode_all(const Round& round);
  void forget_sent(const Round& round);
  std::unique_ptr<compression::Compressor> compressor(const Round& round, std::size_t slice, Rank from) const;

  // Where a code is in a buffer of them; a code to an owner follows the weight of its sender.
  std::span<std::byte> place(const Buffer& buffer, std::size_t i, bool weighted) const;

  Worker& self_;
  AgreedExchange& agreed_;
  compression::Rule rule_;
  std::size_t slot_ = 0;  // of the largest code, in floats
  Buffer outgoing_;       // by owner
  Buffer incoming_;       // by sender
  Buffer result_;         // by owner: the codes of the mean
  Buffer own_mean_;       // of this worker's slice; afterwards what its code has left out
  Buffer left_out_;       // by element, of this worker's slice: from the last exchange
  Round last_;
};

}  // namespace starling::strategy
