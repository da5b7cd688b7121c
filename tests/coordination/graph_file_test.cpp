#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "starling/coordination/topology.h"
#include "starling/core/error.h"

namespace starling::coordination {
namespace {

class GraphFile : public ::testing::Test {
 protected:
  ~GraphFile() override { std::remove(path_.c_str()); }

  Graph read(const std::string& text, int n) {
    std::ofstream(path_) << text;
    return make_graph("file:" + path_, n);
  }

  // The refusal without the path it begins with.
  std::string refusal(const std::string& text, int n) {
    try {
      read(text, n);
    } catch (const InvalidArgument& error) {
      const std::string what = error.what();
      EXPECT_EQ(what.rfind(path_, 0), 0u) << what;
      EXPECT_EQ(what.find('\n'), what.npos) << what;
      return what.substr(path_.size());
    }
    return "accepted";
  }

  const std::string path_ =
      ::testing::TempDir() + "graph_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(GraphFile, ReadsEdgesCommentsAndBlankLines) {
  const Graph graph = read("# a path\n0 1\n\n  2\t1   # the middle\r\n \t\n3 2", 4);
  EXPECT_EQ(graph.edges(), (std::vector<Edge>{{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(read("# nothing\n", 1).size(), 1);
}

TEST_F(GraphFile, RefusesLinesThatAreNoEdge) {
  EXPECT_EQ(refusal("0 1\n1\n", 3), ":2: '1' is not an edge; allowed: two ranks, as in '0 1'");
  EXPECT_EQ(refusal("0 1 2\n", 3), ":1: '0 1 2' is not an edge; allowed: two ranks, as in '0 1'");
  EXPECT_EQ(refusal("#\n\n0 one\n", 3), ":3: 'one' is not a whole number from 0 to 2");
  EXPECT_EQ(refusal("0 1\n0 3\n", 3), ":2: '3' is not a whole number from 0 to 2");
  EXPECT_EQ(refusal("-1 0\n", 3), ":1: '-1' is not a whole number from 0 to 2");
  EXPECT_EQ(refusal("0,1\n", 3), ":1: '0,1' is not an edge; allowed: two ranks, as in '0 1'");
}

TEST_F(GraphFile, RefusesLoopsAndDoubleEdges) {
  EXPECT_EQ(refusal("0 1\n1 1\n", 2),
            ":2: edge '1 1' joins rank 1 with itself; allowed: two different ranks");
  EXPECT_EQ(refusal("0 1\n1 0 # again\n", 2), ":2: edge '1 0' was given before; allowed: once");
}

TEST_F(GraphFile, RefusesGraphsThatAreNotConnected) {
  EXPECT_EQ(refusal("0 1\n2 3\n", 4),
            ": no path from rank 0 to rank 2 (cut off: 2 of 4 ranks); allowed: connected graphs");
  EXPECT_EQ(refusal("0 1\n1 2\n", 4),
            ": no path from rank 0 to rank 3 (cut off: 1 of 4 ranks); allowed: connected graphs");
  EXPECT_NE(refusal("", 2), "accepted");
}

TEST_F(GraphFile, RefusesFilesThatCannotBeRead) {
  EXPECT_THROW(make_graph("file:" + path_, 2), InvalidArgument);
  EXPECT_THROW(make_graph("file:", 2), InvalidArgument);
  EXPECT_THROW(make_graph("file:" + ::testing::TempDir(), 1), InvalidArgument);
}

}  // namespace
}  // namespace starling::coordination
