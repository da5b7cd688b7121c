#include "starling/session/background/model_mean.h"

#include <algorithm>

#include "starling/core/combine.h"
#include "starling/core/error.h"
#include "starling/session/background/coordinator.h"

namespace starling::session {

using runtime::Task;
using Kind = ControlChannel::Kind;

namespace {

Bytes to_message(std::uint64_t number, std::span<const float> model) {
  return ByteWriter::message().put(number).put_block(std::as_bytes(model)).take();
}

std::vector<float> read_model(ByteReader& reader) {
  const std::span<const std::byte> block = reader.get_block();
  if (block.size() % sizeof(float) != 0) reader.refuse(concat(block.size(), " bytes are no float32 model"));
  std::vector<float> model(block.size() / sizeof(float));
  std::copy(block.begin(), block.end(), std::as_writable_bytes(std::span(model)).begin());
  return model;
}

}  // namespace

ModelMean::ModelMean(RealWorker& worker, ControlChannel& control, const Callbacks& callbacks,
                     const SessionOptions& options)
    : worker_(worker),
      control_(control),
      callbacks_(callbacks),
      publish_every_(options.publish_every),
      equal_models_(options.equal_models),
      final_mean_(options.final_model == FinalModel::kMean) {
  if (nothing_to_average()) return;
  control_.on(Kind::kMeanAsk, [this](Rank from, const Bytes& bytes) {
    ByteReader reader = ByteReader::message(bytes, concat("rank ", from, "'s request for a model"));
    answer(from, reader.get<std::uint64_t>());
  });
  control_.on(Kind::kMeanCopy, [this](Rank from, const Bytes& bytes) { take_copy(from, bytes); });
  control_.on(Kind::kFinalModel, [this](Rank from, const Bytes& bytes) { take_final_model(from, bytes); });
  control_.on(Kind::kFinalMean, [this](Rank from, const Bytes& bytes) {
    ByteReader reader = ByteReader::message(bytes, concat("the mean model from rank ", from));
    reader.get<std::uint64_t>();
    take_final_mean(read_model(reader));
  });
  control_.on_loss([this] {
    tell_next_coordinator();
    news_.pulse();
  });
}

bool ModelMean::nothing_to_average() const {
  return worker_.workers() == 1 || (equal_models_ && callbacks_.extras.empty());
}

std::size_t ModelMean::first() const { return equal_models_ ? worker_.parameters().count : 0; }

Task<bool> ModelMean::before_step(std::uint64_t) {
  if (!publish_every_ || nothing_to_average()) co_return true;
  if (published_ && worker_.now() - published_at_ < *publish_every_) co_return true;
  published_ = co_await copy_model();
  published_at_ = worker_.now();
  for (const auto& [rank, request] : std::exchange(unanswered_, {})) answer(rank, request);
  co_return true;
}

// Only what is exchanged.
Task<ModelMean::Model> ModelMean::copy_model() {
  co_await worker_.settle();
  const auto model = std::make_shared<Model>();  // shared with the user's thread
  std::span<const float> parameters;
  if (!equal_models_) parameters = strategy::floats(worker_.parameters());
  Task<> copied = worker_.on_user_thread(
      [model, parameters, &callbacks = callbacks_] {
        model->reserve(parameters.size() + extra_count(callbacks));
        model->assign(parameters.begin(), parameters.end());
        append_extras(*model, callbacks.extras);
      },
      "copy its model");
  co_await copied;
  co_return std::move(*model);
}

Task<> ModelMean::load_model(const Model& model) {
  std::span<float> parameters;
  if (!equal_models_) parameters = strategy::floats(worker_.parameters());
  if (model.size() != parameters.size() + extra_count(callbacks_)) {
    throw Error(concat("the mean model has ", model.size(), " elements, this worker's ",
                       parameters.size() + extra_count(callbacks_)));
  }
  const auto shared = std::make_shared<Model>(model);
  Task<> loaded = worker_.on_user_thread(
      [shared, parameters, &callbacks = callbacks_] {
        const float* from = shared->data();
        std::copy_n(from, parameters.size(), parameters.data());
        from += parameters.size();
        for (const std::span<float> extra : callbacks.extras) {
          std::copy_n(from, extra.size(), extra.data());
          from += extra.size();
        }
      },
      "take over the mean model");
  co_await loaded;
}

void ModelMean::answer(Rank to, std::uint64_t request) {
  if (!published_) {
    unanswered_[to] = request;
    return;
  }
  control_.send(to, Kind::kMeanCopy, to_message(request, *published_));
}

void ModelMean::take_copy(Rank from, const Bytes& bytes) {
  ByteReader reader = ByteReader::message(bytes, concat("the model of rank ", from));
  if (reader.get<std::uint64_t>() != request_) return;  // of an earlier request, which somebody's loss ended
  copies_[from] = read_model(reader);
  news_.pulse();
}

Task<std::vector<float>> ModelMean::with_others(std::vector<float> own) {
  if (nothing_to_average()) co_return own;
  if (!publish_every_) {
    throw InvalidArgument("mean() in a session whose workers publish no models; allowed: with publish_every");
  }
  copies_.clear();
  ++request_;
  for (Rank rank = 0; rank < worker_.workers(); ++rank) {
    if (rank != worker_.rank() && !worker_.lost(rank))
      control_.send(rank, Kind::kMeanAsk, ByteWriter::message().put(request_).take());
  }
  copies_[worker_.rank()] = Model(own.begin() + static_cast<std::ptrdiff_t>(first()), own.end());
  while (const std::optional<Rank> rank = missing(copies_)) {
    news_.rename(concat("the model of rank ", *rank));
    co_await news_;
  }
  const Model mean = mean_of(std::exchange(copies_, {}));
  std::copy(mean.begin(), mean.end(), own.begin() + static_cast<std::ptrdiff_t>(first()));
  co_return own;
}

// A worker that is lost is missed only if it sent nothing before.
std::optional<Rank> ModelMean::missing(const std::map<Rank, Model>& models) const {
  for (Rank rank = 0; rank < worker_.workers(); ++rank) {
    if (!models.contains(rank) && !worker_.lost(rank)) return rank;
  }
  return {};
}

// In the order of the ranks, so that the same models give the same bits. Workers that are lost by now do not
// count.
ModelMean::Model ModelMean::mean_of(const std::map<Rank, Model>& models) const {
  std::vector<const std::byte*> parts;
  const Model& own = models.at(worker_.rank());
  for (const auto& [rank, model] : models) {
    if (worker_.lost(rank)) continue;
    if (model.size() != own.size()) {
      throw Error(concat("the models of two workers have ", own.size(), " and ", model.size(),
                         " elements: rank ", rank, " has other extras"));
    }
    parts.push_back(reinterpret_cast<const std::byte*>(model.data()));
  }
  Model mean(own.size());
  const Combine how{.divisor = static_cast<double>(parts.size())};
  combine(DType::kFloat32, how, reinterpret_cast<std::byte*>(mean.data()), parts, mean.size());
  return mean;
}

Task<> ModelMean::finished() {
  if (!publish_every_ || nothing_to_average()) co_return;
  published_ = co_await copy_model();
  for (const auto& [rank, request] : std::exchange(unanswered_, {})) answer(rank, request);
}

Rank ModelMean::coordinator() const { return coordinator_of(worker_.net()); }

Task<> ModelMean::make_final() {
  if (!final_mean_ || nothing_to_average()) co_return;
  const Model own = co_await copy_model();
  final_models_[worker_.rank()] = own;
  while (!final_) {
    const Rank leader = coordinator();
    std::optional<Rank> awaited = leader;
    if (leader == worker_.rank()) {
      awaited = missing(final_models_);
    } else if (told_ != leader) {
      told_ = leader;
      control_.send(leader, Kind::kFinalModel, to_message(0, own));
    }
    if (!awaited) {
      take_final_mean(mean_of(final_models_));
      break;
    }
    news_.rename(concat("rank ", *awaited, " to finish, for the mean of the models"));
    co_await news_;
  }
  final_models_.clear();
  co_await load_model(*final_);
}

void ModelMean::take_final_model(Rank from, const Bytes& bytes) {
  if (final_) return control_.send(from, Kind::kFinalMean, to_message(0, *final_));
  ByteReader reader = ByteReader::message(bytes, concat("the last model of rank ", from));
  reader.get<std::uint64_t>();
  final_models_[from] = read_model(reader);
  news_.pulse();
}

// The coordinator passes it on; it may have got it from a worker that had it from the coordinator before.
void ModelMean::take_final_mean(Model mean) {
  if (final_) return;
  final_ = std::move(mean);
  news_.pulse();
  if (coordinator() != worker_.rank()) {
    told_ = coordinator();
    return;
  }
  for (Rank rank = 0; rank < worker_.workers(); ++rank) {
    if (rank != worker_.rank() && !worker_.lost(rank))
      control_.send(rank, Kind::kFinalMean, to_message(0, *final_));
  }
}

void ModelMean::tell_next_coordinator() {
  const Rank leader = coordinator();
  if (!final_ || leader == worker_.rank() || leader == told_) return;
  told_ = leader;
  control_.send(leader, Kind::kFinalMean, to_message(0, *final_));
}

}  // namespace starling::session
