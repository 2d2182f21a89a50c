// Runs a test once for each instruction set that the kernels are compiled for
// and this machine has: derive the fixture from `KernelTest`, write TEST_P, and
// say FOR_EACH_INSTRUCTION_SET(Fixture).
#ifndef PIPEFORMER_TESTS_SUPPORT_INSTRUCTION_SETS_H_
#define PIPEFORMER_TESTS_SUPPORT_INSTRUCTION_SETS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace pipeformer {

struct InstructionSet {
  std::string name;
  int64_t targets;  // a mask of Highway's targets

  friend std::ostream& operator<<(std::ostream& out, const InstructionSet& s) {
    return out << s.name;
  }
};

// "best", then "avx2" and "baseline" where they are less than the best.
std::vector<InstructionSet> InstructionSets();

// The kernels' dispatch is global, hence restored after each test.
class KernelTest : public testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override;
  void TearDown() override;
};

#define FOR_EACH_INSTRUCTION_SET(Fixture)                                      \
  INSTANTIATE_TEST_SUITE_P(InstructionSet, Fixture,                            \
                           testing::ValuesIn(::pipeformer::InstructionSets()), \
                           [](const auto& info) { return info.param.name; })

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_SUPPORT_INSTRUCTION_SETS_H_
