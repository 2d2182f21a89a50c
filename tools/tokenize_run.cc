#include "tools/tokenize_run.h"

#include <string_view>

#include "tools/corpus_packer.h"
#include "tools/support/pipeline.h"

namespace pipeformer {

void RunTokenize(Tool& tool, const TokenizeSettings& settings) {
  const Tokenizer tokenizer(settings, tool);
  const auto work = [&](const InputRecord& record) {
    return tokenizer.Process(record);
  };
  if (!tokenizer.packs()) return FilterLines(tool, work);
  CorpusPacker packer(tool, tokenizer.VocabularyHashes());
  FilterLines(tool, work, [&](std::string_view bytes) { packer.Add(bytes); });
  packer.Finish();
}

std::vector<Option> TokenizeOptions(TokenizeSettings& settings) {
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

}  // namespace pipeformer
