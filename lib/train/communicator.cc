#include "lib/train/communicator.h"

#include <algorithm>
#include <cstring>

#include "lib/base/error.h"
#include "lib/base/random.h"

namespace pipeformer {
namespace {

// 53 bits that differ where the bytes do; a double holds them exactly.
double Fingerprint(std::span<const std::byte> bytes) {
  uint64_t hash = bytes.size();
  for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i,
                std::min(sizeof(word), bytes.size() - i));
    hash = MixBits(hash ^ word);
  }
  return static_cast<double>(hash >> 11);
}

}  // namespace

std::vector<double> Gather(Communicator& processes, double value) {
  std::vector<double> values(static_cast<size_t>(processes.size()));
  values[static_cast<size_t>(processes.rank())] = value;
  processes.Sum(values);
  return values;
}

double OfFirst(Communicator& processes, double value) {
  double first = processes.is_first() ? value : 0;
  processes.Sum({&first, 1});
  return first;
}

void WaitForAll(Communicator& processes) { Any(processes, false); }

bool Any(Communicator& processes, bool value) {
  double sum = value ? 1 : 0;
  processes.Sum({&sum, 1});
  return sum > 0;
}

int FirstToDiffer(Communicator& processes, std::span<const std::byte> bytes) {
  if (processes.size() == 1) return -1;
  const std::vector<double> all = Gather(processes, Fingerprint(bytes));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] != all[0]) return static_cast<int>(rank);
  }
  return -1;
}

void RequireSame(Communicator& processes, std::span<const std::byte> bytes,
                 const Agreement& agreement) {
  const int rank = FirstToDiffer(processes, bytes);
  if (rank < 0) return;
  ThrowBadData("the processes 0 and " + std::to_string(rank) + " of " +
               std::to_string(processes.size()) + " differ in " +
               agreement.what + "; " + agreement.remedy);
}

}  // namespace pipeformer
