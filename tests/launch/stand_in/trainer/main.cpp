// Replaces torchrun and the training that it starts, for tests: no Trainium is needed. Takes the words of
// torchrun, a script and its words, and refuses what they refuse. Prints, saves and resumes as the script
// does, many steps a second. All nodes of a job meet before the first step, as ranks do.
//   COMPILE=1               reports that graphs were compiled, and trains nothing
//   STAND_IN_MEET=FOLDER    meeting point of the nodes of a job
//   STAND_IN_STEP=SECONDS   time of a step, by the script's own clock, with a noise of 1 %
//   STAND_IN_HOLD=STEPS     stops a fresh start that many steps after its first checkpoint, until its job is
//                           ended or started again, and writes the step into FOLDER/held
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>

#include "tests/launch/stand_in/trainer/scripts.h"

namespace fs = std::filesystem;
using namespace trnplan::stand_in;

namespace {

struct Torchrun {
  std::map<std::string, std::string> options;
  std::string script;
  std::vector<std::string> words;
  int whole(const char* option) const { return std::stoi(options.at(option)); }
};

/// Static rendezvous alone: aws-neuron's scripts on Slurm.
Torchrun torchrun_of(int argc, char** argv) {
  Torchrun t;
  int i = 1;
  for (; i < argc && std::string(argv[i]).starts_with("--"); ++i) {
    const std::string word = argv[i];
    t.options[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  }
  for (const char* needed :
       {"--nproc_per_node", "--nnodes", "--node_rank", "--master_addr", "--master_port"}) {
    if (!t.options.contains(needed)) throw Refused(2, std::string("torchrun: error: no ") + needed);
  }
  if (t.options.size() != 5) throw Refused(2, "torchrun: error: unrecognized arguments");
  if (i == argc) throw Refused(2, "torchrun: error: no training script");
  t.script = argv[i];
  t.words.assign(argv + i + 1, argv + argc);
  if (!fs::exists(t.script)) throw Refused(2, "python: can't open file '" + t.script + "'");
  return t;
}

std::string variable(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

/// The nodes of one start of a job.
class Meeting {
 public:
  Meeting()
      : root_(variable("STAND_IN_MEET", "")),
        job_(variable("SLURM_JOB_ID", "0")),
        start_(std::stoi(variable("SLURM_RESTART_COUNT", "0"))),
        folder_(place(start_)) {
    fs::create_directories(folder_);
  }
  void join(int node, int nodes) {
    mark(fmt::format("node-{}", node));
    for (int n = 0; n < nodes; ++n) wait_for(fmt::format("node-{}", n));
  }
  void mark(const std::string& name) { std::ofstream(folder_ / name) << "\n"; }
  [[noreturn]] void hold(std::int64_t step) {
    std::ofstream(root_ / "held.new") << step << "\n";
    fs::rename(root_ / "held.new", root_ / "held");
    wait_for("never");
    std::exit(1);
  }
  /// Ends the process where the test is over, or the job was started again.
  void wait_for(const std::string& name) {
    while (!fs::exists(folder_ / name)) {
      if (!fs::exists(folder_) || fs::exists(place(start_ + 1))) std::exit(1);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

 private:
  fs::path place(int start) const { return root_ / fmt::format("{}-{}", job_, start); }
  fs::path root_;
  std::string job_;
  int start_;
  fs::path folder_;
};

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void train(Script& script, const Training& t, Meeting& meeting) {
  const double pace = std::stod(variable("STAND_IN_STEP", "10"));
  const std::int64_t hold = std::stoll(variable("STAND_IN_HOLD", "0"));
  print(script.begun(t));
  Moment m;
  m.clock = std::time(nullptr);
  const std::time_t began = m.clock;
  std::uint32_t seed = 7;
  for (m.step = t.start + 1; m.step <= t.steps; ++m.step) {
    seed = (seed * 1103515245U + 12345U) % 2147483648U;
    m.seconds = pace * (1 + (static_cast<double>(seed / 65536U % 21) - 10) / 1000);
    if (m.step == t.start + 1) m.seconds *= 1.5;  // warm-up
    m.elapsed += m.seconds;
    m.clock = began + static_cast<std::time_t>(m.elapsed);
    print(script.line(t, m));
    if (t.save_every > 0 && m.step % t.save_every == 0) print(script.save(t, m.step));
    if (hold > 0 && t.start == 0 && m.step == t.save_every + hold) {
      print("\n");
      meeting.hold(m.step);
    }
  }
  if (t.save_end && t.save_every > 0 && t.steps % t.save_every != 0) print(script.save(t, t.steps));
  print(script.ended() + "\n");
}

int run(int argc, char** argv) {
  const Torchrun torchrun = torchrun_of(argc, argv);
  const int node = torchrun.whole("--node_rank"), nodes = torchrun.whole("--nnodes");
  const int processes = torchrun.whole("--nproc_per_node");
  const std::unique_ptr<Script> script = script_named(torchrun.script);
  const Training training = script->read(torchrun.words, nodes * processes);
  if (variable("COMPILE", "0") == "1") {
    print(
        "2024-11-07 09:57:13.000144:  39810  INFO ||NEURON_PARALLEL_COMPILE||: Total graphs: 36\n"
        "2024-11-07 09:57:13.000144:  39810  INFO ||NEURON_PARALLEL_COMPILE||: Total failed compilations: "
        "0\n");
    return 0;
  }
  Meeting meeting;
  meeting.join(node, nodes);
  if (training.printing_rank / processes != node) {
    meeting.wait_for("ended");
    return 0;
  }
  train(*script, training, meeting);
  meeting.mark("ended");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Refused& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return e.code;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "stand-in: %s\n", e.what());
    return 70;
  }
}
