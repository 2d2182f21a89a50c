// inspect-attention: shows where a model looks.
#include "tools/inspect_run.h"
#include "tools/support/tool_main.h"

int main(int argc, char** argv) {
  using namespace pipeformer;
  InspectSettings settings;
  return ToolMain(
      argc, argv,
      {.name = "inspect-attention",
       .purpose =
           "reads pairs and gives the attention weights that the model "
           "computes for them:\nencoder and decoder self-attention, and "
           "cross-attention from target to source.\nRows are queries and sum "
           "to 1. Encoder rows and columns are the source pieces and\n</s>; "
           "decoder and cross rows predict the target pieces and </s>; decoder "
           "columns\nare <s> and the target pieces.\nWith --module it runs a "
           "module that PyTorch saved (MultiheadAttention,\n"
           "TransformerEncoderLayer, TransformerDecoderLayer, Transformer) on "
           "records of its\ninputs; formats/README.md lists their names and "
           "shapes.",
       .usage = {"inspect-attention --model FILE [options] < pairs.tsv",
                 "inspect-attention --module FILE [options] < inputs > "
                 "outputs"},
       .examples =
           {{"the last layer's cross-attention as a heat map",
             "head -n 1 test.tsv | inspect-attention --model model.safetensors "
             "--kind cross --layer -1 --average heads --to text"},
            {"what a translation looked at, as records",
             "decode --model model.safetensors --to jsonl < test.en | "
             "inspect-attention --model model.safetensors --from jsonl --kind "
             "cross --top-k 3"},
            {"all weights as tensors",
             "inspect-attention --model model.safetensors --to tensors < "
             "test.tsv > attention.frames"},
            {"one attention of a model, on vectors of one's own",
             "inspect-attention --module model.safetensors --prefix "
             "encoder.layers.0.self_attn. --from jsonl < vectors.jsonl"},
            {"what PyTorch saved, on frames of tensors, with gradients",
             "inspect-attention --module weights.safetensors --num-heads 8 "
             "--gradients < inputs.frames > results.frames"}},
       .see_also = "decode, score, train",
       .options = InspectOptions(settings),
       .run = [&](Tool& tool) { RunInspect(tool, settings); }});
}
