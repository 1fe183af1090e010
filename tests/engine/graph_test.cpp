// Graphs: printing, differentiation, simplification, schedule.
#include "engine/graph/graph.h"

#include <gtest/gtest.h>

#include "engine/graph/differentiate.h"
#include "engine/passes/passes.h"
#include "engine/runtime/error.h"
#include "toy_operations.h"

namespace lathe {
namespace {

const Type kPair{DType::f32, {2}};
const Options kReference{.kernels = "reference"};

TEST(Shape, CountsElementsIn64BitsAndRefusesMore) {
  EXPECT_EQ(Shape({669, 64, 224, 224}).elements(), 2148335616);            // beyond 2^31 elements
  EXPECT_EQ((Type{DType::f32, {168, 64, 224, 224}}).bytes(), 2157969408);  // beyond 2^31 bytes
  EXPECT_EQ(Shape({0, int64_t{1} << 40, int64_t{1} << 40}).elements(), 0);
  EXPECT_THROW(Shape({int64_t{1} << 32, int64_t{1} << 32}).elements(), Error);
  EXPECT_THROW(Shape({-1, 2}).elements(), Error);
}

TEST(Graph, PrintsEveryNodeOnALine) {
  Graph graph;
  Value x = graph.input("x", kPair);
  graph.output("y", toy::relu(graph, x));
  EXPECT_EQ(print(graph), "%1 f32[2] = toy.relu(%0:x)  # forward toy.relu\noutput y = %1\n");
  EXPECT_NE(print_dot(graph).find("v0 -> n0"), std::string::npos);
}

TEST(Differentiate, SumsTheContributionsOfEveryUse) {
  Graph graph;  // d/dx (x·x·w) = 2·x·w, d/dw = x²
  Value x = graph.input("x", kPair), w = graph.input("w", kPair);
  Value y = toy::multiply(graph, toy::multiply(graph, x, x), w);
  Value one = graph.constant({DType::f32, {}}, 1.0);
  auto gradients = differentiate(graph, toy::sum(graph, y), one, {x, w}, toy::add);
  graph.output("dx", gradients[0]);
  graph.output("dw", gradients[1]);
  auto out = toy::run(graph, kReference, {{"x", {3, -2}}, {"w", {5, 7}}});
  EXPECT_EQ(out["dx"], (std::vector<float>{30, -28}));
  EXPECT_EQ(out["dw"], (std::vector<float>{9, 4}));
}

TEST(Differentiate, AddsNothingForWhatNeedsNoGradient) {
  Graph graph;
  Value x = graph.input("x", kPair), w = graph.input("w", kPair), unused = graph.input("u", kPair);
  Value frozen = toy::multiply(graph, x, x);  // no gradient rule of its inputs is needed
  Value y = toy::multiply(graph, frozen, w);
  Value loss = toy::sum(graph, y);
  int before = graph.node_count();
  auto gradients = differentiate(graph, loss, graph.constant({DType::f32, {}}, 1.0), {w, unused}, toy::add);
  EXPECT_EQ(graph.node_count() - before, 2);  // spread, and dy · frozen
  EXPECT_TRUE(gradients[0]);
  EXPECT_FALSE(gradients[1]);
}

TEST(Simplify, RemovesIdentitiesDuplicatesAndDeadNodesButNoEffects) {
  Graph graph;
  Value x = graph.input("x", kPair), s = graph.state("s", kPair);
  Value same = graph.add1("toy.same", {x});
  Value a = toy::relu(graph, same), b = toy::relu(graph, x);  // twins once `same` is gone
  toy::relu(graph, graph.add1("toy.add", {a, a}));            // nobody reads it
  graph.add("toy.assign", {s, x});                            // nobody reads it, but it has an effect
  graph.output("y", toy::add(graph, a, b));
  PassResult result = simplify(graph);
  EXPECT_EQ(result.note, "simplify: 1 identities, 1 duplicates, 2 dead nodes removed");
  EXPECT_EQ(result.graph.node_count(), 3);
  State state;
  auto out = toy::run(result.graph, kReference, {{"x", {-1, 2}}}, state);
  EXPECT_EQ(out["y"], (std::vector<float>{0, 4}));
  std::vector<std::byte> bytes = state.download("s");
  EXPECT_EQ(reinterpret_cast<const float*>(bytes.data())[1], 2);
}

TEST(Schedule, OverwritesStateOnlyAfterItsLastReader) {
  Graph graph;
  Value x = graph.input("x", kPair), s = graph.state("s", kPair);
  graph.add("toy.assign", {s, x});             // written down first,
  graph.output("old", toy::add(graph, s, x));  // but this reads the old contents
  EXPECT_EQ(schedule(graph), (std::vector<int>{1, 0}));
  auto out = toy::run(graph, kReference, {{"x", {1, 2}}});
  EXPECT_EQ(out["old"], (std::vector<float>{1, 2}));
}

TEST(Schedule, RefusesAGraphThatNeedsOldAndNewAtOnce) {
  Graph graph;
  Value x = graph.input("x", kPair), s = graph.state("s", kPair);
  Value fresh = graph.add1("toy.assign", {s, x});
  graph.output("y", toy::add(graph, fresh, s));
  EXPECT_THROW(schedule(graph), std::logic_error);
}

}  // namespace
}  // namespace lathe
