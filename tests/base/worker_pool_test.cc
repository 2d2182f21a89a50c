#include "lib/base/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

namespace pipeformer {
namespace {

TEST(WorkerPool, RunsTheTaskOnceForEachWorker) {
  for (const int count : {1, 2, 7}) {
    WorkerPool pool(count);
    EXPECT_EQ(pool.num_workers(), count);
    for (int round = 0; round < 200; ++round) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
      pool.Run([&](int w) { ++calls[static_cast<size_t>(w)]; });
      for (const auto& c : calls) ASSERT_EQ(c, 1);
    }
  }
}

TEST(WorkerPool, WorkersRunSideBySide) {
  // Each waits for all others: one after another would never end.
  WorkerPool pool(4);
  std::latch all_there(4);
  pool.Run([&](int) { all_there.arrive_and_wait(); });
}

TEST(WorkerPool, AWorkerKeepsItsThread) {
  WorkerPool pool(3);
  std::vector<std::thread::id> first(3), second(3);
  pool.Run([&](int w) {
    first[static_cast<size_t>(w)] = std::this_thread::get_id();
  });
  pool.Run([&](int w) {
    second[static_cast<size_t>(w)] = std::this_thread::get_id();
  });
  EXPECT_EQ(first, second);
  EXPECT_EQ(std::set<std::thread::id>(first.begin(), first.end()).size(), 3u);
  for (const auto id : first) EXPECT_NE(id, std::this_thread::get_id());
}

TEST(WorkerPool, ThrowsWhatTheLowestWorkerThrewAfterAllHaveEnded) {
  WorkerPool pool(4);
  std::atomic<int> ended = 0;
  try {
    pool.Run([&](int w) {
      ++ended;
      if (w % 2 == 1) throw std::runtime_error("worker " + std::to_string(w));
    });
    FAIL() << "no exception";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "worker 1");
  }
  EXPECT_EQ(ended, 4);
}

TEST(WorkerPool, GoesOnAfterAnException) {
  WorkerPool pool(2);
  for (int round = 0; round < 3; ++round) {
    EXPECT_THROW(pool.Run([](int) { throw std::logic_error("all"); }),
                 std::logic_error);
    int calls = 0;
    pool.Run([&](int w) { calls += w == 0 ? 1 : 0; });
    EXPECT_EQ(calls, 1);
  }
}

TEST(WorkerPool, EndsWithoutHavingRun) { WorkerPool pool(3); }

}  // namespace
}  // namespace pipeformer
