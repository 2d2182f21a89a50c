#include "lib/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "lib/nn/context.h"
#include "lib/nn/ragged.h"
#include "lib/ops/adam.h"
#include "lib/ops/vector_ops.h"
#include "lib/train/divergence.h"

namespace pipeformer {
namespace {

constexpr int64_t kRangeSize = 1 << 14;  // parameters that a worker takes

void Fill(const PairCorpus& corpus, std::span<const int64_t> pairs,
          PairBatch& batch) {
  batch.Clear();
  for (const int64_t s : pairs) {
    batch.Append(corpus.source[s], corpus.target[s]);
    if (!corpus.weights.empty()) batch.Weigh(corpus.WeightOf(s));
    if (corpus.is_aligned()) batch.Align(corpus.LinksOf(s));
  }
}

// How many shards a batch of `rows` is divided into: about `shard_rows` each.
// A multiple of the workers, so that they end together, and of four: dropout is
// drawn by shard, so it is the same for one, two and four workers.
int64_t NumShards(int64_t rows, int64_t shard_rows, int64_t num_workers) {
  const int64_t unit = std::lcm(num_workers, int64_t{4});
  const int64_t unit_rows = shard_rows * unit;
  return std::max<int64_t>(1, (rows + unit_rows / 2) / unit_rows) * unit;
}

}  // namespace

struct Trainer::Worker {
  explicit Worker(PairBatch empty) : shard(std::move(empty)) {}

  Arena arena;
  Tape tape;
  PairBatch shard;
  std::vector<float> gradients;
  std::unique_ptr<Profile> profile;  // where asked for
};

Trainer::Trainer(Transformer& model, const PairCorpus& corpus,
                 Boundary boundary, const TrainerOptions& options,
                 const Workforce& workforce)
    : model_(model),
      corpus_(corpus),
      boundary_(boundary),
      options_(options),
      pool_(workforce.pool),
      processes_(workforce.processes) {
  const std::vector<double> workers = Gather(processes_, pool_.num_workers());
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    const auto count = static_cast<int64_t>(workers[rank]);
    num_workers_ += count;
    if (static_cast<int>(rank) < processes_.rank()) first_worker_ += count;
  }
  const auto size = static_cast<size_t>(model.parameters().size());
  state_.first_moment.assign(size, 0);
  state_.second_moment.assign(size, 0);
  if (options.exponential_smoothing > 0) {
    const float* values = model.parameters().values();
    state_.averages.assign(values, values + size);
  }
  for (int w = 0; w < pool_.num_workers(); ++w) {
    workers_.push_back(std::make_unique<Worker>(
        PairBatch(model.config(), boundary, options.predict)));
    workers_.back()->gradients.resize(size);
  }
}

Trainer::~Trainer() = default;

void Trainer::StartProfile() {
  for (const auto& worker : workers_) {
    worker->profile = std::make_unique<Profile>();
    worker->tape = Tape(worker->profile.get());
  }
}

Profile Trainer::TotalProfile() const {
  Profile total;
  for (const auto& worker : workers_) {
    if (worker->profile == nullptr) continue;
    for (size_t op = 0; op < kOpNames.size(); ++op) {
      total.forward[op] += worker->profile->forward[op];
      total.backward[op] += worker->profile->backward[op];
    }
  }
  return total;
}

UpdateResult Trainer::Update(const Batch& batch, double learning_rate) {
  UpdateResult result;
  double weight = 0;
  const TransformerConfig& config = model_.config();
  for (const int64_t s : batch) {
    const auto source = static_cast<int64_t>(corpus_.source[s].size());
    const auto target = static_cast<int64_t>(corpus_.target[s].size());
    const int64_t predicted =
        NumTargets(config, options_.predict, source, target);
    const int64_t encoded = config.is_language_model() ? 0 : source + 1;
    result.given_pieces +=
        encoded + PromptRows(config, source) + target - predicted;
    weight += static_cast<double>(predicted) *
              static_cast<double>(corpus_.WeightOf(s));
  }
  RunShards(batch, 1.0f / static_cast<float>(weight), result.loss);
  result.gradient_norm = SumGradients();
  CheckUpdate(result, batch);
  const bool clip =
      options_.clip_norm > 0 && result.gradient_norm > options_.clip_norm;
  Step(learning_rate, clip ? options_.clip_norm / result.gradient_norm : 1);
  last_batch_ = batch;
  return result;
}

void Trainer::CheckUpdate(const UpdateResult& result,
                          const Batch& batch) const {
  if (std::isfinite(result.loss.plain) && std::isfinite(result.loss.smoothed) &&
      std::isfinite(result.gradient_norm)) {
    return;
  }
  CheckFinite();  // the cause may be one update older
  const int64_t step = state_.step + 1;
  if (!std::isfinite(result.loss.plain) ||
      !std::isfinite(result.loss.smoothed)) {
    throw Divergence(step, "the loss", batch);
  }
  const std::string name =
      FirstNotFinite(model_.parameters(), workers_[0]->gradients);
  throw Divergence(
      step,
      name.empty() ? "the norm of the gradients" : "the gradient of " + name,
      batch);
}

void Trainer::RunShards(const Batch& batch, float gradient_scale,
                        LossSum& sum) {
  int64_t rows = 0;
  for (const int64_t s : batch) {
    rows += static_cast<int64_t>(corpus_.source[s].size() +
                                 corpus_.target[s].size()) +
            2;
  }
  const auto shards =
      Split(corpus_, batch, NumShards(rows, options_.shard_rows, num_workers_));
  const Random step_random = Random(options_.seed)
                                 .Fork(0x44726f70)
                                 .Fork(static_cast<uint64_t>(state_.step));
  std::vector<LossSum> losses(shards.size());
  pool_.Run([&](int w) {
    Worker& worker = *workers_[static_cast<size_t>(w)];
    {
      const Timed timed(ForwardTime(worker.profile.get(), Op::kOptimiser));
      std::fill(worker.gradients.begin(), worker.gradients.end(), 0.0f);
    }
    for (auto i = static_cast<size_t>(first_worker_ + w); i < shards.size();
         i += static_cast<size_t>(num_workers_)) {
      worker.arena.Rewind({});
      Fill(corpus_, shards[i], worker.shard);
      const Random random = step_random.Fork(i);
      Context context{.arena = worker.arena,
                      .tape = &worker.tape,
                      .gradients = worker.gradients.data(),
                      .random = &random};
      GuidedAlignment guide(model_.config(), worker.shard, options_.guide,
                            gradient_scale, worker.arena);
      if (worker.shard.is_aligned()) context.probe = &guide;
      const Variable hidden = model_.Predict(context, worker.shard);
      losses[i] = model_.Loss(context, hidden, worker.shard.targets().ids,
                              {.label_smoothing = options_.label_smoothing,
                               .gradient_scale = gradient_scale,
                               .weights = worker.shard.weights()});
      losses[i].alignment = guide.loss();
      worker.tape.Backward();
    }
  });
  sum = Total(losses);
}

// The sum of the losses that the processes found, each its own, in their order.
LossSum Trainer::Total(std::span<LossSum> losses) {
  std::vector<double> parts;
  for (LossSum& loss : losses) {
    loss.ForEachPart(
        [&](auto part) { parts.push_back(static_cast<double>(part)); });
  }
  processes_.Sum(parts);
  LossSum total;
  for (size_t i = 0; i < parts.size();) {
    total.ForEachPart(
        [&]<class Part>(Part& part) { part += static_cast<Part>(parts[i++]); });
  }
  return total;
}

// Ranges that do not depend on the workers, so neither does a sum over them.
void Trainer::ForEachRange(const std::function<void(int64_t, int64_t)>& run) {
  const int64_t size = model_.parameters().size();
  pool_.Run([&](int w) {
    const Timed timed(ForwardTime(
        workers_[static_cast<size_t>(w)]->profile.get(), Op::kOptimiser));
    for (int64_t begin = w * kRangeSize; begin < size;
         begin += pool_.num_workers() * kRangeSize) {
      run(begin, std::min(begin + kRangeSize, size));
    }
  });
}

// Sums into the first worker's gradients; returns their norm.
double Trainer::SumGradients() {
  std::vector<float>& sum = workers_[0]->gradients;
  if (workers_.size() > 1) {
    ForEachRange([&](int64_t begin, int64_t end) {
      for (size_t other = 1; other < workers_.size(); ++other) {
        AddTo(DenseMatrix(workers_[other]->gradients.data() + begin, 1,
                          end - begin),
              DenseMatrix(sum.data() + begin, 1, end - begin));
      }
    });
  }
  processes_.Sum(sum);
  std::vector<double> squares(sum.size() / kRangeSize + 1);
  ForEachRange([&](int64_t begin, int64_t end) {
    squares[static_cast<size_t>(begin / kRangeSize)] =
        SumOfSquares(sum.data() + begin, end - begin);
  });
  return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
}

void Trainer::Step(double learning_rate, double gradient_scale) {
  ++state_.step;
  const AdamOptions adam{.learning_rate = static_cast<float>(learning_rate),
                         .beta1 = options_.beta1,
                         .beta2 = options_.beta2,
                         .epsilon = options_.epsilon,
                         .gradient_scale = static_cast<float>(gradient_scale),
                         .step = state_.step};
  // Young averages forget faster, so that they do not remember the beginning.
  const float decay = std::min(
      options_.exponential_smoothing,
      static_cast<float>(state_.step) / static_cast<float>(state_.step + 9));
  ForEachRange([&](int64_t begin, int64_t end) {
    float* values = model_.parameters().values();
    AdamUpdate({values, workers_[0]->gradients.data(),
                state_.first_moment.data(), state_.second_moment.data()},
               begin, end, adam);
    if (!state_.averages.empty()) {
      AverageUpdate(values, decay, begin, end, state_.averages.data());
    }
  });
}

LossSum Trainer::Evaluate(const Transformer& model, const PairCorpus& corpus) {
  const EpochBatches batches =
      MakeEpoch(corpus, {.batch_rows = options_.shard_rows / 2}, Random(0));
  std::vector<LossSum> losses(batches.size());
  pool_.Run([&](int w) {
    Worker& worker = *workers_[static_cast<size_t>(w)];
    PairBatch pairs(model.config(), boundary_);
    for (auto i = static_cast<size_t>(first_worker_ + w); i < batches.size();
         i += static_cast<size_t>(num_workers_)) {
      worker.arena.Rewind({});
      const Batch batch = batches[i];
      Fill(corpus, batch, pairs);
      Context context{.arena = worker.arena};
      const Variable hidden = model.Predict(context, pairs);
      losses[i] = model.Loss(context, hidden, pairs.targets().ids, {});
    }
  });
  return Total(losses);
}

int64_t Trainer::gradient_bytes() const {
  return static_cast<int64_t>(workers_.size() * sizeof(float)) *
         model_.parameters().size();
}

int64_t Trainer::activation_bytes() const {
  size_t bytes = 0;
  for (const auto& worker : workers_) {
    bytes += worker->arena.capacity() + worker->tape.gradient_bytes();
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace pipeformer
