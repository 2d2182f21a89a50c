// score: how good translations are, by comparison with references or by a
// model's own log-probabilities.
#include "tools/score_run.h"
#include "tools/support/tool_main.h"

int main(int argc, char** argv) {
  using namespace pipeformer;
  ScoreSettings settings;
  return ToolMain(
      argc, argv,
      {.name = "score",
       .purpose =
           "compares translations with references, or asks a model.\n"
           "With --references it reads one translation a line and gives BLEU, "
           "chrF and TER\nas sacreBLEU 2.6.0 computes them: scores with equal "
           "signatures can be compared.\nWith --model it reads pairs and gives "
           "the log-probability of each target. A\nbyte order mark at the "
           "start of a file is dropped.",
       .usage = {"score --references FILE... [options] < translation",
                 "score --model FILE [options] < pairs.tsv"},
       .examples = {{"BLEU of a translation",
                     "score --references test.de < test.translation"},
                    {"three metrics, two references, for people",
                     "score --references a.de b.de --metrics bleu chrf ter "
                     "--to text < test.translation"},
                    {"the perplexity of a test set under a model",
                     "paste test.en test.de | score --model model.safetensors "
                     "--summary perplexity --to text"},
                    {"the log-probability of each translation",
                     "decode --model model.safetensors --to jsonl < test.en | "
                     "score --model model.safetensors --from jsonl"}},
       .see_also = "decode, train",
       .options = ScoreOptions(settings),
       .run = [&](Tool& tool) { RunScore(tool, settings); }});
}
