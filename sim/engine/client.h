// Who sends requests: closed loops (sim/engine/closed_loop.h), open arrival processes, traces.
#pragma once

#include "sim/engine/observer.h"
#include "sim/serving/request.h"

namespace plateau {

// Where a client puts what it will send. `request.sent` says when it reaches the engine: now or
// later.
class SendQueue {
 public:
  virtual ~SendQueue() = default;
  virtual void send(const Request& request) = 0;
};

// The simulation promises: start once, at time 0; on_sent when a request reaches the engine;
// on_finished when its last token reaches the client, in the engine's order. A client with an
// endless source sends one request ahead from on_sent, so that the pending events stay few; a
// closed loop reacts in on_finished. A client may not look at anything else: what it sends depends
// on these calls and its own random streams.
class Client {
 public:
  virtual ~Client() = default;
  virtual void start(SendQueue& queue) = 0;
  virtual void on_sent(const Request& /*request*/, SendQueue& /*queue*/) {}
  virtual void on_finished(const RequestRecord& /*record*/, SendQueue& /*queue*/) {}
};

}  // namespace plateau
