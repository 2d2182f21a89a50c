// The processes that train one network together: each has the whole network
// and a part of every batch, and they add up what they found. This library
// knows no way to talk to another process; tools/mpi has one.
#ifndef PIPEFORMER_LIB_TRAIN_COMMUNICATOR_H_
#define PIPEFORMER_LIB_TRAIN_COMMUNICATOR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pipeformer {

// All processes call the same functions in the same order; each call waits for
// the others. Requires: one thread.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;  // from 0; the first one logs and saves
  virtual int size() const = 0;  // at least 1

  // Replaces `values` by their sum over all processes, the same bits in each
  // of them. Requires: the same number everywhere.
  virtual void Sum(std::span<float> values) = 0;
  virtual void Sum(std::span<double> values) = 0;

  bool is_first() const { return rank() == 0; }
};

// One process alone.
class SingleProcess : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void Sum(std::span<float>) override {}
  void Sum(std::span<double>) override {}

  static SingleProcess& Instance() {
    static SingleProcess instance;
    return instance;
  }
};

// The value that each process has, by rank, in all of them.
std::vector<double> Gather(Communicator& processes, double value);

// The first process's value, in all of them.
double OfFirst(Communicator& processes, double value);

// Returns when all of them have called it.
void WaitForAll(Communicator& processes);

// Whether it is so in any of them.
bool Any(Communicator& processes, bool value);

// The lowest rank whose bytes are not those of the first process; -1 when all
// are alike.
int FirstToDiffer(Communicator& processes, std::span<const std::byte> bytes);

// What all processes should have alike, and how that can be reached.
struct Agreement {
  std::string what;
  std::string remedy;
};

// Throws Error (65), in all processes, where the bytes are not the same in all.
void RequireSame(Communicator& processes, std::span<const std::byte> bytes,
                 const Agreement& agreement);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_TRAIN_COMMUNICATOR_H_
