// A polite end: a program that has work to save notices SIGINT and SIGTERM,
// saves, and then ends by the same signal, so that its caller sees why.
#ifndef PIPEFORMER_TOOLS_SUPPORT_INTERRUPT_H_
#define PIPEFORMER_TOOLS_SUPPORT_INTERRUPT_H_

namespace pipeformer {

class InterruptFlag {
 public:
  // From now on the first SIGINT or SIGTERM only sets the flag; a second one
  // ends the program at once.
  static void Install();

  static bool IsSet();

  // Ends the program by the signal that set the flag (exit status 130 or 143
  // in a shell), by SIGTERM where it was another process's.
  [[noreturn]] static void Raise();
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SUPPORT_INTERRUPT_H_
