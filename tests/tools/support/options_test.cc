#include "tools/support/options.h"

#include <gtest/gtest.h>

#include <locale>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

struct Settings {
  bool detokenize = false;
  int64_t beam_size = 5;
  uint64_t seed = 1;
  double alpha = 0.5;
  std::string from = "text";
  std::optional<int64_t> layer;
  std::vector<std::string> train_sets = {"default"};
  std::vector<double> weights;
  std::string called;
};

std::vector<Option> Table(Settings& s) {
  return {
      {.name = "detokenize", .value = "", .help = "h", .target = &s.detokenize},
      {.name = "beam-size",
       .value = "N",
       .help = "h",
       .target = &s.beam_size,
       .min = 1,
       .max = 100},
      {.name = "seed", .value = "N", .help = "h", .target = &s.seed},
      {.name = "alpha", .value = "X", .help = "h", .target = &s.alpha},
      {.name = "from", .value = "text|tsv", .help = "h", .target = &s.from},
      {.name = "layer", .value = "N", .help = "h", .target = &s.layer},
      {.name = "train-sets",
       .value = "FILE",
       .help = "h",
       .target = &s.train_sets},
      {.name = "weights", .value = "X", .help = "h", .target = &s.weights},
      {.name = "call",
       .value = "hard|soft|THRESHOLD",
       .help = "h",
       .target = [&s](const std::string& text) { s.called = text; }},
  };
}

Settings Parse(const std::vector<std::string>& arguments) {
  Settings settings;
  ParseOptions(arguments, Table(settings));
  return settings;
}

std::string ErrorOf(const std::vector<std::string>& arguments) {
  try {
    Parse(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(Options, ValuesReachTheirTargets) {
  const Settings s = Parse({"--detokenize", "--beam-size", "12", "--alpha=.25",
                            "--from", "tsv", "--layer", "-1", "--call", "0.3"});
  EXPECT_TRUE(s.detokenize);
  EXPECT_EQ(s.beam_size, 12);
  EXPECT_EQ(s.alpha, 0.25);
  EXPECT_EQ(s.from, "tsv");
  EXPECT_EQ(s.layer, -1);
  EXPECT_EQ(s.called, "0.3");
}

TEST(Options, DefaultsStayWhereNothingIsSaid) {
  const Settings s = Parse({});
  EXPECT_EQ(s.beam_size, 5);
  EXPECT_FALSE(s.layer.has_value());
  EXPECT_EQ(s.train_sets, (std::vector<std::string>{"default"}));
}

TEST(Options, ListsTakeValuesUpToTheNextOption) {
  const Settings s = Parse({"--train-sets", "a,b", "-", "--weights", "-1", "2",
                            "--train-sets", "c", "--detokenize"});
  EXPECT_EQ(s.train_sets, (std::vector<std::string>{"a,b", "-", "c"}));
  EXPECT_EQ(s.weights, (std::vector<double>{-1, 2}));
  EXPECT_TRUE(s.detokenize);
}

TEST(Options, UnknownOptionNamesTheNearest) {
  EXPECT_EQ(ErrorOf({"--beam-sise", "3"}),
            "--beam-sise: unknown option; did you mean --beam-size? --help "
            "lists all");
  EXPECT_EQ(ErrorOf({"--beam"}),
            "--beam: unknown option; did you mean --beam-size? --help lists "
            "all");
  EXPECT_EQ(ErrorOf({"--xyzzyxyzzy"}),
            "--xyzzyxyzzy: unknown option; --help lists all");
}

TEST(Options, WrongValuesNameTheValueAndTheLimit) {
  EXPECT_EQ(ErrorOf({"--beam-size", "0"}),
            "--beam-size: 0 is below the least value 1; see --help");
  EXPECT_EQ(ErrorOf({"--beam-size", "101"}),
            "--beam-size: 101 is above the greatest value 100; see --help");
  EXPECT_EQ(ErrorOf({"--beam-size", "3x"}),
            "--beam-size: '3x' is not a whole number; see --help");
  EXPECT_EQ(ErrorOf({"--beam-size", ""}),
            "--beam-size: '' is not a whole number; see --help");
  EXPECT_EQ(ErrorOf({"--seed", "-1"}),
            "--seed: '-1' is not a whole number from 0; see --help");
  EXPECT_EQ(ErrorOf({"--alpha", "0,5"}),
            "--alpha: '0,5' is not a number; see --help");
  EXPECT_EQ(ErrorOf({"--alpha", "nan"}),
            "--alpha: 'nan' is not a number; see --help");
  EXPECT_EQ(ErrorOf({"--from", "csv"}), "--from: 'csv' is not one of text|tsv");
}

TEST(Options, MissingAndExtraValuesAreRefused) {
  EXPECT_EQ(ErrorOf({"--from"}), "--from: needs a value (text|tsv)");
  EXPECT_EQ(ErrorOf({"--from", "--detokenize"}),
            "--from: needs a value (text|tsv)");
  EXPECT_EQ(ErrorOf({"--train-sets"}), "--train-sets: needs a value (FILE)");
  EXPECT_EQ(ErrorOf({"--detokenize=yes"}), "--detokenize: takes no value");
  EXPECT_NE(ErrorOf({"--from", "tsv", "file"}).find("'file'"),
            std::string::npos);
  EXPECT_EQ(ErrorOf({"--from", "tsv", "--from", "text"}),
            "--from: given twice; give it once");
}

TEST(Options, RequiredOptionIsMissed) {
  std::string vocab;
  const std::vector<Option> table = {{.name = "vocab",
                                      .value = "FILE",
                                      .help = "h",
                                      .target = &vocab,
                                      .required = true}};
  EXPECT_THROW(ParseOptions({}, table), Error);
  ParseOptions({"--vocab", "v"}, table);
  EXPECT_EQ(vocab, "v");
}

TEST(Options, DescriptionShowsNamesValuesAndDefaults) {
  Settings settings;
  const std::string text = DescribeOptions(Table(settings));
  EXPECT_TRUE(text.starts_with("  --detokenize")) << text;
  EXPECT_NE(text.find("--beam-size N"), std::string::npos);
  EXPECT_NE(text.find("(default: 5)"), std::string::npos);
  EXPECT_NE(text.find("--train-sets FILE..."), std::string::npos);
}

// Field cases loc-output and loc-sort.
TEST(Options, LocaleChangesNothing) {
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  Settings settings;
  const std::string before = DescribeOptions(Table(settings));
  const std::locale old =
      std::locale::global(std::locale(std::locale::classic(), new Comma));
  settings = Parse({"--alpha", "0.25", "--beam-size", "99"});
  EXPECT_EQ(settings.alpha, 0.25);
  EXPECT_EQ(settings.beam_size, 99);
  settings = Settings();
  EXPECT_EQ(DescribeOptions(Table(settings)), before);
  std::locale::global(old);
}

}  // namespace
}  // namespace pipeformer
