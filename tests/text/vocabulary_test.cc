#include "lib/text/vocabulary.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "lib/base/error.h"
#include "lib/base/utf8.h"

namespace pipeformer {
namespace {

using nlohmann::json;

std::string ReadData(const std::string& name) {
  std::ifstream file("tests/text/data/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

const Vocabulary& Model(const std::string& name) {
  static std::map<std::string, Vocabulary> models;
  const auto found = models.find(name);
  if (found != models.end()) return found->second;
  return models.emplace(name, Vocabulary(ReadData(name))).first->second;
}

std::vector<json> Golden() {
  std::ifstream file("tests/text/data/spm_golden.jsonl");
  std::vector<json> rows;
  std::string line;
  while (std::getline(file, line)) rows.push_back(json::parse(line));
  EXPECT_GT(rows.size(), 100u);
  return rows;
}

// SentencePiece's own numbers; among them the field cases uni-zwj, uni-zwnj,
// uni-fe30, uni-alm, uni-emoji-lost, enc-nul, sp-literal-unk, sp-literal-eos,
// rt-no-space and empty-skip-line.
TEST(Vocabulary, PiecesIdsAndTextAreThoseOfSentencePiece) {
  for (const json& row : Golden()) {
    if (!row.contains("text")) continue;
    const Vocabulary& vocabulary = Model(row["model"]);
    const Sentence sentence = vocabulary.Encode(row["text"].get<std::string>());
    EXPECT_EQ(sentence.tokens, row["pieces"].get<std::vector<std::string>>())
        << row["id"];
    EXPECT_EQ(sentence.ids, row["ids"].get<std::vector<int32_t>>())
        << row["id"];
    EXPECT_EQ(vocabulary.Decode(sentence.ids),
              row["decoded_from_ids"].get<std::string>())
        << row["id"];
    EXPECT_EQ(vocabulary.Decode(sentence.tokens),
              row["decoded_from_pieces"].get<std::string>())
        << row["id"];
  }
}

TEST(Vocabulary, SpecialIdsAreThoseOfSentencePiece) {
  for (const json& row : Golden()) {
    if (row.contains("text")) continue;
    const Vocabulary& vocabulary = Model(row["model"]);
    EXPECT_EQ(vocabulary.size(), row["vocab_size"].get<int>());
    EXPECT_EQ(vocabulary.unk_id(), row["unk"].get<int>());
    EXPECT_EQ(vocabulary.bos_id(), row["bos"].get<int>());
    EXPECT_EQ(vocabulary.eos_id(), row["eos"].get<int>());
    EXPECT_EQ(vocabulary.pad_id(), row["pad"].get<int>());
    for (int32_t id = 0; id < 10; ++id) {
      EXPECT_EQ(vocabulary.PieceOf(id),
                row["first10"][static_cast<size_t>(id)].get<std::string>());
      EXPECT_EQ(vocabulary.IdOf(vocabulary.PieceOf(id)), id);
    }
    EXPECT_EQ(vocabulary.Decode(std::vector<int32_t>{0}),
              row["unk_decoded"].get<std::string>());
    EXPECT_EQ(vocabulary.Decode(std::vector<int32_t>{1, 2}),
              row["control_decoded"].get<std::string>());
    EXPECT_TRUE(vocabulary.IsUnknown(0));
    EXPECT_TRUE(vocabulary.IsControl(1));
    EXPECT_FALSE(vocabulary.IsControl(3));
    EXPECT_EQ(vocabulary.IsByte(3), row["model"] == "bpe_bf.model");
  }
}

// Offsets lie in order, cover what is not white space, and cut at characters.
TEST(Vocabulary, OffsetsAreBytesOfTheRawText) {
  for (const json& row : Golden()) {
    if (!row.contains("text")) continue;
    const std::string text = row["text"];
    const Sentence sentence = Model(row["model"]).Encode(text);
    ASSERT_EQ(sentence.offsets.size(), sentence.tokens.size());
    EXPECT_EQ(sentence.text, text);
    uint32_t last = 0;
    for (const TextSpan& span : sentence.offsets) {
      EXPECT_LE(span.begin, span.end) << row["id"];
      EXPECT_LE(last, span.begin) << row["id"];
      EXPECT_LE(span.end, text.size()) << row["id"];
      const auto part = text.substr(span.begin, span.end - span.begin);
      EXPECT_EQ(FindInvalidUtf8(part), std::string::npos) << row["id"];
      last = span.end;
    }
  }
  const Sentence sentence = Model("uni.model").Encode("  The  cat.");
  using Spans = std::vector<TextSpan>;
  EXPECT_EQ(sentence.tokens,
            (std::vector<std::string>{"\u2581Th", "e", "\u2581cat", "."}));
  EXPECT_EQ(sentence.offsets, (Spans{{2, 4}, {4, 5}, {5, 10}, {10, 11}}));
}

TEST(Vocabulary, BytePiecesShareTheSpanOfTheirCharacter) {
  const Sentence sentence = Model("bpe_bf.model").Encode("a\U0001F600");
  ASSERT_EQ(sentence.tokens.size(), 5u);
  EXPECT_EQ(sentence.tokens.back(), "<0x80>");
  EXPECT_EQ(sentence.offsets.back().end, 5u);
  EXPECT_EQ(sentence.offsets[1].begin, 1u);
}

// Field cases sp-literal-unk and sp-literal-eos.
TEST(Vocabulary, NoControlIdArisesFromText) {
  const std::string text = "hello </s> world <s> <pad> <unk> <0x41>";
  for (const char* name : {"uni.model", "bpe_bf.model", "bpe_id.model"}) {
    const Vocabulary& vocabulary = Model(name);
    for (const int32_t id : vocabulary.Encode(text).ids) {
      EXPECT_FALSE(vocabulary.IsControl(id));
    }
  }
  const Vocabulary& bytes = Model("bpe_bf.model");
  EXPECT_EQ(bytes.Decode(bytes.Encode(text).ids), text);
}

// Field case rt-unk-surface.
TEST(Vocabulary, SurfaceOfTheUnknownCanBeChosen) {
  const Vocabulary& vocabulary = Model("uni.model");
  const std::vector<int32_t> ids = {56, 43, 0, 32};
  EXPECT_EQ(vocabulary.Decode(ids), "The \u2047  cat");
  EXPECT_EQ(vocabulary.Decode(ids, "?"), "The? cat");
  EXPECT_EQ(vocabulary.Decode(ids, ""), "The cat");
  const std::vector<std::string> pieces = {"\u2581Th", "e", "\u00DF", "<unk>"};
  EXPECT_EQ(vocabulary.Decode(pieces, "?"), "The\u00DF?");
}

// Field cases rt-byte-tail, rt-partial-bytes and js-invalid-utf8.
TEST(Vocabulary, StrayBytePiecesBecomeReplacementCharacters) {
  const Vocabulary& vocabulary = Model("bpe_bf.model");
  using Pieces = std::vector<std::string>;
  EXPECT_EQ(vocabulary.Decode(
                Pieces{"\u2581The", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"}),
            "The\U0001F600");
  EXPECT_EQ(vocabulary.Decode(Pieces{"\u2581The", "<0xF0>", "<0x9F>", "cat"}),
            "The\uFFFD\uFFFDcat");
  for (int32_t byte = 0; byte < 256; ++byte) {
    const std::vector<int32_t> ids = {3 + byte};
    EXPECT_EQ(FindInvalidUtf8(vocabulary.Decode(ids)), std::string::npos);
    EXPECT_EQ(FindInvalidUtf8(vocabulary.Decode(ids, "?")), std::string::npos);
  }
}

TEST(Vocabulary, IdsOutsideAreRefused) {
  const Vocabulary& vocabulary = Model("uni.model");
  EXPECT_THROW(vocabulary.Decode(std::vector<int32_t>{-1}), Error);
  EXPECT_THROW(vocabulary.Decode(std::vector<int32_t>{150}), Error);
  EXPECT_EQ(vocabulary.IdOf("no such piece"), 0);
}

TEST(Vocabulary, SamplesDependOnKeyAndTextAlone) {
  const std::string text = "the newest green river house walks lower";
  for (const char* name : {"uni.model", "bpe_bf.model"}) {
    const Vocabulary& vocabulary = Model(name);
    ASSERT_TRUE(vocabulary.CanSample());
    std::set<std::vector<int32_t>> cuts;
    for (uint64_t record = 0; record < 50; ++record) {
      const Random random = Random(7).Fork(record);
      const Sentence first = vocabulary.SampleEncode(text, 0.3, random);
      Sentence again;
      std::jthread([&] {
        vocabulary.SampleEncode("something else before", 0.3, Random(1));
        again = vocabulary.SampleEncode(text, 0.3, random);
      }).join();
      EXPECT_EQ(first.ids, again.ids);
      EXPECT_EQ(vocabulary.Decode(first.ids), text);
      cuts.insert(first.ids);
    }
    EXPECT_GT(cuts.size(), 10u) << name;
  }
}

TEST(Vocabulary, WhatIsNoModelIsRefused) {
  const std::string model = ReadData("uni.model");
  EXPECT_THROW(Vocabulary(""), Error);
  EXPECT_THROW(Vocabulary("the 5\ncat 3\n", "words.txt"), Error);
  EXPECT_THROW(Vocabulary(model.substr(0, 1000)), Error);
  EXPECT_THROW(Vocabulary(std::string(1000, '\0')), Error);
  EXPECT_EQ(Vocabulary(model).model(), model);
}

}  // namespace
}  // namespace pipeformer
