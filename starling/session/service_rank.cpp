#include "starling/session/service_rank.h"

#include "starling/core/error.h"
#include "starling/join/run_context.h"
#include "starling/runtime/run.h"
#include "starling/runtime/scope.h"
#include "starling/session/engine_thread.h"
#include "starling/session/exit_barrier.h"
#include "starling/session/session.h"
#include "starling/session/startup_sync.h"

namespace starling::session {

using runtime::Task;

namespace {

Task<> serve_all(transport::Transport& net, const strategy::Strategy& strategy, strategy::RunInfo& info,
                 const SessionOptions& options) {
  co_await agree_on_model(net, info);
  const Bytes saved = co_await receive_state(net);
  CheckpointState state(saved);
  RealService service(info, net, random_stream(options.seed, net.rank()), state);
  ControlChannel control(net);
  RecordCollector collector(net, control, info, options.keep_record, options.record);
  collector.include(service.journal());
  Checkpoint::answer(control, state);
  const Time origin = co_await common_origin(net);
  collector.begin(origin);
  runtime::Scope scope(co_await runtime::this_context());
  scope.race();
  scope.spawn(for_ever(strategy.serve(service)), "service");
  scope.spawn(control.run(), "control");
  scope.spawn(exit_barrier(net), "exit barrier");
  co_await scope.join();
}

}  // namespace

void run_service(transport::Transport& net, const strategy::Strategy& strategy,
                 const SessionOptions& options) {
  strategy::RunInfo info = make_run_info(options, strategy.service(), net.size());
  const transport::Beating beating(net, options.stall_limit);
  runtime::run(net.scheduler(), serve_all(net, strategy, info, options), concat("rank ", net.rank()));
}

void run_service(join::RunContext& context, SessionOptions options) {
  run_service(context.net(), context.strategy(), in_run(context, std::move(options)));
}

}  // namespace starling::session
