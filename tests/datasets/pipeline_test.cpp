// The pipeline: every sample once an epoch, the same batches for any number of workers, resuming, errors and
// shutdown. Meant to be run under ThreadSanitizer too.
#include "datasets/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>

#include "tests/datasets/fixtures.h"

namespace lathe {
namespace {

StagedSet numbers(int64_t size, std::vector<int64_t> broken = {}) {
  return {std::make_unique<NumberSource>(size, 3, std::move(broken)), {.workers = 2}};
}

struct Seen {
  std::vector<int64_t> sizes, samples;
  std::vector<int32_t> labels;
  std::vector<uint8_t> first_pixels;
  bool operator==(const Seen&) const = default;
};

Seen collect(Pipeline& pipeline) {
  Seen seen;
  while (const Batch* batch = pipeline.next()) {
    seen.sizes.push_back(batch->size);
    for (int64_t i = 0; i < batch->size; ++i) {
      seen.samples.push_back(batch->samples[i]);
      seen.labels.push_back(batch->labels[i]);
      seen.first_pixels.push_back(batch->images[i * 12]);
    }
    pipeline.release(batch);
  }
  return seen;
}

Seen epoch_of(const StagedSet& set, const PipelineOptions& options, int64_t epoch = 0, int64_t offset = 0,
              int64_t end = 1) {
  Pipeline pipeline(set, options);
  pipeline.start(epoch, offset, end);
  return collect(pipeline);
}

TEST(Pipeline, BatchSizesOfAnEpoch) {
  using Sizes = std::vector<int64_t>;
  const struct {
    int64_t size, batch;
    bool drop_last;
    Sizes expected;
  } cases[] = {{13, 4, false, {4, 4, 4, 1}}, {13, 4, true, {4, 4, 4}}, {3, 8, false, {3}},
               {8, 8, false, {8}},           {8, 8, true, {8}},        {1, 1, false, {1}}};
  for (const auto& c : cases) {
    for (const int workers : {0, 1, 3}) {
      const StagedSet set = numbers(c.size);
      const PipelineOptions options{.batch_size = c.batch, .drop_last = c.drop_last, .workers = workers};
      const Seen seen = epoch_of(set, options);
      EXPECT_EQ(seen.sizes, c.expected) << c.size << " by " << c.batch;
      const Pipeline pipeline(set, options);
      EXPECT_EQ(pipeline.batches_per_epoch(), static_cast<int64_t>(c.expected.size()));
      EXPECT_EQ(pipeline.samples_per_epoch(), static_cast<int64_t>(seen.samples.size()));
      std::vector<int64_t> sorted = seen.samples;
      std::sort(sorted.begin(), sorted.end());
      EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end()) << "no sample twice in an epoch";
    }
  }
}

TEST(Pipeline, NothingToTrainOnIsAnError) {
  const StagedSet set = numbers(3);
  const Error error = error_of([&] { Pipeline(set, {.batch_size = 8, .drop_last = true}); });
  EXPECT_TRUE(mentions(error.what(), {"3 pictures", "8", "smaller batch"}));
  EXPECT_EQ(error_of([&] { Pipeline(set, {.batch_size = 0}); }).code(), ExitCode::usage);
  EXPECT_EQ(error_of([] { numbers(0); }).code(), ExitCode::data);
}

TEST(Pipeline, PicturesAndLabelsBelongToTheSample) {
  const StagedSet set = numbers(40);
  const Seen seen = epoch_of(set, {.batch_size = 7});
  for (size_t i = 0; i < seen.samples.size(); ++i) {
    EXPECT_EQ(seen.first_pixels[i], seen.samples[i]);
    EXPECT_EQ(seen.labels[i], seen.samples[i] * 3 / 40);
  }
}

TEST(Pipeline, BatchesDoNotDependOnTheNumberOfWorkers) {
  const StagedSet set = numbers(64);
  const Seen expected = epoch_of(set, {.batch_size = 10, .workers = 0}, 0, 0, 3);
  for (const int workers : {1, 2, 4, 8}) {
    EXPECT_EQ(epoch_of(set, {.batch_size = 10, .workers = workers, .prefetch = 1 + workers / 2}, 0, 0, 3),
              expected);
  }
}

TEST(Pipeline, TheOrderIsAPermutationThatDiffersBetweenEpochsAndSeeds) {
  const StagedSet set = numbers(64);
  const Pipeline one(set, {.seed = 1}), two(set, {.seed = 2}), plain(set, {.shuffle = false});
  std::vector<int64_t> identity(64);
  std::iota(identity.begin(), identity.end(), 0);
  std::vector<std::vector<int64_t>> orders = {one.order(0), one.order(1), one.order(2), two.order(0)};
  for (size_t i = 0; i < orders.size(); ++i) {
    EXPECT_NE(orders[i], identity);
    for (size_t j = 0; j < i; ++j) EXPECT_NE(orders[i], orders[j]);
  }
  EXPECT_EQ(one.order(1), orders[1]);
  for (std::vector<int64_t>& order : orders) std::sort(order.begin(), order.end());
  EXPECT_EQ(orders, std::vector(4, identity));
  EXPECT_EQ(plain.order(5), identity);
}

TEST(Pipeline, EveryPermutationIsAboutAsLikely) {
  const StagedSet set = numbers(3);
  const Pipeline pipeline(set, {});
  std::map<std::vector<int64_t>, int> counts;
  for (int64_t epoch = 0; epoch < 1200; ++epoch) ++counts[pipeline.order(epoch)];
  ASSERT_EQ(counts.size(), 6u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 200, 60);  // five standard deviations are 65
}

TEST(Pipeline, ResumingGivesTheRestOfTheSameRun) {
  const StagedSet set = numbers(64);
  const auto run = [&](int64_t batch, int64_t epoch, int64_t offset, int workers) {
    return epoch_of(set, {.batch_size = batch, .seed = 7, .workers = workers}, epoch, offset, 3).samples;
  };
  const std::vector<int64_t> whole = run(8, 0, 0, 2);
  ASSERT_EQ(whole.size(), 192u);
  for (const int64_t seen :
       {0, 40, 64, 104, 128, 191}) {  // mid-epoch, at a boundary (by either name), the last one
    const std::vector<int64_t> rest(whole.begin() + seen, whole.end());
    EXPECT_EQ(run(8, seen / 64, seen % 64, 4), rest) << seen;
    EXPECT_EQ(run(4, seen / 64, seen % 64, 0), rest) << "another batch size loses and repeats nothing";
  }
  EXPECT_EQ(run(8, 0, 64, 1), std::vector<int64_t>(whole.begin() + 64, whole.end()));
  Pipeline pipeline(set, {});
  EXPECT_EQ(error_of([&] { pipeline.start(0, 65); }).code(), ExitCode::data);
}

TEST(Pipeline, BatchesSayWhereTheyAre) {
  const StagedSet set = numbers(10);
  Pipeline pipeline(set, {.batch_size = 4});
  pipeline.start(2, 4);  // endless
  const int64_t expected[][3] = {{2, 4, 0}, {2, 8, 1}, {3, 0, 0}, {3, 4, 0}, {3, 8, 1}, {4, 0, 0}};
  for (const auto& [epoch, first, last] : expected) {
    const Batch* batch = pipeline.next();
    EXPECT_EQ(batch->epoch, epoch);
    EXPECT_EQ(batch->first, first);
    EXPECT_EQ(batch->last, last == 1);
    EXPECT_GE(batch->wait_ms, 0);
    pipeline.release(batch);
  }
}

TEST(Pipeline, AHeldBatchIsNotTouched) {
  const StagedSet set = numbers(64);
  Pipeline pipeline(set, {.batch_size = 8, .workers = 2, .prefetch = 1});
  pipeline.start();
  const Batch* first = pipeline.next();
  const std::vector<uint8_t> images(first->images, first->images + 8 * 12);
  const Batch* second = pipeline.next();
  pipeline.release(second);
  EXPECT_EQ(std::vector<uint8_t>(first->images, first->images + 8 * 12), images);
  pipeline.release(first);
  ASSERT_NE(pipeline.next(), nullptr);
  ASSERT_NE(pipeline.next(), nullptr);
  ASSERT_NE(pipeline.next(), nullptr);
  EXPECT_EQ(error_of([&] { pipeline.next(); }).code(), ExitCode::failure) << "an error, not a deadlock";
}

TEST(Pipeline, AWorkersErrorReachesTheConsumer) {
  const TempFolder folder;
  const auto source = [&] {
    class Fragile final : public Source {  // fails after the first pass
     public:
      int64_t size() const override { return 20; }
      const std::vector<std::string>& classes() const override { return classes_; }
      int64_t label(int64_t) const override { return 0; }
      std::string name(int64_t index) const override { return "fragile/" + std::to_string(index); }
      Picture read(int64_t index) const override {
        if (++reads_ > 20 && index == 11) throw Error(ExitCode::data, name(index) + ": the file is gone");
        return flat(2, 2, 0, 0, 0);
      }
      std::optional<Extent> native() const override { return Extent{2, 2}; }

     private:
      std::vector<std::string> classes_ = {"a"};
      mutable std::atomic<int> reads_{0};
    };
    return std::make_unique<Fragile>();
  };
  const StagedSet set(source(), {.workers = 1, .cache_bytes = 0});
  for (const int workers : {0, 1, 4}) {
    Pipeline pipeline(set, {.batch_size = 4, .shuffle = false, .workers = workers});
    pipeline.start();
    for (int i = 0; i < 2; ++i) pipeline.release(pipeline.next());
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(mentions(error_of([&] { pipeline.next(); }).what(), {"fragile/11", "gone"}));
    }
    pipeline.start(0, 12);  // usable again
    EXPECT_EQ(pipeline.next()->first, 12);
  }
}

TEST(Pipeline, StopsCleanlyAtAnyMoment) {
  const StagedSet set = numbers(200);
  for (int taken = 0; taken < 12; ++taken) {
    Pipeline pipeline(set, {.batch_size = 16, .workers = 4, .prefetch = 3});
    pipeline.start();
    for (int i = 0; i < taken; ++i) pipeline.release(pipeline.next());
    if (taken % 2 == 0) pipeline.stop();
    if (taken % 4 != 0) continue;
    pipeline.start(1, 8);
    EXPECT_EQ(pipeline.next()->epoch, 1);
  }
  const Pipeline never_started(set, {});
}

TEST(StagedSet, BadPicturesAreLeftOutOnceAndNamed) {
  const StagedSet set = numbers(23, {0, 7, 22});
  EXPECT_EQ(set.size(), 20);
  EXPECT_EQ(set.bad(),
            (std::vector<std::string>{"number/0: broken", "number/7: broken", "number/22: broken"}));
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(epoch_of(set, {.batch_size = 6, .workers = 8}, epoch, 0, epoch + 1).samples.size(), 20u);
  }
  EXPECT_EQ(set.name(0), "number/1");
  const auto strict = [] {
    StagedSet(std::make_unique<NumberSource>(5, 1, std::vector<int64_t>{3}), {.strict = true});
  };
  EXPECT_TRUE(mentions(error_of(strict).what(), {"1 of 5", "number/3", "broken"}));
  EXPECT_EQ(error_of([] { numbers(2, {0, 1}); }).code(), ExitCode::data);
}

TEST(StagedSet, PicturesAreTheSameWithAndWithoutACache) {
  for (const int64_t cache_bytes : {0, 100, 1 << 20}) {
    const StagedSet set(std::make_unique<NumberSource>(30, 3), {.stage_size = 3, .cache_bytes = cache_bytes});
    EXPECT_EQ(set.sample_bytes(), 27);
    EXPECT_EQ(set.fully_cached(), cache_bytes > 1000);
    for (int64_t i = 0; i < 30; ++i) {
      std::vector<uint8_t> pixels(27);
      set.load(i, pixels.data());
      EXPECT_EQ(pixels, flat(3, 3, static_cast<uint8_t>(i), static_cast<uint8_t>(i / 10), 0).rgb);
    }
  }
}

TEST(StagedSet, StageSizes) {
  const auto side = [](int64_t image_size, int64_t stage_size) {
    return StagedSet(std::make_unique<NumberSource>(2, 1),
                     {.image_size = image_size, .stage_size = stage_size})
        .height();
  };
  EXPECT_EQ(side(32, 0), 2) << "small pictures stay as they are: the augmentation enlarges them";
  EXPECT_EQ(side(1, 0), 1) << "large ones are reduced here, antialiased";
  EXPECT_EQ(side(32, 48), 48);
}

}  // namespace
}  // namespace lathe
