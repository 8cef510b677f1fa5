// A sweep over the ranks of an MPI run (mpirun, srun): rank 0 hands out points, takes the rows and
// writes them; every rank computes, rank 0 too. Points are handed out as ranks ask for more, so a
// slow host gets fewer, and rows carry their point, so the output is the same bytes as one
// process's.
//
//   rank k -> 0   hello      fingerprint of the sweep as this host reads it, or "!" and an error
//   0 -> rank k   task       points to compute; none: the end
//   rank k -> 0   rows       "point <tab> row" lines, or "!" and an error
//
// A host whose scenario, tables or version differ says so with its hello and stops the sweep. A
// rank that dies takes the run with it, as MPI has it; what was written stands in the .partial
// file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/sweep/sweep.h"

namespace plateau {

class Ranks {
 public:
  static bool built_in();  // CMake option PLATEAU_MPI

  Ranks();   // MPI_Init; one per process
  ~Ranks();  // dismisses ranks that still wait, MPI_Finalize
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int count() const { return count_; }

  // Rank 0: compute_rows over all ranks, `threads` threads on this one.
  void hand_out(Sweep& sweep, const std::vector<std::int64_t>& points, int threads,
                const std::function<void(std::int64_t point, std::string line)>& put);
  // The others: until rank 0 has no more points.
  void serve(Sweep& sweep, int threads);

 private:
  class Queue;
  void greet(const std::string& text);
  bool answer(Queue& queue, const std::string& fingerprint);
  void take_rows(Queue& queue, int from, const std::string& text);
  void dismiss_waiting();

  int rank_ = 0;
  int count_ = 1;
  bool greeted_ = false;     // rank > 0: has said hello
  std::vector<bool> waits_;  // rank 0: ranks that may still ask for a task
};

}  // namespace plateau
