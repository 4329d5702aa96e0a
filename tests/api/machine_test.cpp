// Queries about a machine alone.
#include "api/collective.h"
#include "api/topology.h"
#include "tests/folder.h"
#include "text/diagnostic.h"

using namespace trnplan;

TEST_CASE("topology judges the groups of a layout, and names layouts near one that is refused", "[api]") {
  const TestFolder folder;
  api::TopologyRequest request;
  const api::TopologyResult bare = api::topology(request);
  CHECK(bare.cluster.cores() == 32);
  CHECK(bare.verdict.groups.empty());

  request.tp = 8;
  const api::TopologyResult eight = api::topology(request);
  CHECK(eight.verdict.overall == topology::Verdict::supported);
  CHECK_FALSE(eight.verdict.offending);
  CHECK(eight.neighbours.empty());

  // Pair {0,16} of DP 2 stands on chips 0 and 8, which share no link.
  request.tp = 16;
  const api::TopologyResult sixteen = api::topology(request);
  CHECK(sixteen.verdict.overall == topology::Verdict::refused);
  REQUIRE(sixteen.verdict.offending);
  CHECK(sixteen.verdict.offending->ranks == std::vector<int>{0, 16});
  CHECK_FALSE(sixteen.neighbours.empty());

  request.tp = 3;
  CHECK_THROWS_AS(api::topology(request), InputError);
}

TEST_CASE("collective times one size, or a table of sizes", "[api]") {
  const TestFolder folder;
  Remarks remarks;
  api::CollectiveRequest request;
  request.op = "all_reduce";
  request.bytes = "1KiB";
  const api::CollectiveResult one = api::collective(request, remarks);
  REQUIRE(one.timed.size() == 1);
  CHECK(one.timed[0].run.ranks == 32);
  CHECK(one.timed[0].timing.seconds.value > 0);
  CHECK_FALSE(one.unreachable());
  CHECK(one.verdict().verdict == topology::Verdict::supported);

  request.most_bytes = "1MiB";
  request.factor = 4;  // 1, 4, 16, 64, 256 and 1024 KiB
  const api::CollectiveResult table = api::collective(request, remarks);
  REQUIRE(table.timed.size() == 6);
  for (std::size_t i = 1; i < table.timed.size(); ++i)
    CHECK(table.timed[i].timing.seconds >= table.timed[i - 1].timing.seconds);

  request.op = "all_redcue";
  request.bytes = "many";
  try {
    static_cast<void>(api::collective(request, remarks));
    FAIL("wrong input passed");
  } catch (const InputError& e) {
    CHECK(e.faults().size() == 2);
  }
}
