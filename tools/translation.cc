#include "tools/translation.h"

#include <algorithm>
#include <utility>

#include "formats/numbers.h"
#include "lib/metrics/bleu.h"
#include "lib/metrics/chrf.h"
#include "lib/metrics/minimum_risk.h"
#include "tools/attention_view.h"

namespace pipeformer {
namespace {

// Text in a line: an LF that byte pieces made would break it.
std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string AlignmentText(const std::vector<AlignedPair>& pairs) {
  std::string text;
  for (const AlignedPair& p : pairs) {
    if (!text.empty()) text += ' ';
    text += std::to_string(p.source) + "-" + std::to_string(p.target);
  }
  return text;
}

std::string WordScoresText(const Hypothesis& hypothesis) {
  std::string text = "WordScores=";
  for (const float p : hypothesis.token_log_probs) text += " " + NumberText(p);
  return text;
}

std::string Decode(const std::vector<int32_t>& ids,
                   const Vocabulary& vocabulary,
                   const Replacements& replacements) {
  if (replacements.empty()) return vocabulary.Decode(ids);
  std::vector<std::string> pieces;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto word = replacements.find(i);
    // What is no piece of the vocabulary stands for itself.
    pieces.push_back(word == replacements.end()
                         ? vocabulary.PieceOf(ids[i])
                         : (i == 0 ? "" : " ") + word->second);
  }
  return vocabulary.Decode(pieces);
}

// The text of `ids`, which begin with those of `beginning`: its own text as it
// was given, unknown words and spaces too, and then what follows.
std::string TextAfter(const Sentence& beginning,
                      const std::vector<int32_t>& ids,
                      const Vocabulary& vocabulary,
                      const Replacements& replacements = {}) {
  const std::string whole = Decode(ids, vocabulary, replacements);
  const std::string first = vocabulary.Decode(beginning.ids);
  if (beginning.text.empty() || !whole.starts_with(first)) return whole;
  return beginning.text + whole.substr(first.size());
}

// The word of `text` that holds the byte at `place`; between words the next.
std::string WordAt(const std::string& text, size_t place) {
  const char* spaces = " \t";
  place = std::min(text.find_first_not_of(spaces, place), text.size());
  const size_t before = text.find_last_of(spaces, place);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, text.find_first_of(spaces, place) - begin);
}

Json AlignmentJson(const std::vector<AlignedPair>& pairs, AlignmentKind kind) {
  Json list = Json::array();
  for (const AlignedPair& p : pairs) {
    Json pair = {p.source, p.target};
    if (kind == AlignmentKind::kSoft)
      pair.push_back(NumberList({&p.weight, 1})[0]);
    list.push_back(std::move(pair));
  }
  return list;
}

Replacements ReplacementsOf(const Translation& translation, size_t i) {
  return translation.replacements.empty() ? Replacements{}
                                          : translation.replacements[i];
}

}  // namespace

Boundary BoundaryOf(const VocabularyPair& vocabularies) {
  return {.bos = vocabularies.target->bos_id(),
          .eos = vocabularies.target->eos_id(),
          .source_eos = vocabularies.source->eos_id()};
}

SearchOptions FitSearch(const TranslationOptions& translation,
                        const Transformer& network,
                        const VocabularyPair& vocabularies) {
  SearchOptions options = translation.search;
  options.boundary = BoundaryOf(vocabularies);
  const TransformerConfig& config = network.config();
  options.max_length = std::min(options.max_length, MaxSidePieces(config));
  const Vocabulary& vocabulary = *vocabularies.target;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    if (id == options.boundary.eos) continue;
    if (vocabulary.IsControl(id) || vocabulary.IsUnused(id) ||
        (vocabulary.IsUnknown(id) && !translation.replace_unknowns)) {
      options.suppressed.push_back(id);
    }
  }
  return options;
}

std::vector<AlignedPair> Align(const ForcedResult& forced,
                               const TranslationOptions& options) {
  // The kinds are sorted; without cross-attention the decoder's are last.
  const AttentionKind kind = forced.attention.back().kind;
  const int64_t num_layers = forced.attention.back().layer + 1;
  const AttentionSelection last = {
      .kinds = {KindName(kind)}, .layers = {-1}, .average = "heads"};
  // Encoder layers are not selected, so their number does not matter.
  const ShownAttention mean =
      Select(forced.attention, last, num_layers, num_layers).at(0);
  const auto predicted = static_cast<int64_t>(forced.token_log_probs.size());
  // In a language model `<s> source </s>` stands before the target.
  const int64_t first_query = mean.queries - predicted;
  const int64_t first_key = kind == AttentionKind::kCross ? 0 : 1;
  const int64_t sources =
      (kind == AttentionKind::kCross ? mean.keys : first_query) - 1;
  std::vector<AlignedPair> pairs;
  for (int64_t t = 0; t + 1 < predicted; ++t) {
    const float* row =
        mean.weights.data() + (first_query + t) * mean.keys + first_key;
    const int64_t best = std::max_element(row, row + sources) - row;
    for (int64_t s = 0; s < sources; ++s) {
      const bool chosen =
          options.alignment == AlignmentKind::kSoft ||
          (options.alignment == AlignmentKind::kHard && s == best) ||
          (options.alignment == AlignmentKind::kThreshold &&
           static_cast<double>(row[s]) > options.alignment_threshold);
      if (chosen) pairs.push_back({s, t, row[s]});
    }
  }
  return pairs;
}

SearchRequest RequestOf(const SentenceToTranslate& sentence, int64_t index) {
  return {.index = index,
          .source = sentence.source.ids,
          .prefix = sentence.prefix.ids,
          .min_length = sentence.min_length,
          .max_length = sentence.max_length,
          .constraints = sentence.constraints};
}

Replacements ReplaceUnknowns(const SentenceToTranslate& sentence,
                             const std::vector<int32_t>& ids,
                             const ForcedResult& forced,
                             const Vocabulary& target) {
  Replacements replacements;
  for (const AlignedPair& p :
       Align(forced, {.alignment = AlignmentKind::kHard})) {
    const auto piece = static_cast<size_t>(p.target);
    const auto source = static_cast<size_t>(p.source);
    if (!target.IsUnknown(ids[piece])) continue;
    const Sentence& from = sentence.source;
    // Of pieces that came without their text there is but their own.
    replacements[piece] = from.offsets.empty()
                              ? from.tokens[source]
                              : WordAt(from.text, from.offsets[source].begin);
  }
  return replacements;
}

std::string WholeText(const SentenceToTranslate& sentence,
                      const Hypothesis& hypothesis, const Vocabulary& target,
                      const TranslationOptions& options,
                      const Replacements& replacements) {
  if (!options.continues) {
    return TextAfter(sentence.prefix, hypothesis.ids, target, replacements);
  }
  std::vector<int32_t> ids = sentence.source.ids;
  ids.insert(ids.end(), hypothesis.ids.begin(), hypothesis.ids.end());
  return TextAfter(sentence.source, ids, target);
}

Hypothesis LeastRisk(const SentenceToTranslate& sentence,
                     std::vector<Hypothesis> hypotheses,
                     const Vocabulary& target,
                     const TranslationOptions& options) {
  std::vector<std::string> texts;
  std::vector<double> log_probs;
  for (const Hypothesis& h : hypotheses) {
    texts.push_back(WholeText(sentence, h, target, options));
    log_probs.push_back(h.log_prob);
  }
  const std::vector<double> weights =
      options.search.sampling.active()
          ? std::vector<double>(hypotheses.size(), 1)
          : PosteriorWeights(log_probs);
  const std::vector<double> utilities =
      options.minimum_risk == "bleu"
          ? ExpectedUtilities(Bleu({.effective_order = true}), texts, weights)
          : ExpectedUtilities(Chrf({}), texts, weights);
  const auto best = std::ranges::max_element(utilities);
  Hypothesis chosen =
      std::move(hypotheses[static_cast<size_t>(best - utilities.begin())]);
  chosen.score = *best;
  return chosen;
}

Translation BlankTranslation() {
  Translation translation;
  translation.hypotheses.emplace_back();
  translation.aligned.emplace_back();
  translation.replacements.emplace_back();
  return translation;
}

std::string TranslationText(const SentenceToTranslate& sentence,
                            const Translation& translation,
                            const Vocabulary& target,
                            const TranslationOptions& options) {
  const bool n_best = options.search.n_best > 1 && options.minimum_risk.empty();
  if (!n_best && sentence.source.ids.empty()) return "\n";
  const Json& id = sentence.record["id"];
  const std::string name =
      OneLine(id.is_string() ? id.get<std::string>() : id.dump());
  std::string lines;
  for (size_t i = 0; i < translation.hypotheses.size(); ++i) {
    const Hypothesis& h = translation.hypotheses[i];
    const std::string text = OneLine(WholeText(sentence, h, target, options,
                                               ReplacementsOf(translation, i)));
    if (n_best) {
      lines +=
          name + " ||| " + text + " ||| Logprob= " + NumberText(h.log_prob);
      if (options.word_scores) lines += " " + WordScoresText(h);
      lines += " ||| " + NumberText(h.score);
    } else {
      lines += text;
      if (options.word_scores) lines += " ||| " + WordScoresText(h);
    }
    if (options.alignment != AlignmentKind::kNone) {
      lines += " ||| " + AlignmentText(translation.aligned[i]);
    }
    lines += "\n";
  }
  return lines;
}

Json TranslationRecord(const SentenceToTranslate& sentence,
                       const Translation& translation, const Vocabulary& target,
                       const TranslationOptions& options) {
  Json record = sentence.record;
  for (const char* key : {"text", "tokens", "ids", "offsets"}) {
    record.erase(key);
  }
  Json source = Json::object();
  SetSentence(sentence.source, &source);
  record["source"] = std::move(source);
  Json hypotheses = Json::array();
  for (size_t i = 0; i < translation.hypotheses.size(); ++i) {
    const Hypothesis& h = translation.hypotheses[i];
    Json tokens = Json::array();
    for (const int32_t id : h.ids) tokens.push_back(target.PieceOf(id));
    Json json = {{"text", TextAfter(sentence.prefix, h.ids, target,
                                    ReplacementsOf(translation, i))},
                 {"tokens", std::move(tokens)},
                 {"ids", h.ids},
                 {"logprob", h.log_prob},
                 {"score", h.score},
                 {"length", h.token_log_probs.size()}};
    if (options.continues) {
      json["full_text"] = WholeText(sentence, h, target, options);
    }
    if (options.word_scores)
      json["token_logprobs"] = NumberList(h.token_log_probs);
    if (options.alignment != AlignmentKind::kNone) {
      json["alignment"] =
          AlignmentJson(translation.aligned[i], options.alignment);
    }
    hypotheses.push_back(std::move(json));
  }
  record["hypotheses"] = std::move(hypotheses);
  return record;
}

}  // namespace pipeformer
