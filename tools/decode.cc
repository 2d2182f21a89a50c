// decode: translates text with a model.
#include "tools/decode_run.h"
#include "tools/support/tool_main.h"

int main(int argc, char** argv) {
  using namespace pipeformer;
  DecodeSettings settings;
  return ToolMain(
      argc, argv,
      {.name = "decode",
       .purpose = "translates text, one sentence a line, with a model from "
                  "train. Line k of the\noutput belongs to line k of the "
                  "input and depends on it alone; what is drawn\nby "
                  "chance, on k too. A language model continues each line, or "
                  "translates\nit if it was trained on pairs.",
       .usage = {"decode --model FILE [options] < text > translation"},
       .examples =
           {{"translate a text",
             "decode --model model.safetensors < test.en > test.de"},
            {"the five best translations of each line, as Moses lines",
             "decode --model model.safetensors --n-best 5 < test.en"},
            {"log-probabilities and alignments as records",
             "decode --model model.safetensors --to jsonl --word-scores "
             "--alignment hard < test.en | jq .hypotheses[0]"}},
       .see_also = "train, score, inspect-attention",
       .options = DecodeOptions(settings),
       .run = [&](Tool& tool) { RunDecode(tool, settings); }});
}
