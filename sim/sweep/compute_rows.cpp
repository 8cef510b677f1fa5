#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "sim/sweep/sweep.h"

namespace plateau {

namespace {

// Points are taken one at a time: they differ in length by orders of magnitude.
class RowWork {
 public:
  RowWork(Sweep& sweep, const std::vector<std::int64_t>& points,
          const std::function<void(std::int64_t, std::string)>& put)
      : sweep_(sweep), points_(points), put_(put) {}

  void work() {
    PointRunner runner = sweep_.runner();
    try {
      for (std::size_t at = next_++; at < points_.size() && !stop_; at = next_++) {
        std::string line = line_of(sweep_.row(points_[at], runner));
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!stop_) put_(points_[at], std::move(line));
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!error_) error_ = std::current_exception();
      stop_ = true;
    }
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  Sweep& sweep_;
  const std::vector<std::int64_t>& points_;
  const std::function<void(std::int64_t, std::string)>& put_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

void compute_rows(Sweep& sweep, const std::vector<std::int64_t>& points, int threads,
                  const std::function<void(std::int64_t, std::string)>& put) {
  RowWork work(sweep, points, put);
  const int useful = static_cast<int>(
      std::min<std::size_t>(points.size(), static_cast<std::size_t>(std::max(1, threads))));
  std::vector<std::thread> others;
  for (int i = 1; i < useful; ++i) others.emplace_back([&work] { work.work(); });
  work.work();
  for (std::thread& thread : others) thread.join();
  work.rethrow();
}

}  // namespace plateau
