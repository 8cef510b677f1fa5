#include "sim/plan/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/memory.h"

namespace plateau {

namespace {

struct Spent {
  double seconds = 0;
  double joules = 0;  // one GPU
};

struct Wave {
  Spent decode;         // of one step
  Spent prefill;        // of all prompts of the wave
  double prefills = 0;  // steps
};

class Estimator {
 public:
  Estimator(Deployment& deployment, PricedSteps& prices, const std::string& pricing)
      : deployment_(deployment),
        prices_(prices),
        pricing_(pricing),
        limits_(deployment.engine().limits),
        input_(deployment.workload().mean_input()),
        output_(std::max(1.0, deployment.workload().mean_output())) {}

  PointEstimate run() {
    // Replicas share the requests evenly; what follows is one of them.
    replicas_ = deployment_.scenario().parallel.replicas;
    const double requests =
        std::ceil(static_cast<double>(deployment_.workload().requests()) / replicas_);
    const double page = limits_.page_tokens;
    const double pages = std::ceil((input_ + output_) / page);
    const double wall = std::max(
        1.0, std::floor(static_cast<double>(limits_.pool_tokens) / page / std::max(1.0, pages)));
    const bool open = deployment_.workload().open_loop();
    load_ = open ? requests : std::ceil(deployment_.workload().clients() / replicas_);
    double n =
        std::floor(std::min({load_, static_cast<double>(limits_.max_running), wall, requests}));
    n = std::max(1.0, n);
    const double rate = deployment_.workload().arrival_rate().value_or(0) / replicas_;
    if (rate > 0) n = open_batch(n, rate);
    return figures(n, requests, rate);
  }

 private:
  Wave wave(double n) {
    Wave result;
    const StepPrice decode = price(deployment_.decode_shape(n, input_ + 0.5 * output_));
    result.decode = {decode.seconds + exposed_host(n), decode.joules};
    double chunk = limits_.chunk_tokens > 0
                       ? static_cast<double>(limits_.chunk_tokens)
                       : static_cast<double>(limits_.sglang.max_prefill_tokens);
    chunk = std::min(chunk, n * input_);
    if (chunk <= 0) return result;
    result.prefills = std::ceil(n * input_ / chunk);
    const double each = n * input_ / result.prefills;
    StepShape shape;
    shape.prefill_sequences = std::max(1.0, each / input_);
    shape.prefill_tokens = each;
    shape.prefill_context_tokens = shape.prefill_sequences * input_;
    shape.prefill_attended = each * 0.5 * (input_ + 1);
    const StepPrice prefill = price(shape);
    result.prefill = {result.prefills * prefill.seconds, result.prefills * prefill.joules};
    return result;
  }

  StepPrice price(const StepShape& shape) {
    return prices_.price(pricing_, deployment_, shape, &priced_);
  }

  double exposed_host(double n) const {
    const LaunchLaw& law = deployment_.profile().launch();
    const double host = law.host_step.value + law.host_request.value * n;
    return limits_.sglang.overlap ? 0 : host;
  }

  Spent whole(const Wave& wave) const {
    return {output_ * wave.decode.seconds + wave.prefill.seconds,
            output_ * wave.decode.joules + wave.prefill.joules};
  }

  double open_batch(double most, double rate) {
    double n = most;
    for (int i = 0; i < 4; ++i) {
      const Wave at = wave(n);
      // Each decode step of a request's life also waits for the prompts that arrive meanwhile.
      const double share = std::min(0.95, rate * at.prefill.seconds / n);
      const double life = output_ * at.decode.seconds / (1 - share);
      n = std::clamp(std::round(rate * life), 1.0, most);
    }
    return n;
  }

  PointEstimate figures(double n, double requests, double rate) {
    const Wave full = wave(n);
    const Spent life = whole(full);
    const double waves = std::floor(requests / n);
    const double rest = requests - waves * n;
    Spent total{waves * life.seconds, waves * life.joules};
    double steps = waves * (output_ + full.prefills);
    if (rest > 0) {
      const Wave last = wave(rest);
      const Spent spent = whole(last);
      total.seconds += spent.seconds;
      total.joules += spent.joules;
      steps += output_ + last.prefills;
    }
    if (rate > 0) {
      const double arrivals = requests / rate + life.seconds;
      const double idle = std::max(0.0, arrivals - total.seconds);
      total.joules += idle * deployment_.profile().power_states().idle.value;
      total.seconds = std::max(total.seconds, arrivals);
    }
    PointEstimate result;
    result.ok = true;
    result.steps = steps * replicas_;
    fill(result.metrics, total, requests * output_ * replicas_);
    latencies(result.metrics, full, n, rate > 0 ? n : load_);
    set(result.metrics, "request_rate", replicas_ * (rate > 0 ? rate : requests / total.seconds));
    result.priced = priced_;
    return result;
  }

  static void set(Metrics& metrics, const std::string& name, double value) {
    metrics[metric_index(name)] = value;
  }

  void fill(Metrics& metrics, const Spent& total, double tokens) const {
    metrics.assign(metric_names().size(), std::numeric_limits<double>::quiet_NaN());
    const double gpus = deployment_.scenario().hardware.count;
    const double watts = total.joules / total.seconds;
    set(metrics, "output_tok_per_s", tokens / total.seconds);
    set(metrics, "output_tok_per_s_per_gpu", tokens / total.seconds / gpus);
    set(metrics, "output_tok_per_j", tokens / total.joules / gpus);
    set(metrics, "j_per_output_token", total.joules * gpus / tokens);
    set(metrics, "gpus", gpus);
    set(metrics, "gpu_w_mean", watts);
    set(metrics, "node_w", watts * gpus);
    set(metrics, "host_gpus_w", watts * std::min(8.0, gpus));
    set(metrics, "gpu_memory_bytes", memory_of(deployment_));
  }

  void latencies(Metrics& metrics, const Wave& wave, double n, double load) const {
    const double decode = wave.decode.seconds;
    const double prefill = wave.prefill.seconds;
    const double life = output_ * decode + prefill;
    const auto at = [&](const char* name, const char* quantile, double seconds) {
      set(metrics, std::string(name) + quantile + "_ms", seconds * 1e3);
    };
    const std::pair<const char*, double> quantiles[] = {
        {"_p50", 0.5}, {"_mean", 0.5}, {"_p90", 0.9}, {"_p95", 0.95}, {"_p99", 0.99}};
    for (const auto& [name, share] : quantiles) {
      const double before = std::floor(share * load / n);
      const double ttft = before * life + (share * load / n - before) * prefill + decode;
      at("ttft", name, ttft);
      at("tpot", name, decode + share * prefill / output_);
      at("itl", name, decode);
      at("e2e", name, ttft + output_ * decode);
    }
  }

  Deployment& deployment_;
  PricedSteps& prices_;
  const std::string& pricing_;
  const EngineLimits& limits_;
  double input_;
  double output_;
  double load_ = 0;
  double replicas_ = 1;
  int priced_ = 0;
};

}  // namespace

double memory_of(const Deployment& deployment) {
  const KvPool& pool = deployment.engine().pool;
  return pool.weights_gib * kGiB +
         static_cast<double>(pool.tokens) * static_cast<double>(pool.cell_bytes);
}

PointEstimate estimate(Deployment& deployment, PricedSteps& prices, const std::string& pricing) {
  return Estimator(deployment, prices, pricing).run();
}

}  // namespace plateau
