// Alarms about a run in progress, in the formats of every framework, and failures recognised by their words.
#include "launch/watch/alarms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "launch/watch/learning_curve.h"
#include "launch/watch/step_gaps.h"
#include "launch/watch/watch.h"
#include "models/step/graph_size.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/launch/watch/watched.h"
#include "text/document.h"

using namespace trnplan;
using launch::CurveReading;
using launch::LearningCurve;

namespace {

CurveReading curve(double share, const std::vector<double>& values) {
  LearningCurve c(share);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int step = static_cast<int>(i) + 1;
    c.add(step, values[i], 10 * step);
  }
  return c.now();
}

std::vector<double> joined(std::vector<double> a, const std::vector<double>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const io::WatchAlarm* find(const io::WatchReport& r, const std::string& kind) {
  const auto a =
      std::find_if(r.alarms.begin(), r.alarms.end(), [&](const auto& one) { return one.kind == kind; });
  return a == r.alarms.end() ? nullptr : &*a;
}

/// Lines of one format for steps from 1, with a loss and a gradient norm.
using LineOf = std::function<std::string(int step, double loss, double norm)>;

std::string log_of(const LineOf& line, int steps, const std::function<double(int)>& loss,
                   const std::function<double(int)>& norm) {
  std::string text;
  for (int i = 1; i <= steps; ++i) text += line(i, loss(i), norm(i));
  return text;
}

std::string nxd(int i, double loss, double norm) {
  return fmt::format("step {} step_time 10.5s throughput 97.5 seq/s loss {:.3f} grad norm {:.3f}\n", i, loss,
                     norm);
}

std::string nxd_tensor(int i, double loss, double norm) {
  return fmt::format(
      "LOG Thu Sep 29 22:{:02d}:{:02d} 2022 - (0, {}) step_loss : {:.4f} learning_rate : 1.56e-05 throughput "
      ": "
      "97.52 seq/s grad-norm : {:.4f}\n",
      i / 6, i % 6 * 10, i, loss, norm);
}

std::string nemo(int i, double loss, double norm) {
  const std::string bar = fmt::format(
      "Epoch 0:   1%|#| {}/2000 [{:02d}:{:02d}<1:00:00, 10.00s/it, loss={:.2f}, v_num=1, "
      "reduced_train_loss={:.3f}, "
      "gradient_norm={:.3f}, parameter_norm=1864.0, global_step={}.0, iteration_time=10.00]\r",
      i, i / 6, i % 6 * 10, loss, loss, norm, i);
  return bar + bar;
}

std::string nxdt(int i, double loss, double norm) {
  return fmt::format(
      "Epoch 0:   1%|#| {}/2000 [{:02d}:{:02d}<1:00:00, 10.00s/it, v_num=2, reduced_train_loss={:.3f}, "
      "lr=7.5e-9, "
      "parameter_norm=5536.0, global_step={}.0, consumed_samples={}.0, throughput=97.5, "
      "throughput_peak=98.0, "
      "gradient_norm={:.3f}]\n",
      i, i / 6, i % 6 * 10, loss, i, i * 1024, norm);
}

std::string megatron(int i, double loss, double norm) {
  return fmt::format(
      " iteration {}/ 2000 | consumed samples: {} | elapsed time per iteration (ms): 10500.0 | learning "
      "rate: 4.9E-05 "
      "| global batch size: 1024 | lm loss: {:.6E} | grad norm: {:.3f} |\n",
      i, i * 1024, loss, norm);
}

}  // namespace

TEST_CASE("a gradient norm above three times its lowest value", "[launch]") {
  // Lowest 2.0: 6.0 is three times it, not above.
  CHECK_FALSE(curve(1, {4, 2.0, 3, 6.0}).above);
  const CurveReading c = curve(1, {4, 2.0, 3, 6.1, 7});
  CHECK(c.above == 4);
  CHECK(c.lowest == 2.0);
  CHECK(c.lowest_step == 2);
  CHECK(c.last == 7.0);
  CHECK(c.last_line == 50);
  CHECK_FALSE(curve(1, {4, 2.0, 3, 6.1, 7, 5}).above);  // it is back
  CHECK_FALSE(curve(1, {0, 0, 5, 4}).above);            // 0: nothing was computed yet
  CHECK(curve(1, {2, 3, NAN}).lost);
  CHECK_FALSE(curve(1, {2, NAN, 3}).lost);
  CHECK_FALSE(curve(1, {}).last);
}

TEST_CASE("a spike is one that has not returned five steps later", "[launch]") {
  const std::vector<double> even(10, 3.0);
  // The level is 3 and does not spread: 10 % above it a loss spikes.
  CHECK_FALSE(curve(0.1, joined(even, std::vector<double>(50, 3.29))).spike);
  CHECK_FALSE(curve(0.1, joined(even, std::vector<double>(5, 3.31))).spike);  // steps 11 to 15: four later
  const CurveReading high = curve(0.1, joined(even, {3.31, 3.5, 3.4, 3.4, 3.4, 3.4}));
  REQUIRE(high.spike);
  CHECK(high.spike->first == 11);
  CHECK(high.spike->last == 16);
  CHECK(high.spike->level == 3);
  CHECK(high.spike->highest == 3.5);
  CHECK(high.spike->line == 110);
  CHECK_FALSE(high.spike->returned);
  const CurveReading back = curve(0.1, joined(even, {4, 4, 4, 4, 4, 4, 3.1}));
  REQUIRE(back.spike);
  CHECK(back.spike->returned == 17);
  CHECK(back.spikes == 1);
  CHECK_FALSE(curve(0.1, joined(even, {9, 9, 9, 9, 3, 9, 9, 9, 9, 3})).spike);  // four steps each
  // 3.00, 3.05 ... 3.95 in some order: median 3.475, median of the deviations 0.25, so 5 x 1.4826 x 0.25 = 1.853
  // above it.
  std::vector<double> swing;
  for (int i = 0; i < 20; ++i) swing.push_back(3 + 0.05 * (i * 7 % 20));
  CHECK_FALSE(curve(0.1, joined(swing, std::vector<double>(10, 5.32))).spike);
  CHECK(curve(0.1, joined(swing, std::vector<double>(10, 5.34))).spike);
  // Two values make no level: of the first five the median is 9.
  CHECK_FALSE(curve(0.1, {3, 3, 9, 9, 9, 9, 9, 9, 9}).spike);
}

TEST_CASE("steps that are stated again or go back", "[launch]") {
  LearningCurve c(0.1);
  for (int i = 1; i <= 10; ++i) c.add(i, 3, i);
  // A bar is drawn first with the values of the step before.
  c.add(11, 9, 11);
  c.add(11, 3, 12);
  for (int i = 12; i <= 30; ++i) c.add(i, 3, i + 1);
  CHECK_FALSE(c.now().spike);
  for (int i = 31; i <= 40; ++i) c.add(i, 9, i + 1);
  REQUIRE(c.now().spike);
  CHECK_FALSE(c.now().spike->left);
  c.add(21, 3, 50);
  CHECK(c.now().spike->left);
  CHECK_FALSE(c.now().spike->returned);
  CHECK(c.now().lowest == 3.0);
}

TEST_CASE("steps that a log lacks", "[launch]") {
  launch::StepIntervals every, tenth, drawn, short_one;
  for (int i = 1; i < 30; ++i) every.add(i, i + 1, i);
  CHECK_FALSE(every.gaps());
  every.add(30, 34, 30);
  for (int i = 34; i < 60; ++i) every.add(i, i + 1, i);
  every.add(60, 62, 60);
  REQUIRE(every.gaps());
  CHECK(every.gaps()->interval == 1);
  CHECK(every.gaps()->lines == 4);  // 31, 32, 33 and 61
  CHECK(every.gaps()->gaps == 2);
  CHECK(every.gaps()->after == 30);
  CHECK(every.gaps()->before == 34);
  for (int i = 0; i < 200; i += 10) tenth.add(i, i + 10, i);
  tenth.add(200, 240, 200);
  REQUIRE(tenth.gaps());
  CHECK(tenth.gaps()->lines == 3);
  for (int i = 1; i < 100; i += 3) drawn.add(i, i + 1, i), drawn.add(i + 1, i + 3, i);
  CHECK_FALSE(drawn.gaps());  // one or two at a time: so it is drawn
  for (int i = 1; i < 9; ++i) short_one.add(i, i + 1, i);
  short_one.add(9, 20, 9);
  CHECK_FALSE(short_one.gaps());  // nine say too little
}

TEST_CASE("a run that says nothing", "[launch]") {
  // Median 100 s, five of it; a pause of 400 s before, one and a half times; a minute at least.
  CHECK(launch::most_silence({100, 100, 100}) == 500.0);
  CHECK(launch::most_silence({100, 100, 400}) == 600.0);
  CHECK(launch::most_silence({1, 1, 1}) == 60.0);
  CHECK_FALSE(launch::most_silence({}));
  auto context = nothing_known();
  const std::string text = log_of(
      nxd, 10, [](int) { return 3.0; }, [](int) { return 1.0; });  // 10.5 s a step
  const auto at = [&](double silent) {
    context.silent = silent;
    return launch::watch(text, "log", context, datasheet(), launch::find_fastest);
  };
  CHECK(find(at(60), "stalled") == nullptr);
  const auto late = at(61);
  REQUIRE(find(late, "stalled") != nullptr);
  CHECK(find(late, "stalled")->step == 10);
  CHECK(contains(find(late, "stalled")->message, "no step for 61 s"));
}

TEST_CASE("loss and gradient norm in the logs of every framework", "[launch]") {
  const auto calm = [](int) { return 2.5; };
  const auto one = [](int) { return 1.0; };
  const auto rises = [](int i) { return i > 40 ? 3.5 : 1.0; };
  const auto late = [](int i) { return i > 57 ? 3.5 : 1.0; };
  const auto jumps = [](int i) { return i > 40 ? 4.0 : 2.5; };
  for (const auto& [name, line] : std::vector<std::pair<const char*, LineOf>>{{"nxd", nxd},
                                                                              {"nxd tensor", nxd_tensor},
                                                                              {"nemo", nemo},
                                                                              {"nxdt", nxdt},
                                                                              {"megatron", megatron}}) {
    CAPTURE(name);
    CHECK(watch(log_of(line, 60, calm, one)).alarms.empty());
    const auto high = watch(log_of(line, 60, calm, late));
    REQUIRE(find(high, "gradient-norm") != nullptr);
    CHECK(contains(find(high, "gradient-norm")->message,
                   "gradient norm 3.5 at step 60, above 3 times its lowest value 1 (step 1), since step 58"));
    CHECK(find(high, "gradient-norm")->step == 58);
    CHECK(contains(find(high, "gradient-norm")->fix, "go back to a checkpoint from before step 58"));
    CHECK(find(high, "gradient-spike") == nullptr);  // not yet
    CHECK(find(high, "loss-spike") == nullptr);
    const auto lasts = watch(log_of(line, 60, calm, rises));
    REQUIRE(find(lasts, "gradient-spike") != nullptr);
    CHECK(find(lasts, "gradient-spike")->step == 41);
    CHECK(find(lasts, "gradient-norm") == nullptr);
    const auto jumped = watch(log_of(line, 60, jumps, one));
    REQUIRE(find(jumped, "loss-spike") != nullptr);
    CHECK(contains(find(jumped, "loss-spike")->message,
                   "the loss was 2.5 and rose to 4 at step 41; 19 steps later it is still high"));
    CHECK(find(jumped, "gradient-norm") == nullptr);
    // A single bad batch is none.
    CHECK(watch(log_of(
                    line, 60, [](int i) { return i == 41 ? 9.0 : 2.5; }, one))
              .alarms.empty());
    for (const io::WatchAlarm& a : jumped.alarms) {
      CHECK_FALSE(a.cause.empty());
      CHECK_FALSE(a.fix.empty());
    }
  }
  CHECK(find(watch("step 1 step_time 1s throughput 4 seq/s loss 3 grad norm nan\n"), "gradient-norm") !=
        nullptr);
  CHECK(watch("step 1 step_time 1s throughput 4 seq/s loss 3 grad norm None\n").alarms.empty());
  // BERT's lines have no norm, and no unit behind the throughput.
  const auto bert = watch(read_text(TRNPLAN_SOURCE_DIR "/tests/calibrate/fixtures/logs/bert-log-lines.txt"));
  CHECK(bert.step > 0);
  CHECK(find(bert, "gradient-norm") == nullptr);
}

TEST_CASE("real logs give no false alarm of learning", "[launch]") {
  for (const char* name : {"megatron-deepspeed-slurm.txt", "nemo-llama2-7b.txt", "nxd-auto-resume.txt",
                           "nxd-llama3-70b.txt", "nxdt-llama3-70b.txt", "nxdt-llama3-8b-dpo.txt"}) {
    CAPTURE(name);
    const auto r = watch(read_text(std::string(TRNPLAN_SOURCE_DIR "/tests/calibrate/fixtures/logs/") + name));
    CHECK(find(r, "gradient-norm") == nullptr);
    CHECK(find(r, "gradient-spike") == nullptr);
    CHECK(find(r, "loss-spike") == nullptr);
    CHECK(find(r, "missing-steps") == nullptr);
  }
}

TEST_CASE("logs of several pods, one behind the other or interleaved", "[launch]") {
  const auto loss = [](int i) { return 3 - i * 0.01; };
  const auto one = [](int) { return 1.0; };
  const std::string plain = log_of(nxd, 30, loss, one);
  const auto alone = watch(plain);
  // kubectl logs --prefix of three workers: two say other things, and the last prints the steps.
  std::string pods;
  for (int i = 1; i <= 30; ++i) {
    pods += fmt::format("[pod/llama-worker-0/pytorch] I1122 {} batches read\n", i);
    pods += "[pod/llama-worker-2/pytorch] [default31]:" + nxd(i, loss(i), 1);
    pods += "[pod/llama-worker-1/pytorch] [default3]:noise\n";
  }
  const auto mixed = watch(pods);
  CHECK(mixed.step == alone.step);
  CHECK(mixed.step_seconds == alone.step_seconds);
  CHECK(mixed.loss == alone.loss);
  CHECK(mixed.restarts == 0);
  CHECK(mixed.alarms.empty());
  // Every worker prints, a step ahead or behind.
  std::string all;
  for (int i = 1; i <= 30; ++i) {
    all += "[pod/llama-worker-0/pytorch] " + nxd(i, loss(i), 1);
    if (i > 1) all += "[pod/llama-worker-1/pytorch] " + nxd(i - 1, loss(i - 1), 1);
  }
  const auto every = watch(all);
  CHECK(every.step == 30);
  CHECK(every.restarts == 0);
  CHECK(every.timed_steps == alone.timed_steps);
  // The pod that printed is replaced by one of another name, which resumes at step 21.
  std::string replaced;
  for (int i = 1; i <= 30; ++i) replaced += "[pod/llama-worker-a1/pytorch] " + nxd(i, loss(i), 1);
  for (int i = 21; i <= 50; ++i) replaced += "[pod/llama-worker-b2/pytorch] " + nxd(i, loss(i), 1);
  const auto resumed = watch(replaced);
  CHECK(resumed.step == 50);
  CHECK(resumed.restarts == 1);
  // A failure in one of the pods.
  const auto failed =
      watch(pods + "[pod/llama-worker-1/pytorch] [default3]:ModuleNotFoundError: No module named 'lr'\n");
  REQUIRE(failed.failures.size() == 1);
  CHECK(failed.failures[0].kind == "import-error");
  CHECK(contains(failed.failures[0].fix, "PYTHONPATH"));
}

TEST_CASE("failures that have a remedy of their own", "[launch]") {
  struct Case {
    const char *line, *kind, *problem, *fix;
  };
  for (const Case& c :
       {Case{"ModuleNotFoundError: No module named 'modeling_llama_nxd'", "import-error", "folder above",
             "examples/training/llama"},
        Case{"ImportError: cannot import name 'AdamW' from 'transformers' (/x/__init__.py)", "import-error",
             "transformers is newer", "transformers<4.49"},
        Case{"ImportError: /v/_XLAC.so: undefined symbol: _ZN5torch", "import-error", "different versions",
             "one release"},
        Case{"ModuleNotFoundError: No module named 'apex'", "import-error", "Python module", "environment"},
        Case{"torch.distributed.elastic.rendezvous.api.RendezvousClosedError", "rendezvous", "had ended",
             "--rdzv_id"},
        Case{"torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError", "rendezvous", "not all nodes",
             "timeout=1800"},
        Case{"torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 3/4 clients "
             "joined.",
             "rendezvous", "not all nodes", "did not start"},
        Case{"torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d "
             "store "
             "has failed.",
             "rendezvous", "cannot reach", "security group"},
        Case{"tp_zero1_llama_hf_pretrain.py: error: unrecognized arguments: --num_microbatches 16",
             "configuration", "does not know this option", "plan --out"},
        Case{"ERROR: Data directory /fsx/data doesn't exist!", "configuration", "missing on this node",
             "every node mounts"},
        Case{"||NEURON_PARALLEL_COMPILE||: Total graphs: 36\n||NEURON_PARALLEL_COMPILE||: Total successful "
             "compilations: 34\n||NEURON_PARALLEL_COMPILE||: Total failed compilations: 2",
             "compile-failed", "2 of 36 graphs did not compile", "compile cache"},
        Case{"||PARALLEL_COMPILE||: Total failed compilations: 1", "compile-failed",
             "1 graph did not compile", "compile cache"}}) {
    CAPTURE(c.line);
    const auto r = watch(std::string(c.line) + "\n");
    REQUIRE(r.failures.size() == 1);
    CHECK(r.failures[0].kind == c.kind);
    CHECK(contains(r.failures[0].problem, c.problem));
    CHECK(contains(r.failures[0].fix, c.fix));
  }
  for (const char* line :
       {"WARNING: apex is not there (ImportError: No module named 'apex'), going on without it",
        "except ImportError:", "||NEURON_PARALLEL_COMPILE||: Total graphs: 36"}) {
    CAPTURE(line);
    CHECK(watch(line).failures.empty());
  }
}

TEST_CASE("a graph of too many instructions leads to a plan of smaller graphs", "[launch]") {
  // aws-neuron/aws-neuron-sdk issue 819 (XTP002); the codes of newer releases state no number.
  const std::string old = "[XTP002] Number of instructions (9100000) is over the threshold (5000000)\n";
  const auto failures = logs::find_failures(old, "log");
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].kind == logs::FailureKind::instructions);
  CHECK(failures[0].number == 9.1e6);
  CHECK(failures[0].of == 5e6);
  launch::RanPlan ran{job_of("llama3-8b", 1, 8192, 1024), std::nullopt, true};
  const auto unknown = launch::advise(failures, ran, datasheet(), launch::find_fastest).at(0);
  CHECK_FALSE(unknown.next);
  CHECK(contains(unknown.problem, "9100000 instructions, the compiler accepts 5000000"));
  CHECK(contains(unknown.fix, "raise TP or PP"));
  ran = {ran.job, strategy_of(ran.job, "tp=8"), false};
  const auto known = launch::advise(failures, ran, datasheet(), launch::find_fastest).at(0);
  REQUIRE(known.next);
  const double before = models::largest_graph(ran.job, *ran.strategy, datasheet()).expected;
  CHECK(models::largest_graph(ran.job, known.next->strategy, datasheet()).expected <= before * 5 / 9.1);
  for (const char* line :
       {"[NCC_EBVF030] ", "error: NCC_EXTP004", "Compiler generated too many instructions"}) {
    CAPTURE(line);
    const auto a =
        launch::advise(logs::find_failures(line, "log"), ran, datasheet(), launch::find_fastest).at(0);
    CHECK(contains(a.problem, "more instructions than the 5000000"));
    REQUIRE(a.next);
    CHECK(models::largest_graph(ran.job, a.next->strategy, datasheet()).expected < before);
  }
}

TEST_CASE("of a long curve every so many values are kept to be drawn", "[launch]") {
  const auto counted = [](int values) {
    std::vector<double> all;
    for (int i = 1; i <= values; ++i) all.push_back(i);
    return curve(0.1, all);
  };
  CHECK(counted(0).points.empty());
  const CurveReading few = counted(2000);
  CHECK(few.points.size() == 2000);
  CHECK(few.every == 1);
  const CurveReading more = counted(2001);  // every second of 2000, and the next one
  CHECK(more.points.size() == 1001);
  CHECK(more.every == 2);
  CHECK(more.seen == 2001);
  const CurveReading many = counted(10'000);
  REQUIRE(many.points.size() <= launch::kCurvePoints);
  CHECK(many.every == 8);
  for (std::size_t i = 0; i < many.points.size(); ++i) {
    CHECK(many.points[i].step == static_cast<int>(8 * i) + 1);
    CHECK(many.points[i].value == many.points[i].step);
  }
}
