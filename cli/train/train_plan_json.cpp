#include "cli/train/train_plan_json.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <type_traits>

#include "starling/core/error.h"

namespace starling::cli {
namespace {

using PlanJson = nlohmann::json;

// The fields of each struct, listed once for both directions. `Spec` is the struct, const or not.
template <class Spec, class Struct>
concept SpecOf = std::is_same_v<std::remove_const_t<Spec>, Struct>;

template <SpecOf<transport::Link> Spec>
void each_field(Spec& link, const auto& visit) {
  visit("bytes_per_second", link.bytes_per_second);
  visit("latency", link.latency);
}

template <SpecOf<cluster::Jitter> Spec>
void each_field(Spec& jitter, const auto& visit) {
  visit("kind", jitter.kind);
  visit("a", jitter.a);
  visit("b", jitter.b);
}

template <SpecOf<cluster::JitterSpan> Spec>
void each_field(Spec& span, const auto& visit) {
  visit("steps", span.steps);
}

template <SpecOf<cluster::HostSpec> Spec>
void each_field(Spec& host, const auto& visit) {
  visit("name", host.name);
  visit("outside", host.outside);
  visit("inside", host.inside);
}

template <SpecOf<cluster::WorkerSpec> Spec>
void each_field(Spec& worker, const auto& visit) {
  visit("host", worker.host);
  visit("speed", worker.speed);
  visit("jitter", worker.jitter);
  visit("jitter_span", worker.jitter_span);
  visit("joins", worker.joins);
}

template <SpecOf<cluster::Fault> Spec>
void each_field(Spec& fault, const auto& visit) {
  visit("kind", fault.kind);
  visit("subject", fault.subject);
  visit("from", fault.from);
  visit("to", fault.to);
  visit("factor", fault.factor);
}

template <SpecOf<cluster::Cluster> Spec>
void each_field(Spec& cluster, const auto& visit) {
  visit("hosts", cluster.hosts);
  visit("workers", cluster.workers);
  visit("faults", cluster.faults);
  visit("network", cluster.network);
}

template <SpecOf<optim::OptimizerSpec> Spec>
void each_field(Spec& optimizer, const auto& visit) {
  visit("kind", optimizer.kind);
  visit("learning_rate", optimizer.learning_rate);
  visit("weight_decay", optimizer.weight_decay);
  visit("momentum", optimizer.momentum);
  visit("dampening", optimizer.dampening);
  visit("nesterov", optimizer.nesterov);
  visit("beta1", optimizer.beta1);
  visit("beta2", optimizer.beta2);
  visit("epsilon", optimizer.epsilon);
  visit("trust", optimizer.trust);
  visit("exclude_vectors", optimizer.exclude_vectors);
  visit("clip_norm", optimizer.clip_norm);
}

template <SpecOf<optim::WarmUp> Spec>
void each_field(Spec& warmup, const auto& visit) {
  visit("steps", warmup.steps);
  visit("epochs", warmup.epochs);
}

template <SpecOf<RateOfWorkers> Spec>
void each_field(Spec& rate, const auto& visit) {
  visit("scale", rate.scale);
  visit("of_one", rate.of_one);
}

template <SpecOf<record::RecordPlan> Spec>
void each_field(Spec& record, const auto& visit) {
  visit("mode", record.mode);
  visit("spans", record.spans);
}

template <SpecOf<torch::TrainOptions> Spec>
void each_field(Spec& setting, const auto& visit) {
  visit("model", setting.model);
  visit("batch", setting.batch);
  visit("dynamic_shards", setting.dynamic_shards);
  visit("seed", setting.seed);
  visit("threads", setting.threads);
  visit("optimizer", setting.optimizer);
  visit("schedule", setting.schedule);
  visit("warmup", setting.warmup);
  visit("power", setting.power);
  visit("end_rate", setting.end_rate);
  visit("nonfinite", setting.nonfinite);
  visit("epochs", setting.epochs);
  visit("steps", setting.steps);
  visit("until", setting.until);
  visit("target_loss", setting.target_loss);
  visit("target_accuracy", setting.target_accuracy);
  visit("stop_at_target", setting.stop_at_target);
  visit("cluster", setting.cluster);
  visit("pace", setting.pace);
  visit("evaluate", setting.evaluate);
  visit("eval_every", setting.eval_every);
  visit("eval_points", setting.eval_points);
  visit("check_sync", setting.check_sync);
  visit("checkpoint_every", setting.checkpoint_every);
  visit("checkpoints", setting.checkpoints);
  visit("resume", setting.resume);
  visit("record", setting.record);
}

// The strategy stands for itself by its name.
template <SpecOf<TrainPlan> Spec>
void each_field(Spec& plan, const auto& visit) {
  visit("setting", plan.setting);
  visit("rate", plan.rate);
  visit("options", plan.options);
  visit("workers", plan.workers);
  visit("link", plan.link);
  visit("data", plan.data);
  visit("out", plan.out);
  visit("force", plan.force);
  visit("json", plan.json);
}

// For the question whether a type has fields.
struct IgnoreField {
  template <class Field>
  void operator()(const char*, Field&) const {}
};

// Declared first, since each may hold the others.
PlanJson encode(Duration duration);
PlanJson encode(Time time);
template <class Value>
PlanJson encode(const std::optional<Value>& value);
template <class Value>
PlanJson encode(const std::vector<Value>& values);
void decode(const PlanJson& json, Duration& duration);
void decode(const PlanJson& json, Time& time);
template <class Value>
void decode(const PlanJson& json, std::optional<Value>& value);
template <class Value>
void decode(const PlanJson& json, std::vector<Value>& values);

template <class Value>
PlanJson encode(const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return static_cast<int>(value);
  } else if constexpr (std::is_same_v<Value, std::filesystem::path>) {
    return value.string();
  } else if constexpr (requires { each_field(value, IgnoreField{}); }) {
    PlanJson json = PlanJson::object();
    each_field(value, [&](const char* name, const auto& field) { json[name] = encode(field); });
    return json;
  } else {
    return value;
  }
}
PlanJson encode(Duration duration) { return duration.count(); }
PlanJson encode(Time time) { return time.time_since_epoch().count(); }

template <class Value>
PlanJson encode(const std::optional<Value>& value) {
  return value ? encode(*value) : PlanJson();
}

template <class Value>
PlanJson encode(const std::vector<Value>& values) {
  PlanJson json = PlanJson::array();
  for (const Value& value : values) json.push_back(encode(value));
  return json;
}

template <class Value>
void decode(const PlanJson& json, Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    value = static_cast<Value>(json.get<int>());
  } else if constexpr (std::is_same_v<Value, std::filesystem::path>) {
    value = json.get<std::string>();
  } else if constexpr (requires { each_field(value, IgnoreField{}); }) {
    each_field(value, [&](const char* name, auto& field) { decode(json.at(name), field); });
  } else {
    value = json.get<Value>();
  }
}
void decode(const PlanJson& json, Duration& duration) { duration = Duration(json.get<Duration::rep>()); }
void decode(const PlanJson& json, Time& time) { time = Time(Duration(json.get<Duration::rep>())); }

template <class Value>
void decode(const PlanJson& json, std::optional<Value>& value) {
  if (json.is_null()) return value.reset();
  Value given{};
  decode(json, given);
  value = std::move(given);
}

template <class Value>
void decode(const PlanJson& json, std::vector<Value>& values) {
  values.resize(json.size());
  for (std::size_t i = 0; i < values.size(); ++i) decode(json.at(i), values[i]);
}

[[noreturn]] void fail(const char* what) { throw Error(concat("train: ", what, ": ", std::strerror(errno))); }

}  // namespace

PlanJson to_json(const torch::TrainOptions& setting) { return encode(setting); }

torch::TrainOptions options_from_json(const PlanJson& json) {
  torch::TrainOptions setting;
  decode(json, setting);
  return setting;
}

PlanJson to_json(const TrainPlan& plan) {
  PlanJson json = encode(plan);
  json["strategy"] = plan.strategy->name;
  return json;
}

TrainPlan plan_from_json(const PlanJson& json) {
  try {
    TrainPlan plan;
    decode(json, plan);
    plan.strategy = &strategy::find_strategy(json.at("strategy").get<std::string>());
    return plan;
  } catch (const PlanJson::exception& error) {
    throw Error(concat("this is not the plan of a training: ", error.what()));
  }
}

// CBOR: names of files need not be UTF-8. The standard streams' numbers are left to these.
int open_plan(const TrainPlan& plan) {
  constexpr int kAboveStandardStreams = 3;
  const std::vector<std::uint8_t> bytes = PlanJson::to_cbor(to_json(plan));
  const int memory = memfd_create("starling-plan", MFD_CLOEXEC);
  if (memory < 0) fail("memfd_create");
  if (::write(memory, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) fail("write");
  const int inherited = fcntl(memory, F_DUPFD, kAboveStandardStreams);
  if (inherited < 0) fail("fcntl");
  close(memory);
  return inherited;
}

// The workers share the file's position, so they leave it where it is.
TrainPlan read_plan(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) fail("no plan");
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(status.st_size));
  if (pread(descriptor, bytes.data(), bytes.size(), 0) != status.st_size) fail("no plan");
  close(descriptor);
  return plan_from_json(PlanJson::from_cbor(bytes, true, false));
}

}  // namespace starling::cli
