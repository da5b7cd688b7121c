#include "starling/torch/program_state.h"

#include <ATen/CPUGeneratorImpl.h>

#include <mutex>
#include <sstream>

#include "starling/core/byte_codec.h"
#include "starling/core/error.h"

namespace starling::torch {

namespace {

::torch::Tensor random_state() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

void set_random_state(std::span<const std::byte> bytes) {
  const ::torch::Tensor state = ::torch::empty({static_cast<std::int64_t>(bytes.size())}, ::torch::kUInt8);
  std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(state.data_ptr()));
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state);
}

// LibTorch writes archives to streams only.
std::string optimizer_state(const ::torch::optim::Optimizer& optimizer) {
  ::torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  std::ostringstream stream;
  archive.save_to(stream);
  return stream.str();
}

void set_optimizer_state(const std::string& text, ::torch::optim::Optimizer& optimizer) {
  std::istringstream stream(text);
  ::torch::serialize::InputArchive archive;
  archive.load_from(stream);
  optimizer.load(archive);
}

}  // namespace

std::vector<std::byte> save_program_state(const ::torch::optim::Optimizer* optimizer) {
  const ::torch::Tensor random = random_state();
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(random.data_ptr()), random.nbytes());
  return ByteWriter().put_block(bytes).put_text(optimizer ? optimizer_state(*optimizer) : "").take();
}

void load_program_state(std::span<const std::byte> bytes, ::torch::optim::Optimizer* optimizer,
                        RandomNumbers random_numbers) {
  if (bytes.empty()) return;  // a checkpoint without any
  try {
    ByteReader reader(bytes, "the checkpoint's optimiser and random numbers");
    const std::span<const std::byte> random = reader.get_block();
    const std::string state = reader.get_text();
    reader.expect_end();
    if (random_numbers == RandomNumbers::kRestored) set_random_state(random);
    if (optimizer != nullptr && !state.empty()) set_optimizer_state(state, *optimizer);
  } catch (const c10::Error& error) {
    throw InvalidArgument(
        concat("the checkpoint does not fit this program: ", error.what_without_backtrace()));
  }
}

}  // namespace starling::torch
