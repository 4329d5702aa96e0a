#include "models/step/rank_trace.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "models/framework/loop_parameters.h"
#include "models/step/action_order.h"
#include "models/step/step_parts.h"
#include "models/step/step_program.h"
#include "models/step/trace_size.h"
#include "tests/catch.h"
#include "tests/models/rank_totals.h"
#include "tests/models/setup.h"
#include "tests/models/step/small_job.h"
#include "topology/chip_graph.h"

using namespace trnplan;
using namespace trnplan::models;
using NodeKind = RankTrace::Node::Kind;

namespace {

StepModel model_of(const Job& job, const char* text) {
  return StepModel(job, strategy_of(job, text), datasheet(), topology::ChipGraph(job.cluster.instance));
}

Totals totals(const RankTrace& trace) {
  Totals t;
  for (const RankTrace::Node& n : trace.nodes) {
    ++t.nodes;
    t.computed += n.length;
    t.flops += n.flops.value;
    if (n.kind == NodeKind::collective) t.bytes[n.op] += n.bytes.value;
    if (n.kind == NodeKind::send) t.bytes[CollectiveOp::send_recv] += n.bytes.value;
  }
  return t;
}

}  // namespace

TEST_CASE("one stage: every second, FLOP and byte of the simulation", "[models][rank_trace]") {
  const char* text = GENERATE("tp=8", "tp=32", "tp=8,sp=false,zero1=false", "tp=4,recompute=full");
  CAPTURE(text);
  const Job job = small_job();
  const StepModel model = model_of(job, text);
  const RankTracer tracer(model);
  REQUIRE(tracer.ranks() == 32);
  const Totals want = expected(model, 0);
  std::int64_t nodes = 0;
  for (int rank = 0; rank < tracer.ranks(); ++rank) {
    const Totals got = totals(tracer.trace(rank));
    CHECK(got.computed == want.computed);
    CHECK(got.flops == Approx(want.flops).epsilon(1e-12));
    CHECK(got.bytes.size() == want.bytes.size());
    for (const auto& [op, bytes] : want.bytes) CHECK(got.bytes.at(op) == Approx(bytes).epsilon(1e-12));
    nodes += got.nodes;
  }
  const TraceSize size = rank_trace_size(model);
  CHECK(nodes == size.fixed + size.per_micro_batch * model.parts().micro_batches);

  // The critical path is one rank's queue: operator by operator.
  std::map<std::string, double> seconds;
  for (const RankTrace::Node& n : tracer.trace(0).nodes) {
    if (n.kind == NodeKind::compute) seconds[std::string(n.name)] += to_seconds(n.length).value;
  }
  seconds.erase("launch");  // includes those of buckets, which the report lists under the collective's name
  const StepReport report = model.simulate();
  std::size_t found = 0;
  for (const auto& [name, time] : report.by_operator) {
    if (seconds.count(name) == 0) continue;
    CHECK(seconds.at(name) == Approx(time.value).epsilon(1e-9));
    ++found;
  }
  CHECK(found == seconds.size());
  CHECK(found > 10);
}

TEST_CASE("stages: work of each, messages between them", "[models][rank_trace]") {
  struct Case {
    const char* text;
    int nodes;
  };
  const auto c = GENERATE(values<Case>({{"tp=8,pp=4", 1},
                                        {"tp=8,pp=2", 1},
                                        {"tp=32,pp=4", 4},
                                        {"tp=8,pp=4,vpp=2", 1},
                                        {"tp=8,pp=4,schedule=zero-bubble", 1}}));
  CAPTURE(c.text, c.nodes);
  const Job job = small_job(c.nodes);
  const StepModel model = model_of(job, c.text);
  const StepParts& p = model.parts();
  const RankTracer tracer(model);
  std::map<std::tuple<int, int, int>, int> ends;  // from, to, tag
  double sent = 0;
  std::int64_t nodes = 0;
  for (int stage = 0; stage < p.stages; ++stage) {
    Totals want = expected(model, stage);
    const int rank = p.order.rank(stage, p.strategy.data_parallel - 1, 0, 1);
    const RankTrace trace = tracer.trace(rank);
    const Totals got = totals(trace);
    CHECK(got.flops == Approx(want.flops).epsilon(1e-12));
    want.bytes.erase(CollectiveOp::send_recv);
    for (const auto& [op, bytes] : want.bytes) CHECK(got.bytes.at(op) == Approx(bytes).epsilon(1e-12));
    SimTime launches;  // of messages
    for (const RankTrace::Node& n : trace.nodes) {
      if (n.kind == NodeKind::send || n.kind == NodeKind::receive)
        launches += to_sim_time(Seconds(p.profile[loop::task_launch]));
    }
    CHECK(got.computed == want.computed + launches);
  }
  for (int rank = 0; rank < tracer.ranks(); ++rank) {
    const RankTrace trace = tracer.trace(rank);
    nodes += static_cast<std::int64_t>(trace.nodes.size());
    for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
      const RankTrace::Node& n = trace.nodes[i];
      for (const auto* list : {&n.after, &n.needs}) {
        for (const std::uint32_t before : *list) REQUIRE(before < i);
      }
      if (n.kind == NodeKind::send) ends[{rank, n.peer, n.tag}] += 1, sent += n.bytes.value;
      if (n.kind == NodeKind::receive) ends[{n.peer, rank, n.tag}] += 1000;
    }
  }
  for (const auto& [message, seen] : ends) REQUIRE(seen == 1001);
  double wanted = 0;
  const int crossings = p.chunks() * p.stages - 1;  // every micro-batch crosses them both ways
  for (const auto* items : {p.boundaries[0].activation.get(), p.boundaries[0].gradient.get()})
    wanted +=
        items->front().call.bytes.value * crossings * p.micro_batches * p.job.cluster.cores() / p.stages;
  CHECK(sent == Approx(wanted).epsilon(1e-12));
  const TraceSize size = rank_trace_size(model);
  const std::int64_t most = size.fixed + size.per_micro_batch * p.micro_batches;
  CHECK(nodes <= most);
  CHECK(nodes > most * 9 / 10);
}

// The few micro-batches of the trace are continued to the whole flat program.
TEST_CASE("tags and groups are those of the whole program", "[models][rank_trace]") {
  struct Case {
    const char* text;
    int nodes;
  };
  const auto c = GENERATE(values<Case>({{"tp=8", 1},
                                        {"tp=8,pp=4", 1},
                                        {"tp=8,pp=2", 1},
                                        {"tp=8,cp=2,pp=2", 1},
                                        {"tp=8,pp=4,vpp=2", 1},
                                        {"tp=32,pp=4,schedule=zero-bubble", 4}}));
  CAPTURE(c.text);
  const StepModel model = model_of(small_job(c.nodes, 16), c.text);
  const StepParts& p = model.parts();
  const auto layout = lane_per_core(p);
  const StepProgram whole = make_program(p, *layout, Detail::operators, true);
  std::size_t next = 0;
  each_action(p, p.micro_batches, [&](int stage, const StageAction& action) {
    REQUIRE(next < whole.segments.size());
    REQUIRE(whole.segments[next].stage == stage);
    REQUIRE(whole.segments[next].action == action);
    ++next;
  });
  CHECK(next == whole.segments.size());
  // From the program: the tasks that are messages between stages. From the traces: the tags of their sends.
  std::set<int> messages, sent;
  for (sim::TaskId t = 0; t < whole.program.tasks().size(); ++t) {
    const StepProgram::Source& source = whole.of(t);
    const bool message = source.item != nullptr && !source.is<task::Hold>() && source.item->is_transfer() &&
                         source.item->call.process_group == ProcessGroup::pipeline &&
                         source.item->call.phase == 0;
    if (message) messages.insert(static_cast<int>(t));
  }
  const RankTracer tracer(model);
  std::size_t ends = 0;
  for (int rank = 0; rank < tracer.ranks(); ++rank) {
    std::size_t nodes = 0;
    tracer.each_node(rank, [&](const RankTrace::Node& n) {
      ++nodes;
      const bool between = n.kind == NodeKind::send && p.order.stage_of(rank) != p.order.stage_of(n.peer);
      if (between) sent.insert(n.tag), ++ends;
    });
    CHECK(nodes == tracer.trace(rank).nodes.size());
  }
  CHECK(sent == messages);
  CHECK(ends == messages.size());
}

TEST_CASE("ring attention: to the next rank, from the one before, during the work", "[models][rank_trace]") {
  const Job job = small_job(1, 4);
  const StepModel model = model_of(job, "tp=8,cp=4");
  const RankTracer tracer(model);
  const Totals want = expected(model, 0);
  for (int rank = 0; rank < tracer.ranks(); ++rank) {
    const RankTrace trace = tracer.trace(rank);
    const Totals got = totals(trace);
    CHECK(got.computed == want.computed);
    CHECK(got.bytes.at(CollectiveOp::send_recv) ==
          Approx(want.bytes.at(CollectiveOp::send_recv)).epsilon(1e-12));
    for (std::size_t i = 1; i + 1 < trace.nodes.size(); ++i) {
      if (trace.nodes[i].kind != NodeKind::send) continue;
      const RankTrace::Node &send = trace.nodes[i], &receive = trace.nodes[i + 1], &work = trace.nodes[i + 2];
      REQUIRE(receive.kind == NodeKind::receive);
      CHECK(send.after == receive.after);
      CHECK(work.name == "attention");
      CHECK(work.after == send.after);
    }
  }
}

// Every rank runs its nodes one after the other; a message is there once it is sent, and a collective once
// all its members have reached it.
TEST_CASE("all ranks together come to an end", "[models][rank_trace]") {
  struct Case {
    const char* text;
    int nodes;
  };
  const auto c = GENERATE(values<Case>({{"tp=8", 1},
                                        {"tp=8,pp=4", 1},
                                        {"tp=8,pp=2", 2},
                                        {"tp=8,cp=2,pp=2", 1},
                                        {"tp=8,pp=4,vpp=2", 1},
                                        {"tp=32,pp=2,schedule=zero-bubble", 4}}));
  CAPTURE(c.text, c.nodes);
  const StepModel model = model_of(small_job(c.nodes), c.text);
  const RankTracer tracer(model);
  std::vector<RankTrace> traces;
  std::vector<int> everyone;
  for (int rank = 0; rank < tracer.ranks(); ++rank) {
    traces.push_back(tracer.trace(rank));
    everyone.push_back(rank);
  }
  std::vector<std::size_t> next(traces.size(), 0);
  const auto node_of = [&](int rank) -> const RankTrace::Node* {
    const auto r = static_cast<std::size_t>(rank);
    return next[r] < traces[r].nodes.size() ? &traces[r].nodes[next[r]] : nullptr;
  };
  std::set<std::tuple<int, int, int>> sent;
  bool progress = true;
  while (progress) {
    progress = false;
    for (const int rank : everyone) {
      while (const RankTrace::Node* n = node_of(rank)) {
        if (n->kind == NodeKind::receive && sent.erase({n->peer, rank, n->tag}) == 0) break;
        if (n->kind == NodeKind::send) sent.insert({rank, n->peer, n->tag});
        if (n->kind == NodeKind::collective) {
          const std::vector<int>& members = n->group == RankTrace::kAllRanks
                                                ? everyone
                                                : tracer.groups()[static_cast<std::size_t>(n->group)];
          REQUIRE(static_cast<int>(members.size()) == n->members);
          const bool all_there = std::all_of(members.begin(), members.end(), [&](int other) {
            const RankTrace::Node* o = node_of(other);
            return o != nullptr && o->kind == NodeKind::collective && o->group == n->group &&
                   o->op == n->op && o->bytes == n->bytes && o->name == n->name;
          });
          if (!all_there) break;
          for (const int other : members) ++next[static_cast<std::size_t>(other)];
        } else {
          ++next[static_cast<std::size_t>(rank)];
        }
        progress = true;
      }
    }
  }
  for (const int rank : everyone) CHECK(node_of(rank) == nullptr);
  CHECK(sent.empty());
}
