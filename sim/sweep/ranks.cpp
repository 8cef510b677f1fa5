#include "sim/sweep/ranks.h"

#ifdef PLATEAU_MPI

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "calibration/units.h"

namespace plateau {

namespace {

enum Tag : int { kHello = 1, kTask, kRows };

constexpr std::size_t kLargestTask = 64;        // points
constexpr std::chrono::microseconds kNap{200};  // between looks at the mail

void send_text(int to, Tag tag, const std::string& text) {
  MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, to, tag, MPI_COMM_WORLD);
}

void send_task(int to, const std::vector<std::int64_t>& points) {
  MPI_Send(points.data(), static_cast<int>(points.size()), MPI_INT64_T, to, kTask, MPI_COMM_WORLD);
}

std::string receive_text(const MPI_Status& mail) {
  int size = 0;
  MPI_Get_count(&mail, MPI_CHAR, &size);
  std::string text(static_cast<std::size_t>(size), '\0');
  MPI_Recv(text.data(), size, MPI_CHAR, mail.MPI_SOURCE, mail.MPI_TAG, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  return text;
}

std::vector<std::int64_t> receive_task() {
  MPI_Status mail;
  MPI_Probe(0, kTask, MPI_COMM_WORLD, &mail);
  int size = 0;
  MPI_Get_count(&mail, MPI_INT64_T, &size);
  std::vector<std::int64_t> points(static_cast<std::size_t>(size));
  MPI_Recv(points.data(), size, MPI_INT64_T, 0, kTask, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return points;
}

}  // namespace

// The points nobody has taken yet, and the first error.
class Ranks::Queue {
 public:
  Queue(const std::vector<std::int64_t>& points, int takers,
        const std::function<void(std::int64_t, std::string)>& put)
      : points_(points), takers_(static_cast<std::size_t>(takers)), put_(put) {}

  // Large tasks while much is left, single points at the end.
  std::vector<std::int64_t> take(std::size_t most) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (error_) return {};
    const std::size_t left = points_.size() - next_;
    const std::size_t fair = left / (8 * takers_) + 1;
    const std::size_t n = std::min({most, fair, left});
    const auto from = points_.begin() + static_cast<std::ptrdiff_t>(next_);
    next_ += n;
    return {from, from + static_cast<std::ptrdiff_t>(n)};
  }

  void put(std::int64_t point, std::string line) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!error_) put_(point, std::move(line));
  }

  void stop(std::exception_ptr error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!error_) error_ = std::move(error);
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const std::vector<std::int64_t>& points_;
  std::size_t takers_;
  const std::function<void(std::int64_t, std::string)>& put_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::exception_ptr error_;
};

bool Ranks::built_in() { return true; }

Ranks::Ranks() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &count_);
  waits_.assign(static_cast<std::size_t>(count_), rank_ == 0);
  if (rank_ == 0) waits_[0] = false;
}

Ranks::~Ranks() {
  if (rank_ == 0) {
    dismiss_waiting();
  } else if (!greeted_) {
    greet("!this rank could not read the sweep");
  }
  MPI_Finalize();
}

void Ranks::greet(const std::string& text) {
  greeted_ = true;
  send_text(0, kHello, text);
}

void Ranks::dismiss_waiting() {
  while (std::find(waits_.begin(), waits_.end(), true) != waits_.end()) {
    MPI_Status mail;
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &mail);
    const std::string text = receive_text(mail);
    waits_[static_cast<std::size_t>(mail.MPI_SOURCE)] = false;
    if (text.rfind('!', 0) != 0) send_task(mail.MPI_SOURCE, {});
  }
}

void Ranks::take_rows(Queue& queue, int from, const std::string& text) {
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    const std::size_t tab = text.find('\t', start);
    const auto point = parse_integer(text.substr(start, tab - start));
    if (!point || tab >= end) {
      throw std::runtime_error("rank " + std::to_string(from) + " sent a damaged row");
    }
    queue.put(*point, text.substr(tab + 1, end - tab - 1));
    start = end + 1;
  }
}

// One message from another rank, if there is one.
bool Ranks::answer(Queue& queue, const std::string& fingerprint) {
  int there = 0;
  MPI_Status mail;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &mail);
  if (there == 0) return false;
  const std::string text = receive_text(mail);
  const int from = mail.MPI_SOURCE;
  if (text.rfind('!', 0) == 0) {
    waits_[static_cast<std::size_t>(from)] = false;
    throw std::runtime_error("rank " + std::to_string(from) + ": " + text.substr(1));
  }
  std::vector<std::int64_t> task;
  std::exception_ptr error;
  try {
    if (mail.MPI_TAG == kHello && text != fingerprint) {
      throw InputError(Problem{"", 0, 0, "",
                               "rank " + std::to_string(from) + " reads another sweep than rank 0",
                               "give all hosts the same plateau, scenario and data"});
    }
    if (mail.MPI_TAG == kRows) take_rows(queue, from, text);
    task = queue.take(kLargestTask);
  } catch (...) {
    error = std::current_exception();
  }
  send_task(from, task);
  if (task.empty()) waits_[static_cast<std::size_t>(from)] = false;
  if (error) std::rethrow_exception(error);
  return true;
}

void Ranks::hand_out(Sweep& sweep, const std::vector<std::int64_t>& points, int threads,
                     const std::function<void(std::int64_t, std::string)>& put) {
  Queue queue(points, count_, put);
  std::atomic<bool> computing{true};
  std::thread own([&] {
    try {
      const auto most = static_cast<std::size_t>(4 * std::max(1, threads));
      for (auto task = queue.take(most); !task.empty(); task = queue.take(most)) {
        compute_rows(sweep, task, threads, [&queue](std::int64_t point, std::string line) {
          queue.put(point, std::move(line));
        });
      }
    } catch (...) {
      queue.stop(std::current_exception());
    }
    computing = false;
  });
  const std::string fingerprint = sweep.fingerprint();
  while (computing || std::find(waits_.begin(), waits_.end(), true) != waits_.end()) {
    try {
      if (!answer(queue, fingerprint)) std::this_thread::sleep_for(kNap);
    } catch (...) {
      queue.stop(std::current_exception());
    }
  }
  own.join();
  queue.rethrow();
}

void Ranks::serve(Sweep& sweep, int threads) {
  greet(sweep.fingerprint());
  for (auto task = receive_task(); !task.empty(); task = receive_task()) {
    std::string rows;
    try {
      compute_rows(sweep, task, threads, [&rows](std::int64_t point, const std::string& line) {
        rows += std::to_string(point) + "\t" + line + "\n";
      });
    } catch (const std::exception& error) {
      send_text(0, kRows, std::string("!") + error.what());
      return;
    }
    send_text(0, kRows, rows);
  }
}

}  // namespace plateau

#else

#include <stdexcept>

namespace plateau {

bool Ranks::built_in() { return false; }
Ranks::Ranks() { throw std::logic_error("built without MPI"); }
Ranks::~Ranks() = default;
void Ranks::hand_out(Sweep& /*sweep*/, const std::vector<std::int64_t>& /*points*/, int /*threads*/,
                     const std::function<void(std::int64_t, std::string)>& /*put*/) {}
void Ranks::serve(Sweep& /*sweep*/, int /*threads*/) {}

}  // namespace plateau

#endif
