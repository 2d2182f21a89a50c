// build-vocab: learns a vocabulary of subword pieces from text.
#include "tools/build_vocab_run.h"
#include "tools/support/tool_main.h"

int main(int argc, char** argv) {
  using namespace pipeformer;
  BuildVocabSettings settings;
  return ToolMain(
      argc, argv,
      {.name = "build-vocab",
       .purpose = "learns a vocabulary of subword pieces from text, one "
                  "sentence a\nline, and writes it as a SentencePiece model.",
       .usage = {"build-vocab [options] < text > joint.model"},
       .examples =
           {{.purpose = "one vocabulary for both languages of a corpus",
             .command = "build-vocab --vocab-size 8000 --input train.en "
                        "train.de > joint.model"},
            {.purpose = "byte-pair encoding in which nothing is unknown",
             .command = "zcat train.gz | build-vocab --model-type bpe "
                        "--byte-fallback > bpe.model"},
            {.purpose = "the twenty most frequent characters",
             .command = "build-vocab --model-type char --to jsonl < text | "
                        "sort -t: -k6nr | head -n 20"}},
       .see_also = "tokenize, train",
       .inputs = InputCount::kMany,
       .options = BuildVocabOptions(settings),
       .run = [&](Tool& tool) { RunBuildVocab(tool, settings); }});
}
