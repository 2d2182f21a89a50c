#include "tests/support/instruction_sets.h"

#include "hwy/targets.h"

namespace pipeformer {

std::vector<InstructionSet> InstructionSets() {
  // A lower bit is a better target.
  constexpr int64_t kBelowAvx2 = ~(int64_t{HWY_AVX2} * 2 - 1);
  const int64_t all = hwy::SupportedTargets();
  std::vector<InstructionSet> sets = {{"best", all}};
  if ((all & (int64_t{HWY_AVX2} - 1)) != 0) {
    sets.push_back({"avx2", all & ~(int64_t{HWY_AVX2} - 1)});
  }
  if ((all & ~kBelowAvx2) != 0) sets.push_back({"baseline", all & kBelowAvx2});
  return sets;
}

void KernelTest::SetUp() { hwy::GetChosenTarget().Update(GetParam().targets); }

void KernelTest::TearDown() {
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace pipeformer
