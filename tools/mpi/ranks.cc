#include "tools/mpi/ranks.h"

#include <algorithm>
#include <boost/mpi/collectives.hpp>
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/datatype.hpp>
#include <boost/mpi/environment.hpp>
#include <boost/mpi/timer.hpp>
#include <cstdlib>
#include <span>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

namespace mpi = boost::mpi;

constexpr size_t kMostValues = size_t{1} << 26;  // MPI counts with an int

int64_t Variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::atoll(text);
}

// What mpirun, and srun with its two ways to start MPI, leave in the
// environment of what they start.
bool HasLauncher() {
  for (const char* name :
       {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

}  // namespace

class Ranks::Mpi : public Communicator {
 public:
  int rank() const override { return world_.rank(); }
  int size() const override { return world_.size(); }
  void Sum(std::span<float> values) override { SumAll(values); }
  void Sum(std::span<double> values) override { SumAll(values); }

  std::string host() const { return mpi::environment::processor_name(); }
  double seconds() const { return seconds_; }

 private:
  template <class Number>
  void SumAll(std::span<Number> values) {
    const mpi::timer timer;
    try {
      for (size_t begin = 0; begin < values.size(); begin += kMostValues) {
        const auto part =
            values.subspan(begin, std::min(kMostValues, values.size() - begin));
        // Boost's own all_reduce in place binds a reference to the mark that
        // MPI_IN_PLACE is.
        BOOST_MPI_CHECK_RESULT(
            MPI_Allreduce,
            (MPI_IN_PLACE, part.data(), static_cast<int>(part.size()),
             mpi::get_mpi_datatype<Number>(), MPI_SUM, world_));
      }
    } catch (const mpi::exception& error) {
      throw Error(ExitCode::kInputOutput,
                  std::string(error.what()) +
                      "; another process or its machine was lost; the same "
                      "command continues from the last checkpoint");
    }
    seconds_ += timer.elapsed();
  }

  // Only the thread that trains talks to the others. What ends a process is
  // told before it ends the others, so not here.
  mpi::environment environment_{mpi::threading::funneled, false};
  mpi::communicator world_;
  double seconds_ = 0;
};

Ranks::Ranks() : communicator_(&SingleProcess::Instance()) {
  if (!HasLauncher()) return;
  try {
    mpi_ = std::make_unique<Mpi>();
    communicator_ = mpi_.get();
  } catch (const mpi::exception& error) {
    failure_ = error.what();
  }
}

Ranks::~Ranks() = default;

double Ranks::seconds_in_sums() const {
  return mpi_ == nullptr ? 0 : mpi_->seconds();
}

void Ranks::CheckAllFound() const {
  if (!failure_.empty()) {
    throw Error(ExitCode::kInputOutput,
                "the processes cannot be joined: " + failure_ +
                    "; mpirun must be that of the MPI this program was built "
                    "with (Open MPI)");
  }
  const int64_t started = Variable("SLURM_STEP_NUM_TASKS");
  if (started <= 1 || communicator_->size() > 1) return;
  ThrowUsage("srun started " + std::to_string(started) +
             " processes that do not find each other; use srun --mpi=pmix "
             "(srun --mpi=list shows what there is), or mpirun");
}

int64_t Ranks::num_here() const {
  return std::clamp<int64_t>(std::max(Variable("OMPI_COMM_WORLD_LOCAL_SIZE"),
                                      Variable("SLURM_NTASKS_PER_NODE")),
                             1, communicator_->size());
}

std::string Ranks::NameOf(const std::string& tool) const {
  if (is_first()) return tool;
  return tool + ": process " + std::to_string(communicator_->rank()) + " on " +
         mpi_->host();
}

int Ranks::End(int exit_code) {
  constexpr int kSomeRecordsBad = static_cast<int>(ExitCode::kSomeRecordsBad);
  if (exit_code > kSomeRecordsBad && communicator_->size() > 1) {
    mpi::environment::abort(exit_code);
  }
  return exit_code;
}

}  // namespace pipeformer
