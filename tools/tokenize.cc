// tokenize: text to subword pieces and ids, and back.
#include "tools/support/tool_main.h"
#include "tools/tokenize_run.h"

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
       .options = TokenizeOptions(settings),
       .run = [&](Tool& tool) { RunTokenize(tool, settings); }});
}
