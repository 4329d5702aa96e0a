// Prints the table of docs/performance.md, which races the engine and SimGrid (https://simgrid.org) on flows
// that share links: the same flows, the same ends, CPU time of each.
//
//   trnplan_contention [--most FLOWS] [--seconds LIMIT] [PATTERN...]
//
// SimGrid runs as in tests/sim/simgrid_test.cpp: CM02, no latencies, no TCP. Its time is that of Engine::run(),
// ours that of execute(); neither has the description of the platform in it. Each race is a process of its own,
// since SimGrid allows one engine per process; one that takes longer than LIMIT is ended. Memory is what the
// peak of the process grows by during execute(), with the code in memory and nothing free, less that of ten transfers.
#include <malloc.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "sim/executor.h"
#include "sim/program.h"

#ifdef TRNPLAN_SIMGRID
#include <simgrid/s4u.hpp>
#endif

namespace {

using namespace trnplan;

constexpr double kLink = 12.5e9;  // bytes/s, of a NIC
constexpr int kHostsOfLeaf = 32, kOversubscribed = 4;

struct Transfer {
  std::vector<std::uint32_t> links;
  std::uint64_t bytes = 0;
  std::int64_t start = 0;  ///< microseconds
};

struct Race {
  std::vector<double> capacity;
  std::vector<Transfer> transfers;
};

/// CPU seconds that the clock's steps are too coarse for: such runs are repeated.
constexpr double kShort = 0.05;

/// Ends by transfer, seconds; CPU seconds; bytes of memory.
struct Outcome {
  std::vector<double> ends;
  double cpu = 0, memory = 0;
};

class Random {
 public:
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return boost::random::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }

 private:
  boost::random::mt19937_64 engine_{20261125};
};

/// Hosts, each with a link out and a link in.
struct Hosts {
  Race& race;
  std::uint32_t count;

  Hosts(Race& r, std::int64_t n) : race(r), count(static_cast<std::uint32_t>(n)) {
    race.capacity.assign(2 * count, kLink);
  }
  std::uint32_t out(std::int64_t host) const { return static_cast<std::uint32_t>(host); }
  std::uint32_t in(std::int64_t host) const { return count + static_cast<std::uint32_t>(host); }
};

/// 50 MB to 5 GB: so long that a tick of a picosecond, and the nanosecond within which SimGrid takes two events
/// for one, do not count.
std::uint64_t some_bytes(Random& random) {
  return static_cast<std::uint64_t>(random.between(50, 5000)) * 1'000'000;
}

std::int64_t square_root(std::int64_t n) {
  return static_cast<std::int64_t>(std::ceil((1 + std::sqrt(1.0 + 4.0 * static_cast<double>(n))) / 2));
}

Race all_to_all(std::int64_t flows, bool skewed) {
  Race race;
  Random random;
  const Hosts hosts(race, square_root(flows));
  for (std::int64_t from = 0; from < hosts.count; ++from) {
    for (std::int64_t step = 1; step < hosts.count; ++step) {
      const std::int64_t to = (from + step) % hosts.count;
      race.transfers.push_back(
          {{hosts.out(from), hosts.in(to)}, skewed ? some_bytes(random) : 500'000'000, 0});
    }
  }
  return race;
}

Race star(std::int64_t flows, bool into) {
  Race race;
  Random random;
  const Hosts hosts(race, flows + 1);
  for (std::int64_t i = 1; i <= flows; ++i) {
    race.transfers.push_back({{hosts.out(into ? i : 0), hosts.in(into ? 0 : i)}, some_bytes(random), 0});
  }
  return race;
}

Race permutation(std::int64_t flows) {
  Race race;
  Random random;
  const Hosts hosts(race, flows);
  std::vector<std::int64_t> to(static_cast<std::size_t>(flows));
  std::iota(to.begin(), to.end(), 0);
  for (std::size_t i = to.size() - 1; i > 0; --i)
    std::swap(to[i], to[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i)))]);
  for (std::int64_t from = 0; from < flows; ++from) {
    race.transfers.push_back(
        {{hosts.out(from), hosts.in(to[static_cast<std::size_t>(from)])}, some_bytes(random), 0});
  }
  return race;
}

/// One spine that all hosts share, with a quarter of their rate; four flows a host, each to a random one.
Race spine(std::int64_t flows) {
  Race race;
  Random random;
  const Hosts hosts(race, std::max<std::int64_t>(2, flows / 4));
  const auto shared = static_cast<std::uint32_t>(race.capacity.size());
  race.capacity.push_back(kLink * hosts.count / kOversubscribed);
  for (std::int64_t i = 0; i < flows; ++i) {
    const std::int64_t from = i % hosts.count;
    const std::int64_t to = (from + random.between(1, hosts.count - 1)) % hosts.count;
    race.transfers.push_back({{hosts.out(from), hosts.in(to), shared}, some_bytes(random), 0});
  }
  return race;
}

/// Leaves of 32 hosts, each with a link up and one down that carry a quarter of their NICs; four flows a host,
/// each to a random host of another leaf.
Race leaves(std::int64_t flows) {
  Race race;
  Random random;
  const std::int64_t count = std::max<std::int64_t>(2, (flows / 4 + kHostsOfLeaf - 1) / kHostsOfLeaf);
  const Hosts hosts(race, count * kHostsOfLeaf);
  const auto up = static_cast<std::uint32_t>(race.capacity.size());
  race.capacity.resize(race.capacity.size() + 2 * static_cast<std::size_t>(count),
                       kLink * kHostsOfLeaf / kOversubscribed);
  for (std::int64_t i = 0; i < flows; ++i) {
    const std::int64_t from = i % hosts.count, leaf = from / kHostsOfLeaf;
    const std::int64_t other = (leaf + random.between(1, count - 1)) % count;
    const std::int64_t to = other * kHostsOfLeaf + random.between(0, kHostsOfLeaf - 1);
    race.transfers.push_back({{hosts.out(from), hosts.in(to), up + static_cast<std::uint32_t>(leaf),
                               up + static_cast<std::uint32_t>(count + other)},
                              some_bytes(random),
                              0});
  }
  return race;
}

/// One spine that all hosts share; flows between random hosts start over as long as the spine needs for three
/// quarters of them, so that ever more are under way.
Race staggered(std::int64_t flows) {
  Race race;
  Random random;
  const Hosts hosts(race, std::max<std::int64_t>(2, flows / 8));
  const double rate = kLink * hosts.count / kOversubscribed;
  const auto spine = static_cast<std::uint32_t>(race.capacity.size());
  race.capacity.push_back(rate);
  double bytes = 0;
  for (std::int64_t i = 0; i < flows; ++i) {
    const std::int64_t from = random.between(0, hosts.count - 1);
    const std::int64_t to = (from + random.between(1, hosts.count - 1)) % hosts.count;
    race.transfers.push_back({{hosts.out(from), hosts.in(to), spine}, some_bytes(random), 0});
    bytes += static_cast<double>(race.transfers.back().bytes);
  }
  const auto microseconds = static_cast<std::int64_t>(0.75e6 * bytes / rate);
  for (Transfer& t : race.transfers) t.start = random.between(0, microseconds);
  return race;
}

struct Pattern {
  const char* name;
  Race (*race)(std::int64_t flows);
};
constexpr Pattern kPatterns[] = {
    {"all-to-all", [](std::int64_t n) { return all_to_all(n, false); }},
    {"all-to-all, skewed", [](std::int64_t n) { return all_to_all(n, true); }},
    {"incast", [](std::int64_t n) { return star(n, true); }},
    {"outcast", [](std::int64_t n) { return star(n, false); }},
    {"permutation", permutation},
    {"spine", spine},
    {"leaves", leaves},
    {"staggered", staggered},
};

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Kilobytes of this process, as the kernel has them under `key`.
double status(const char* key) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    double value = 0;
    if (word == key && file >> value) return value;
  }
  return 0;
}

sim::Program program_of(const Race& race) {
  sim::Program program;
  for (const double c : race.capacity) program.add_resource({}, BytesPerSecond(c));
  for (const Transfer& t : race.transfers) {
    std::vector<sim::Weight> weights;
    for (const std::uint32_t link : t.links) weights.push_back({link, static_cast<double>(t.bytes)});
    program.add_transfer({}, program.add_flow(std::move(weights)), SimTime{t.start * 1'000'000});
  }
  return program;
}

/// `small`: a race like this one, which brings the code into memory.
Outcome run_here(const Race& race, const Race& small) {
  const sim::Program program = program_of(race);
  sim::execute(program_of(small));
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak starts here
  const double memory = status("VmRSS:"), start = cpu_seconds();
  const sim::Run run = sim::execute(program);
  Outcome out;
  out.cpu = cpu_seconds() - start;
  out.memory = (status("VmHWM:") - memory) * 1024;
  if (out.cpu < kShort) {
    int runs = 0;
    const double again = cpu_seconds();
    do {
      sim::execute(program);
      ++runs;
    } while (cpu_seconds() - again < 2 * kShort);
    out.cpu = (cpu_seconds() - again) / runs;
  }
  for (const SimTime end : run.ended) out.ends.push_back(to_seconds(end).value);
  return out;
}

#ifdef TRNPLAN_SIMGRID
namespace s4u = simgrid::s4u;

Outcome run_in_simgrid(const Race& race) {
  std::vector<std::string> arguments{"contention",
                                     "--log=root.thresh:error",
                                     "--cfg=network/model:CM02",
                                     "--cfg=network/TCP-gamma:0",
                                     "--cfg=network/crosstraffic:0",
                                     "--cfg=maxmin/precision:1e-12"};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(arguments.size());
  s4u::Engine engine(&argc, argv.data());

  s4u::NetZone* world = s4u::create_full_zone("world");
  std::vector<s4u::Link*> links;
  for (const double capacity : race.capacity) {
    links.push_back(world->create_link(std::to_string(links.size()), capacity)->set_latency(0)->seal());
  }
  // A zone has a table of all pairs of its hosts, so each transfer is in a zone of its own.
  struct Pending {
    const Transfer* transfer;
    s4u::Host *from, *to;
    double* end;
    s4u::CommPtr comm;
  };
  Outcome out;
  out.ends.resize(race.transfers.size());
  std::vector<Pending> pending;
  for (std::size_t t = 0; t < race.transfers.size(); ++t) {
    const std::string name = "t" + std::to_string(t);
    s4u::NetZone* zone = s4u::create_full_zone(name)->set_parent(world);
    s4u::Host* from = zone->create_host(name + " from", 1e9)->seal();
    s4u::Host* to = zone->create_host(name + " to", 1e9)->seal();
    std::vector<s4u::LinkInRoute> route;
    for (const std::uint32_t link : race.transfers[t].links) route.emplace_back(links[link]);
    zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
    zone->seal();
    pending.push_back({&race.transfers[t], from, to, &out.ends[t], nullptr});
  }
  s4u::NetZone* alone = s4u::create_full_zone("alone")->set_parent(world);
  s4u::Host* starter = alone->create_host("starter", 1e9)->seal();
  alone->seal();
  world->seal();
  std::stable_sort(pending.begin(), pending.end(),
                   [](const Pending& a, const Pending& b) { return a.transfer->start < b.transfer->start; });
  s4u::Actor::create("starter", starter, [&pending] {
    for (Pending& p : pending) {
      const double start = static_cast<double>(p.transfer->start) * 1e-6;
      if (start > s4u::Engine::get_clock()) s4u::this_actor::sleep_until(start);
      p.comm = s4u::Comm::sendto_async(p.from, p.to, p.transfer->bytes);
    }
    for (Pending& p : pending) {
      p.comm->wait();
      *p.end = p.comm->get_finish_time();
      p.comm = nullptr;
    }
  });
  const double start = cpu_seconds();
  engine.run();
  out.cpu = cpu_seconds() - start;
  return out;
}
#endif

/// In a process of its own; without ends when it takes longer than `limit` seconds of CPU time.
template <class Run>
Outcome apart(const Run& run, double limit) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const auto seconds = static_cast<rlim_t>(limit + 1);
    const rlimit most{seconds, seconds};
    setrlimit(RLIMIT_CPU, &most);
    const Outcome out = run();
    std::FILE* to = fdopen(ends[1], "w");
    const double head[3] = {out.cpu, out.memory, static_cast<double>(out.ends.size())};
    std::fwrite(head, sizeof(double), 3, to);
    std::fwrite(out.ends.data(), sizeof(double), out.ends.size(), to);
    std::fclose(to);
    _exit(0);
  }
  close(ends[1]);
  std::FILE* from = fdopen(ends[0], "r");
  Outcome out;
  double head[3] = {};
  if (std::fread(head, sizeof(double), 3, from) == 3) {
    out.cpu = head[0];
    out.memory = head[1];
    out.ends.resize(static_cast<std::size_t>(head[2]));
    if (std::fread(out.ends.data(), sizeof(double), out.ends.size(), from) != out.ends.size()) out = {};
  }
  std::fclose(from);
  waitpid(child, nullptr, 0);
  return out;
}

/// The mean of as many processes as it takes.
template <class Run>
Outcome repeated(const Run& run, double limit) {
  Outcome out = apart(run, limit);
  double sum = out.cpu;
  int runs = 1;
  for (; !out.ends.empty() && sum < kShort && runs < 50; ++runs) sum += apart(run, limit).cpu;
  out.cpu = sum / runs;
  return out;
}

/// The largest difference of two ends of one transfer, relative to its length.
double difference(const Race& race, const Outcome& a, const Outcome& b) {
  double most = 0;
  for (std::size_t t = 0; t < race.transfers.size(); ++t) {
    const double length = a.ends[t] - static_cast<double>(race.transfers[t].start) * 1e-6;
    most = std::max(most, std::abs(a.ends[t] - b.ends[t]) / length);
  }
  return most;
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t most = 100'000;
  double limit = 300;
  std::vector<std::string_view> wanted;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--most" && i + 1 < argc) {
      most = std::atoll(argv[++i]);
    } else if (word == "--seconds" && i + 1 < argc) {
      limit = std::atof(argv[++i]);
    } else {
      wanted.push_back(word);
    }
  }
  std::printf("| flows | how many | here, s | bytes a flow | SimGrid, s | times | ends agree to |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- |\n");
  bool agree = true;
  for (const Pattern& pattern : kPatterns) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), pattern.name) == wanted.end()) continue;
    double of_ten = 0;
    for (std::int64_t flows = 10; flows <= most; flows *= 10) {
      const Race race = pattern.race(flows);
      const Outcome here = apart([&] { return run_here(race, pattern.race(1000)); }, limit);
      if (flows == 10) of_ten = here.memory;
      std::printf("| %s | %zu | ", pattern.name, race.transfers.size());
      if (here.ends.empty()) {
        std::printf("over %.0f | | | | |\n", limit);
        continue;
      }
      std::printf("%.2g | %.0f | ", here.cpu,
                  (here.memory - of_ten) / static_cast<double>(race.transfers.size()));
#ifdef TRNPLAN_SIMGRID
      const Outcome there = repeated([&] { return run_in_simgrid(race); }, limit);
      if (there.ends.empty()) {
        std::printf("over %.0f | over %.0f | |\n", limit, limit / here.cpu);
        continue;
      }
      const double apart_by = difference(race, here, there);
      agree &= apart_by < 1e-6;
      std::printf("%.2g | %.3g | %.0e |\n", there.cpu, there.cpu / here.cpu, apart_by);
#else
      std::printf("| | |\n");
#endif
    }
  }
  return agree ? 0 : 1;
}
