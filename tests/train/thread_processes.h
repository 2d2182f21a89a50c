// Processes played by threads, which add up through common memory.
#ifndef PIPEFORMER_TESTS_TRAIN_THREAD_PROCESSES_H_
#define PIPEFORMER_TESTS_TRAIN_THREAD_PROCESSES_H_

#include <barrier>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "lib/train/communicator.h"

namespace pipeformer {

class ThreadProcesses {
 public:
  explicit ThreadProcesses(int size) : size_(size), barrier_(size) {}

  // Runs `process` once for each rank, side by side. It must not throw.
  void Run(const std::function<void(Communicator&)>& process) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size_; ++rank) {
      threads.emplace_back([this, rank, &process] {
        One one(*this, rank);
        process(one);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  class One : public Communicator {
   public:
    One(ThreadProcesses& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return all_.size_; }
    void Sum(std::span<float> values) override { all_.Sum(values, rank_); }
    void Sum(std::span<double> values) override { all_.Sum(values, rank_); }

   private:
    ThreadProcesses& all_;
    int rank_;
  };

  // Each adds to `sum_` in its turn, so that the order is that of the ranks.
  template <class Number>
  void Sum(std::span<Number> values, int rank) {
    for (int turn = 0; turn < size_; ++turn) {
      if (turn == rank) {
        if (rank == 0) sum_.assign(values.size(), 0);
        for (size_t i = 0; i < values.size(); ++i) {
          sum_[i] = static_cast<Number>(sum_[i]) + values[i];
        }
      }
      barrier_.arrive_and_wait();
    }
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<Number>(sum_[i]);
    }
    barrier_.arrive_and_wait();
  }

  int size_;
  std::barrier<> barrier_;
  std::vector<double> sum_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_TRAIN_THREAD_PROCESSES_H_
