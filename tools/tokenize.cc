// tokenize: text to subword pieces and ids, and back.
#include <string>
#include <vector>

#include "tools/corpus_packer.h"
#include "tools/support/pipeline.h"
#include "tools/support/tool_main.h"
#include "tools/tokenize_records.h"

namespace pipeformer {
namespace {

void Run(Tool& tool, const TokenizeSettings& settings) {
  const Tokenizer tokenizer(settings, tool);
  const auto work = [&](const InputRecord& record) {
    return tokenizer.Process(record);
  };
  if (!tokenizer.packs()) return FilterLines(tool, work);
  CorpusPacker packer(tool, tokenizer.VocabularyHashes());
  FilterLines(tool, work, [&](std::string_view bytes) { packer.Add(bytes); });
  packer.Finish();
}

std::vector<Option> Options(TokenizeSettings& settings) {
  return {
      {.name = "vocab",
       .value = "FILE",
       .help = "a SentencePiece model, or one for the source and one for the "
               "target",
       .target = &settings.vocabularies,
       .required = true},
      {.name = "from",
       .value = "text|tsv|jsonl|ids",
       .help = "what comes in: lines of text, source TAB target, records, or "
               "ids (default: text, with --detokenize jsonl)",
       .target = &settings.from},
      {.name = "to",
       .value = "jsonl|text|ids|tensors",
       .help = "what goes out: records, pieces, ids, or a packed corpus "
               "(default: jsonl, with --detokenize text)",
       .target = &settings.to},
      {.name = "detokenize",
       .value = "",
       .help = "make text of pieces or ids",
       .target = &settings.detokenize},
      {.name = "unk-surface",
       .value = "TEXT",
       .help = "what --detokenize writes for an unknown id, by default what "
               "the model says",
       .target = &settings.unk_surface},
      {.name = "sample",
       .value = "ALPHA",
       .help = "choose each cut by chance: the exponent of a unigram model, "
               "the share of merges left out of a bpe model",
       .target = &settings.sample,
       .min = 0,
       .max = 100},
      {.name = "max-length",
       .value = "N",
       .help = "a sentence of more pieces is a bad record",
       .target = &settings.max_length,
       .min = 0},
  };
}

}  // namespace
}  // namespace pipeformer

int main(int argc, char** argv) {
  using namespace pipeformer;
  TokenizeSettings settings;
  return ToolMain(
      argc, argv,
      {.name = "tokenize",
       .purpose =
           "cuts text into the subword pieces of a vocabulary, or joins them."
           "\nOne record a line; a bad record gives an error record or a "
           "blank line.",
       .usage = {"tokenize --vocab FILE... [options] < text > records",
                 "tokenize --vocab FILE --detokenize < records > text"},
       .examples =
           {{.purpose = "the pieces of a line",
             .command = "echo A man rides. | tokenize --vocab joint.model --to "
                        "text"},
            {.purpose = "pair records of two parallel files",
             .command = "paste train.en train.de | tokenize --from tsv --vocab "
                        "joint.model > pairs.jsonl"},
            {.purpose = "a corpus packed for train",
             .command = "paste train.en train.de | tokenize --from tsv --to "
                        "tensors --vocab joint.model --output "
                        "train.safetensors"}},
       .see_also = "build-vocab, train; formats/README.md for the records",
       .options = Options(settings),
       .run = [&](Tool& tool) { Run(tool, settings); }});
}
