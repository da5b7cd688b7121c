#include "starling/sim/replay.h"

#include "starling/core/error.h"

namespace starling::sim {
namespace {

[[noreturn]] void refuse() { throw Error("a replay has no numbers"); }

}  // namespace

Replay::Replay(const ReplayModel& model, std::size_t batch) : batch_(batch == 0 ? model.batch : batch) {
  std::size_t offset = 0;
  for (const ReplayTensor& tensor : model.tensors) {
    sections_.push_back({std::string(tensor.name), offset, tensor.count, tensor.rows == 1, tensor.rows});
    offset += tensor.count;
    const double seconds =
        static_cast<double>(tensor.forward_ops) * static_cast<double>(batch_) / model.ops_per_second;
    times_.forward.push_back(seconds);
    times_.backward.push_back(2 * seconds);
  }
}

void Replay::initialize(std::span<float>, Random&) const { refuse(); }

double Replay::gradient(Rank, std::span<const float>, std::span<float>, std::size_t, Random&) const {
  refuse();
}

Evaluation Replay::evaluate(std::span<const float>) const { refuse(); }

}  // namespace starling::sim
