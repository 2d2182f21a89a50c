#include "tools/train_options.h"

#include <gtest/gtest.h>

#include "lib/base/error.h"
#include "tools/train_identity.h"
#include "tools/train_settings.h"

namespace pipeformer {
namespace {

TEST(ParseStretch, KnowsItsUnits) {
  EXPECT_EQ(ParseStretch("after", "30e").epochs, 30);
  EXPECT_EQ(ParseStretch("after", "0.5e").epochs, 0.5);
  EXPECT_EQ(ParseStretch("after", "500u").updates, 500);
  EXPECT_EQ(ParseStretch("after", "20Ku").updates, 20000);
  EXPECT_EQ(ParseStretch("after", "1.5Ku").updates, 1500);
  EXPECT_EQ(ParseStretch("after", "240s").seconds, 240);
  EXPECT_EQ(ParseStretch("after", "4m").seconds, 240);
  EXPECT_EQ(ParseStretch("after", "2h").seconds, 7200);
}

TEST(ParseStretch, RefusesWhatIsNoStretch) {
  for (const char* text : {"", "5", "e", "-3e", "0e", "0.5u", "3x", "3 e",
                           "nane", "infe", "1e99u", "3eu", "3Ke"}) {
    try {
      ParseStretch("valid-freq", text);
      FAIL() << text << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      EXPECT_EQ(std::string(error.what()).find("--valid-freq is '"), 0u);
    }
  }
}

TrainSettings Parsed(std::vector<std::string> arguments) {
  TrainSettings settings;
  arguments.insert(arguments.begin(),
                   {"train", "--vocabs", "v", "--model", "m"});
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  ApplyTask(static_cast<int>(argv.size()), argv.data(), settings);
  ParseOptions({arguments.begin() + 1, arguments.end()},
               TrainOptions(settings));
  return settings;
}

TEST(TrainOptions, APresetYieldsToOptionsOnBothSidesOfIt) {
  const TrainSettings s = Parsed(
      {"--dim-emb", "64", "--task", "transformer-tiny", "--enc-depth", "2"});
  EXPECT_EQ(s.network.d_model, 64);
  EXPECT_EQ(s.network.encoder_layers, 2);
  EXPECT_EQ(s.network.decoder_layers, 4);
  EXPECT_EQ(s.network.ffn_dim, 256);
  EXPECT_EQ(s.network.num_heads, 4);
}

// Vaswani et al. 2017, table 3.
TEST(TrainOptions, BaseAndBigAreThePapers) {
  const TransformerConfig base = Parsed({}).network;
  EXPECT_EQ(base.d_model, 512);
  EXPECT_EQ(base.num_heads, 8);
  EXPECT_EQ(base.ffn_dim, 2048);
  EXPECT_EQ(base.encoder_layers, 6);
  EXPECT_EQ(base.decoder_layers, 6);
  EXPECT_EQ(base.dropout, 0.1f);
  const TransformerConfig big = Parsed({"--task=transformer-big"}).network;
  EXPECT_EQ(big.d_model, 1024);
  EXPECT_EQ(big.num_heads, 16);
  EXPECT_EQ(big.ffn_dim, 4096);
  EXPECT_EQ(big.dropout, 0.3f);
}

TEST(CompleteSettings, DerivesWhatFollows) {
  TrainSettings s =
      Parsed({"--dim-emb", "64", "--exponential-smoothing", "0.25",
              "--optimizer-params", "0.8", "0.9", "1e-6"});
  CompleteSettings(s, 77);
  EXPECT_EQ(s.schedule.d_model, 64);
  EXPECT_EQ(s.trainer.seed, 77u);
  EXPECT_EQ(s.trainer.exponential_smoothing, 0.75f);
  EXPECT_EQ(s.trainer.beta1, 0.8f);
  EXPECT_EQ(s.trainer.beta2, 0.9f);
  EXPECT_EQ(s.trainer.epsilon, 1e-6f);
}

TrainSettings Completed(const std::vector<std::string>& arguments) {
  TrainSettings s = Parsed(arguments);
  CompleteSettings(s, 1);
  return s;
}

TEST(CompleteSettings, ALanguageModelLearnsWhatItsDataAre) {
  const auto trained_on = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--type", "transformer-lm"});
    const TransformerConfig n = Completed(arguments).network;
    EXPECT_EQ(n.encoder_layers, 0);
    return n.trained_on;
  };
  EXPECT_EQ(trained_on({}), TrainedOn::kPairs);  // of tsv
  EXPECT_EQ(trained_on({"--from", "jsonl"}), TrainedOn::kPairs);
  EXPECT_EQ(trained_on({"--from", "text", "--train-sets", "a"}),
            TrainedOn::kSentences);
  EXPECT_EQ(trained_on({"--from", "jsonl", "--lm-data", "sentences"}),
            TrainedOn::kSentences);
  EXPECT_EQ(trained_on({"--from", "text", "--lm-data", "pairs", "--train-sets",
                        "a", "b"}),
            TrainedOn::kPairs);
}

TEST(CompleteSettings, PositionsSuitTheirKind) {
  EXPECT_EQ(Completed({}).network.max_positions, 4096);
  EXPECT_EQ(Completed({"--position", "learned"}).network.max_positions, 512);
  EXPECT_EQ(Completed({"--position", "learned", "--type", "transformer-lm"})
                .network.max_positions,
            1024);
  EXPECT_EQ(Completed({"--max-positions", "9", "--max-length", "8"})
                .network.max_positions,
            9);
  // A sentence is alone in its sequence.
  EXPECT_EQ(
      Completed({"--type", "transformer-lm", "--from", "text", "--train-sets",
                 "a", "--max-length", "600", "--position", "learned"})
          .network.max_positions,
      1024);
  EXPECT_EQ(Completed({"--position", "relative", "--relative-clip", "4"})
                .network.relative_clip,
            4);
}

// What a message about a changed option will show.
TEST(OptionIdentity, SaysNumbersAsTheyAreTyped) {
  const auto identity = OptionIdentity(
      Completed({"--label-smoothing", "0.1", "--optimizer-params", "0.9",
                 "0.98", "1e-9", "--valid-freq", "20Ku", "--lr-schedule",
                 "linear", "--after", "1e", "--average-last", "4"}));
  EXPECT_EQ(identity["--label-smoothing"].dump(), "0.1");
  EXPECT_EQ(identity["--optimizer-params"].dump(), "[0.9,0.98,1e-09]");
  EXPECT_EQ(identity["--valid-freq"], "20000u");
  EXPECT_EQ(identity["--lr-schedule"], "linear");
  EXPECT_EQ(identity["--after"], "1e");
  EXPECT_EQ(identity["--average-last"], 4);
  EXPECT_EQ(identity["--average-best"], 0);
}

// Raising --after continues a training, unless every rate depends on it; when
// the state is saved changes no result.
TEST(OptionIdentity, LeavesOutWhatMayChange) {
  const auto identity = OptionIdentity(Completed({"--save-freq", "3u"}));
  EXPECT_FALSE(identity.contains("--after"));
  EXPECT_FALSE(identity.contains("--save-freq"));
}

TEST(CompleteSettings, RefusesContradictions) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> bad = {
      {{"--vocabs", "w", "x"}, "--vocabs"},
      {{"--dim-emb", "64", "--transformer-heads", "7"}, "--transformer-heads"},
      {{"--from", "text", "--train-sets", "a"}, "--from text"},
      {{"--from", "text", "--train-sets", "a", "b", "--valid-sets", "c"},
       "--valid-sets"},
      {{"--keep-best"}, "--valid-sets"},
      {{"--average-best", "3"}, "--valid-sets"},
      {{"--average-best", "3", "--average-last", "3", "--valid-sets", "v"},
       "give either"},
      {{"--valid-metrics", "bleu", "rouge"}, "'rouge'"},
      {{"--optimizer-params", "0.9", "0.98"}, "--optimizer-params"},
      {{"--optimizer-params", "0.9", "1", "1e-9"}, "--optimizer-params"},
      {{"--lm-data", "sentences"}, "--lm-data goes with"},
      {{"--lm-loss", "both"}, "--lm-loss both goes with"},
      {{"--type", "transformer-lm", "--lm-data", "sentences"}, "--from text"},
      {{"--type", "transformer-lm", "--from", "text", "--train-sets", "a",
        "--valid-metrics", "bleu"},
       "take cross-entropy"},
      {{"--max-positions", "9", "--max-length", "9"}, "8 at most"},
      {{"--max-positions", "19", "--max-length", "9", "--type",
        "transformer-lm"},
       "8 at most"},
      {{"--relative-clip", "4"}, "--position relative"}};
  for (const auto& [arguments, word] : bad) {
    TrainSettings s = Parsed(arguments);
    try {
      CompleteSettings(s, 1);
      FAIL() << arguments[0] << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace pipeformer
