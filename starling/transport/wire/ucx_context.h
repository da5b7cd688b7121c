// How UCX is set up. For ucx.cpp.
#pragma once

#include <ucp/api/ucp.h>
#include <ucs/debug/log_def.h>

#include <cstdlib>
#include <filesystem>

#include "starling/transport/wire/ucx_pieces.h"

namespace starling::transport::wire {

// UCX prints an error for every peer that ends. To Starling that is an event, which it reports itself; a user
// who sets UCX_LOG_LEVEL wants to see UCX's messages.
class Silence {
 public:
  Silence() {
    if (silent_) ucs_log_push_handler(&Silence::swallow);
  }
  ~Silence() {
    if (silent_) ucs_log_pop_handler();
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  static ucs_log_func_rc_t swallow(const char*, unsigned, const char*, ucs_log_level_t level,
                                   const ucs_log_component_config_t*, const char*, va_list) {
    return level == UCS_LOG_LEVEL_FATAL ? UCS_LOG_FUNC_RC_CONTINUE : UCS_LOG_FUNC_RC_STOP;
  }
  bool silent_ = std::getenv("UCX_LOG_LEVEL") == nullptr;
};

inline bool has_rdma() {
  std::error_code none;
  const std::filesystem::directory_iterator cards("/sys/class/infiniband", none);
  return !none && cards != std::filesystem::directory_iterator();
}

// Settings that suit TCP. UCX announces long messages and sends them when the receiver has answered; ours are
// announced already and their receives are posted, and on a full link every such answer waits behind the data
// of others. UCX 1.13 aborts the process when a connection breaks while it sends from the caller's memory
// ("Assertion `comp->count > 0' failed" in uct_iface.h), so it must copy. And it copies and sends 8 KiB at a
// time, which costs much of a processor on fast links. With RDMA cards the first two are needed for speed.
// Settings of the user stay.
inline void suit_tcp(ucp_config_t* config) {
  if (has_rdma()) return;
  // Settings of transports go without the transport's name.
  constexpr struct {
    const char *variable, *name, *value;
  } kSettings[] = {{"UCX_RNDV_THRESH", "RNDV_THRESH", "inf"},
                   {"UCX_ZCOPY_THRESH", "ZCOPY_THRESH", "inf"},
                   {"UCX_TCP_TX_SEG_SIZE", "TX_SEG_SIZE", "32k"}};
  for (const auto& [variable, name, value] : kSettings) {
    if (std::getenv(variable) == nullptr) ucp_config_modify(config, name, value);
  }
}

class Context {
 public:
  Context() {
    ucp_config_t* config = nullptr;
    check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
    suit_tcp(config);
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
    const ucs_status_t status = ucp_init(&params, config, &context_);
    ucp_config_release(config);
    check(status, "ucp_init");
  }
  ~Context() { ucp_cleanup(context_); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  ucp_context_h get() const { return context_; }

 private:
  ucp_context_h context_ = nullptr;
};

}  // namespace starling::transport::wire
