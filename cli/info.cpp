#include "cli/info.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/bench/bench_subjects.h"
#include "cli/common/find_program.h"
#include "cli/common/machine.h"
#include "starling/collective/select.h"
#include "starling/compression/registry.h"
#include "starling/core/combine.h"
#include "starling/core/descriptor.h"
#include "starling/core/error.h"
#include "starling/core/version.h"
#include "starling/join/run_environment.h"
#include "starling/strategy/registry.h"
#include "starling/transport/wire/mpi.h"
#include "starling/transport/wire/ucx.h"

namespace starling::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string compiler() {
#if defined(__clang__)
  return __VERSION__;  // names Clang itself
#else
  return concat("GCC ", __VERSION__);
#endif
}

std::string build_type() {
  std::vector<std::string_view> words;
#if defined(__OPTIMIZE__)
  words.emplace_back("optimized");
#else
  words.emplace_back("not optimized");
#endif
#if defined(NDEBUG)
  words.emplace_back("without assertions");
#else
  words.emplace_back("with assertions");
#endif
#if defined(__SANITIZE_ADDRESS__)
  words.emplace_back("address sanitizer");
#elif defined(__SANITIZE_THREAD__)
  words.emplace_back("thread sanitizer");
#endif
  return join_texts(words);
}

// The processor's features that the vector kernels in use are compiled for.
std::vector<std::string> features_used() {
  if (&detail::active_kernels() == &detail::baseline_kernels()) return {};
  return {"avx2", "f16c"};
}

// The part that needs LibTorch is a program of its own.
Availability libtorch() {
  if (const auto trainer = find_own_file("starling-trainer")) return {true, concat("train: ", *trainer), {}};
  return {false, "LibTorch was not found when this program was built", {}};
}

// Determined by trying: containers may forbid what the kernel has.
Availability shared_memory() {
  try {
    make_memory_file("probe");
  } catch (const Error& error) {
    return {false, error.what(), {}};
  }
  if (!open_process(getpid()).valid()) return {false, concat("pidfd_open: ", std::strerror(errno)), {}};
  return {true, "ranks of one host", {}};
}

struct Part {
  std::string_view name;
  Availability state;
};

Availability ucx() {
  const std::string why = transport::wire::why_no_ucx();
  if (!why.empty()) return {false, why, {}};
  return {true, fmt::format("between hosts, UCX {}", transport::wire::ucx_version()), {}};
}

Availability mpi() {
  const std::string why = transport::wire::why_no_mpi();
  if (!why.empty()) return {false, why, {}};
  return {true, fmt::format("between hosts, under mpirun or srun, {}", transport::wire::mpi_version()), {}};
}

std::vector<Part> transports() {
  return {{"inproc", {true, "ranks of one process", {}}},
          {"shm", shared_memory()},
          {"ucx", ucx()},
          {"mpi", mpi()}};
}

std::vector<Part> found_peers() {
  std::vector<Part> parts;
  for (const Peer& peer : peers()) parts.push_back({peer.name, peer.find()});
  return parts;
}

Json to_json(const std::vector<Part>& parts) {
  Json json;
  for (const Part& part : parts) {
    json[std::string(part.name)] = {{"available", part.state.available}, {"detail", part.state.detail}};
  }
  return json;
}

Json all_reduce_tables() {
  if (const auto chosen = collective::Selection::from_environment()) {
    return {{"STARLING_ALLREDUCE", chosen->text()}};
  }
  return {{"shared memory", collective::Selection::shared_memory().text()},
          {"several hosts", collective::Selection::hosts().text()},
          {"network", collective::Selection::network().text()}};
}

// The view of a program that uses Starling. A wrong environment is information here, not an error.
Json this_process() {
  try {
    const join::RunEnvironment environment = join::read_run_environment();
    if (environment.started_by.empty()) {
      return {{"started_by",
               "nobody: none of STARLING_RANK, RANK, OMPI_COMM_WORLD_RANK, PMI_RANK is set, nor SLURM_PROCID "
               "in a step of srun"},
              {"rank", 0},
              {"ranks", 1}};
    }
    return {{"started_by", environment.started_by},
            {"joins", join::join_method_text(environment)},
            {"rank", environment.rank},
            {"ranks", environment.ranks},
            {"workers", environment.workers}};
  } catch (const InvalidArgument& error) {
    return {{"error", error.what()}};
  }
}

Json collect() {
  Json json;
  json["version"] = version();
  json["compiler"] = compiler();
  json["build"] = build_type();
  json["cpu"] = cpu_name();
  json["cores"] = usable_cores();
  json["kernels"] = detail::active_kernels().name;
  json["features"] = features_used();
  json["transports"] = to_json(transports());
  json["frameworks"] = to_json({{"libtorch", libtorch()}});
  for (const strategy::StrategyEntry& row : strategy::registry()) json["strategies"][row.name] = row.summary;
  for (const compression::Kind& kind : compression::kinds()) json["compression"][kind.form] = kind.help;
  json["peers"] = to_json(found_peers());
  json["allreduce"] = all_reduce_tables();
  json["process"] = this_process();
  return json;
}

void print_parts(const Json& parts) {
  for (const auto& [name, part] : parts.items()) {
    fmt::print("  {:<12}{}: {}\n", name, part["available"].get<bool>() ? "yes" : "no",
               part["detail"].get<std::string>());
  }
}

void print(const Json& json) {
  const auto text = [&](const char* key) { return json[key].get<std::string>(); };
  const auto features = json["features"].get<std::vector<std::string>>();
  fmt::print("starling {}\n", text("version"));
  fmt::print("compiler      {}, {}\n", text("compiler"), text("build"));
  fmt::print("processor     {}, {} usable\n", text("cpu"), cores_text(json["cores"].get<int>()));
  fmt::print("kernels       {}, using {}\n", text("kernels"),
             features.empty() ? "no extra features" : join_texts(features));
  fmt::print("\ntransports\n");
  print_parts(json["transports"]);
  fmt::print("\nframeworks\n");
  print_parts(json["frameworks"]);
  fmt::print("\nstrategies\n");
  for (const auto& [name, summary] : json["strategies"].items()) {
    fmt::print("  {:<12}{}\n", name, summary.get<std::string>());
  }
  fmt::print("\ncompression\n");
  for (const auto& [form, help] : json["compression"].items()) {
    fmt::print("  {:<26}{}\n", form, help.get<std::string>());
  }
  fmt::print("\npeers of the benchmark\n");
  print_parts(json["peers"]);
  fmt::print("\nall-reduce by bytes\n");
  for (const auto& [name, table] : json["allreduce"].items()) {
    fmt::print("  {}: {}\n", name, table.get<std::string>());
  }
  fmt::print("\nthis process\n");
  const Json& process = json["process"];
  for (const auto& [key, label] :
       {std::pair{"started_by", "started by"}, {"joins", "joins"}, {"error", "error"}}) {
    if (process.contains(key)) fmt::print("  {:<12}{}\n", label, process[key].get<std::string>());
  }
}

}  // namespace

void add_info(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("info", "Show what this program can use here, and what not");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "As JSON");
  command->callback([as_json] {
    const Json json = collect();
    if (*as_json) {
      // Values of the environment need not be UTF-8.
      fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
    } else {
      print(json);
    }
  });
}

}  // namespace starling::cli
