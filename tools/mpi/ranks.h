// The processes that mpirun or srun started as one program. MPI itself is
// touched only where one of these started this process: alone, a program begins
// at once and needs no MPI at run time but its library.
#ifndef PIPEFORMER_TOOLS_MPI_RANKS_H_
#define PIPEFORMER_TOOLS_MPI_RANKS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "lib/train/communicator.h"

namespace pipeformer {

class Ranks {
 public:
  // Joins the other processes, if a launcher started this one. Requires: no
  // thread was started yet.
  Ranks();
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  // Adds up with the others, from the thread that made this object. Throws
  // Error (74) where another process was lost, if MPI does not end us first.
  Communicator& communicator() const { return *communicator_; }
  bool is_first() const { return communicator_->is_first(); }

  // Seconds that this process has spent in sums, waiting for others included.
  double seconds_in_sums() const;

  // Throws Error where a launcher started several processes that do not find
  // each other: each would train the whole and write the same file. 74 where
  // MPI did not begin, 64 where it found this process alone.
  void CheckAllFound() const;

  // Processes of this program on this machine, at least 1: they share its
  // cores.
  int64_t num_here() const;

  // What messages call this process: `tool`, and which process it is, unless
  // it is the first.
  std::string NameOf(const std::string& tool) const;

  // Ends the program with `exit_code`, and all processes with it unless it is 0
  // or 1: then each one waits for the others to come here. Returns the code.
  int End(int exit_code);

 private:
  class Mpi;
  std::unique_ptr<Mpi> mpi_;  // null: a process alone
  std::string failure_;       // why MPI did not begin; else empty
  Communicator* communicator_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_MPI_RANKS_H_
