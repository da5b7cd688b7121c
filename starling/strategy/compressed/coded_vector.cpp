#include "starling/strategy/compressed/coded_vector.h"

#include <algorithm>
#include <cstring>

#include "starling/core/text.h"

namespace starling::strategy {

CodedVector::CodedVector(Member& self, const compression::Rule& rule, const compression::Layout& layout,
                         std::uint64_t seed)
    : self_(self),
      copies_(rule.kind->copies),
      count_(compression::elements_of(layout)),
      compressor_(make_compressor(rule, layout, seed)),
      code_(self.allocate((compressor_->code_bytes() + sizeof(float) - 1) / sizeof(float))) {
  encode_nothing();
}

void CodedVector::keep_residual(const std::string& name) {
  if (code_.data.ghost()) return;
  feedback_.emplace(*compressor_, count_);
  self_.keep(concat("not sent yet ", name), std::as_writable_bytes(feedback_->residual()));
}

Task<> CodedVector::pass_time() {
  const double bytes = copies_ * static_cast<double>(2 * count_ * sizeof(float));
  return self_.pass_memory(static_cast<std::size_t>(bytes));
}

void CodedVector::encode(Data values, std::uint64_t number) {
  if (values.ghost()) return;
  encode_nothing();
  if (feedback_) {
    feedback_->encode(floats(values), number, used());
  } else {
    compressor_->encode(floats(values), number, used());
  }
}

void CodedVector::encode_nothing() {
  if (!code_.data.ghost()) std::ranges::fill(code_.data.span(), std::byte{0});
}

void CodedVector::decode(std::uint64_t number, Data values) const {
  if (!values.ghost()) compressor_->decode(used(), number, floats(values));
}

void CodedVector::add_to(Data values, std::uint64_t number) const {
  if (!values.ghost()) compressor_->add(used(), number, 1, floats(values));
}

}  // namespace starling::strategy
