// Memory planning: no two live buffers overlap, and planned = unplanned in every bit, with freed memory
// poisoned.
#include "engine/planner/planner.h"

#include <gtest/gtest.h>

#include <random>

#include "toy_operations.h"

namespace lathe {
namespace {

const Type kPair{DType::f32, {2}};

Options with_memory(Memory memory, bool capture = false) {
  Options options{.kernels = "reference", .memory = memory};
  options.capture = capture;
  return options;
}

TEST(Packing, ReusesDeadMemoryAndReachesTheBoundOnAChain) {
  std::vector<Lifetime> chain;
  for (int step = 0; step < 20; ++step) chain.push_back({1000 + 64 * step, step, step + 2});
  Packing packing = pack_greedy(chain);
  check_packing(chain, packing);
  EXPECT_EQ(packing.peak, lower_bound(chain));
  EXPECT_GT(pack_naive(chain).peak, 5 * packing.peak);
}

TEST(Packing, RandomLifetimesNeverOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> lifetimes;
    for (unsigned i = 0, count = random() % 60; i < count; ++i) {
      int first = static_cast<int>(random() % 40);
      lifetimes.push_back(
          {static_cast<int64_t>(random() % 5000), first, first + static_cast<int>(random() % 10)});
    }
    Packing packing = pack_greedy(lifetimes);
    EXPECT_NO_THROW(check_packing(lifetimes, packing));
    EXPECT_GE(packing.peak, lower_bound(lifetimes));
  }
}

TEST(Packing, TheCheckFindsAnOverlap) {
  std::vector<Lifetime> two{{300, 0, 2}, {300, 1, 3}};
  EXPECT_THROW(check_packing(two, {{0, 256}, 1024}), std::logic_error);
  EXPECT_NO_THROW(check_packing(two, {{0, 512}, 1024}));
}

TEST(Planner, AnInPlaceResultDoesNotOverwriteWhatIsReadLater) {
  Graph graph;  // y = relu(x), z = x + y with x = [-1, 2]: [-1, 4]; [0, 4] where relu worked in place
  Value s = graph.input("x", kPair);
  Value x = toy::add(graph, s, graph.constant(kPair, 0.0));
  Value y = toy::relu(graph, x);
  graph.output("z", toy::add(graph, x, y));
  for (bool poison : {false, true}) {
    auto out = toy::run(graph, with_memory(Memory::plan), {{"x", {-1, 2}}}, {.poison = poison});
    EXPECT_EQ(out["z"], (std::vector<float>{-1, 4}));
  }
}

TEST(Planner, AViewKeepsItsBufferAlive) {
  Graph graph;
  Type square{DType::f32, {2, 2}};
  Value in = graph.input("x", square);
  Value x = toy::add(graph, in, in);
  Value flat = graph.add1("toy.flat", {x});
  Value other = toy::relu(graph, x);  // must not work in place: flat is read later
  Value more = toy::multiply(graph, other, other);
  graph.output("more", more);
  graph.output("flat", toy::add(graph, flat, flat));
  auto out = toy::run(graph, with_memory(Memory::plan), {{"x", {-1, 2, -3, 4}}}, {.poison = true});
  EXPECT_EQ(out["flat"], (std::vector<float>{-4, 8, -12, 16}));
  EXPECT_EQ(out["more"], (std::vector<float>{0, 16, 0, 64}));
}

TEST(Planner, AnOutputThatIsAlsoReadInsideSurvives) {
  Graph graph;
  Value in = graph.input("x", kPair);
  Value y = toy::add(graph, in, in);
  graph.output("y", y);
  graph.output("z", toy::relu(graph, y));
  auto out = toy::run(graph, with_memory(Memory::plan), {{"x", {-1, 2}}}, {.poison = true});
  EXPECT_EQ(out["y"], (std::vector<float>{-2, 4}));
  EXPECT_EQ(out["z"], (std::vector<float>{0, 4}));
}

Graph random_graph(std::mt19937& random) {
  Graph graph;
  std::vector<Value> values{graph.input("a", kPair), graph.input("b", kPair), graph.state("s", kPair)};
  auto pick = [&] { return values[random() % values.size()]; };
  for (unsigned i = 0, count = 5 + random() % 40; i < count; ++i) {
    switch (random() % 4) {
      case 0:
        values.push_back(toy::add(graph, pick(), pick()));
        break;
      case 1:
        values.push_back(toy::relu(graph, pick()));
        break;
      case 2:
        values.push_back(graph.add1("toy.flat", {pick()}));
        break;
      default:
        values.push_back(toy::multiply(graph, pick(), pick()));
        break;
    }
    if (random() % 6 == 0) graph.output("out" + std::to_string(i), values.back());
  }
  graph.output("last", values.back());
  graph.add("toy.assign", {graph.state("s", kPair), values.back()});
  return graph;
}

TEST(Planner, RandomGraphsGiveTheSameBitsPlannedUnplannedCapturedAndPoisoned) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    Graph graph = random_graph(random);
    std::map<std::string, std::vector<float>> inputs{{"a", {0.5f, -1.25f}}, {"b", {-0.75f, 1.5f}}};
    auto expected = toy::run(graph, with_memory(Memory::naive), inputs, {.runs = 2});
    for (bool poison : {false, true}) {
      for (bool capture : {false, true}) {
        auto got = toy::run(graph, with_memory(Memory::plan, capture), inputs, {.poison = poison, .runs = 2});
        for (const auto& [name, values] : expected) {
          ASSERT_EQ(memcmp(values.data(), got[name].data(), values.size() * sizeof(float)), 0)
              << "round " << round << " output " << name << "\n"
              << print(graph);
        }
      }
    }
  }
}

}  // namespace
}  // namespace lathe
