// Connections to all peers through UCX: a worker, which makes progress, and an endpoint for each peer. For
// ucx.cpp.
#pragma once

#include <ucp/api/ucp.h>

#include <map>
#include <string>
#include <utility>

#include "starling/core/types.h"
#include "starling/transport/wire/ucx_pieces.h"

namespace starling::transport::wire {

class Lane {
 public:
  explicit Lane(ucp_context_h context) {
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // made by one thread, used by the loop's
    check(ucp_worker_create(context, &params, &worker_), "ucp_worker_create");
    const ucs_status_t status = ucp_worker_get_efd(worker_, &descriptor_);
    if (status != UCS_OK) ucp_worker_destroy(worker_);
    check(status, "ucp_worker_get_efd");
  }
  // Its requests must be gone.
  ~Lane() {
    while (!peers_.empty()) close(peers_.begin()->first);
    ucp_worker_destroy(worker_);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  ucp_worker_h worker() const { return worker_; }
  // Readable when there may be news, after armed().
  int descriptor() const { return descriptor_; }
  bool armed() { return ucp_worker_arm(worker_) == UCS_OK; }
  bool progress() { return ucp_worker_progress(worker_) != 0; }

  std::string address() const {
    ucp_address_t* address = nullptr;
    std::size_t length = 0;
    check(ucp_worker_get_address(worker_, &address, &length), "ucp_worker_get_address");
    std::string text(reinterpret_cast<const char*>(address), length);
    ucp_worker_release_address(worker_, address);
    return text;
  }

  void connect(Rank rank, const std::string& address) {
    Peer& peer = peers_[rank];
    peer.lane = this;
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.cb = [](void* self, ucp_ep_h, ucs_status_t status) {
      auto& failed = *static_cast<Peer*>(self);
      failed.failure = status;
      failed.lane->any_failure_ = true;
    };
    params.err_handler.arg = &peer;
    peer.failure = ucp_ep_create(worker_, &params, &peer.endpoint);  // it may have died meanwhile
    any_failure_ |= peer.failure != UCS_OK;
  }

  ucs_status_ptr_t send(Rank to, const std::byte* data, std::size_t size, ucp_tag_t tag) {
    const auto found = peers_.find(to);
    if (found == peers_.end() || found->second.endpoint == nullptr)
      return UCS_STATUS_PTR(UCS_ERR_NOT_CONNECTED);
    ucp_request_param_t param{};
    return ucp_tag_send_nbx(found->second.endpoint, data, size, tag, &param);
  }

  // Everything in flight to the peer ends with an error. What is in flight from it may still arrive.
  void close(Rank rank) {
    const auto found = peers_.find(rank);
    if (found == peers_.end()) return;
    if (found->second.endpoint != nullptr) {
      ucp_request_param_t param{};
      param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
      param.flags = UCP_EP_CLOSE_FLAG_FORCE;
      const Request closing(ucp_ep_close_nbx(found->second.endpoint, &param));
      while (closing.under_way()) progress();
    }
    peers_.erase(found);
  }
  bool reaches(Rank rank) const { return peers_.count(rank) > 0; }

  // Calls tell(rank, status) for each peer whose connection has ended since the last time.
  template <class Tell>
  void tell_failures(Tell tell) {
    if (!std::exchange(any_failure_, false)) return;
    std::map<Rank, ucs_status_t> failures;
    for (auto& [rank, peer] : peers_) {
      if (peer.failure != UCS_OK) failures[rank] = std::exchange(peer.failure, UCS_OK);
    }
    for (const auto& [rank, failure] : failures) tell(rank, failure);
  }

  Request flush() {
    ucp_request_param_t param{};
    return ucp_worker_flush_nbx(worker_, &param);
  }

 private:
  struct Peer {
    ucp_ep_h endpoint = nullptr;
    Lane* lane = nullptr;
    ucs_status_t failure = UCS_OK;
  };

  ucp_worker_h worker_ = nullptr;
  int descriptor_ = -1;
  std::map<Rank, Peer> peers_;
  bool any_failure_ = false;
};

}  // namespace starling::transport::wire
