// train: learns a Transformer from sentence pairs.
#include "tools/mpi/ranks.h"
#include "tools/support/tool_main.h"
#include "tools/train_options.h"
#include "tools/train_run.h"

int main(int argc, char** argv) {
  using namespace pipeformer;
  TrainSettings settings;
  ApplyTask(argc, argv, settings);
  Ranks ranks;
  return ranks.End(ToolMain(
      argc, argv,
      {.name = "train",
       .purpose =
           "Learns a translation model from sentence pairs. The result is one\n"
           "file with weights, configuration and vocabularies. The same "
           "command\n"
           "continues a run that was stopped, and ends as if it had not been.\n"
           "SIGINT and SIGTERM save and then end it (exit code 130 or 143).\n"
           "Under mpirun several processes share each batch and train the "
           "same\n"
           "network.",
       .usage = {"train --train-sets FILE... --vocabs V [V] --model FILE "
                 "[options]",
                 "paste en de | train --vocabs V --model FILE [options]"},
       .examples =
           {{"A small model, validated on BLEU, the best one kept",
             "train --task transformer-tiny --train-sets train.tsv "
             "--valid-sets valid.tsv --vocabs joint.model --model "
             "model.safetensors --valid-metrics bleu --keep-best --after 4m"},
            {"Pairs packed by tokenize, twenty thousand updates",
             "tokenize --vocab joint.model --from tsv --to tensors "
             "< train.tsv | train --from tensors --vocabs joint.model --model "
             "model.safetensors --after 20Ku"},
            {"Four processes on this machine, what that takes before it begins",
             "mpirun -n 4 train --train-sets train.tsv --vocabs joint.model "
             "--model model.safetensors --dry-run"}},
       .see_also = "build-vocab, tokenize, decode, score",
       .inputs = InputCount::kNone,
       .options = TrainOptions(settings),
       .run = [&](Tool& tool) { RunTrain(tool, settings, ranks); },
       .process = {.voice = ranks.is_first() ? Voice::kFirst : Voice::kOther,
                   .name = ranks.NameOf("train"),
                   .num_here = ranks.num_here()}}));
}
