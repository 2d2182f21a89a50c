#include "tools/support/interrupt.h"

#include <csignal>
#include <cstdlib>

namespace pipeformer {
namespace {

volatile std::sig_atomic_t caught_signal = 0;

void Catch(int signal) {
  caught_signal = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void InterruptFlag::Install() {
  std::signal(SIGINT, Catch);
  std::signal(SIGTERM, Catch);
}

bool InterruptFlag::IsSet() { return caught_signal != 0; }

void InterruptFlag::Raise() {
  const int signal = IsSet() ? caught_signal : SIGTERM;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  std::abort();
}

}  // namespace pipeformer
