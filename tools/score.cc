// score: how good translations are, by comparison with references.
#include "tools/score_metrics.h"
#include "tools/support/tool_main.h"

int main(int argc, char** argv) {
  using namespace pipeformer;
  ScoreMetricsOptions metrics;
  std::string to = "json";
  std::vector<Option> options = DeclareScoreMetrics(metrics);
  options[0].required = true;
  options.push_back({.name = "to",
                     .value = "json|jsonl|text",
                     .help = "json is laid out as sacreBLEU's",
                     .target = &to});
  return ToolMain(
      argc, argv,
      {.name = "score",
       .purpose =
           "compares translations with references.\n"
           "Reads one translation a line and gives BLEU, chrF and TER as "
           "sacreBLEU 2.6.0\ncomputes them: scores with equal signatures "
           "can be compared. A byte order mark\nat the start of a file is "
           "dropped.",
       .usage = {"score --references FILE... [options] < translation"},
       .examples = {{"BLEU of a translation",
                     "score --references test.de < test.translation"},
                    {"three metrics, two references, for people",
                     "score --references a.de b.de --metrics bleu chrf ter "
                     "--to text < test.translation"},
                    {"chrF++ of every line",
                     "score --references test.de --metrics chrf "
                     "--chrf-word-order 2 --sentence-level < "
                     "test.translation"}},
       .see_also = "decode, train",
       .options = options,
       .run = [&](Tool& tool) { RunScoreMetrics(metrics, to, tool); }});
}
