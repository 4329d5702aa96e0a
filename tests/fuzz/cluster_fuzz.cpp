// A file that describes a cluster: HyperPod JSON, ParallelCluster YAML, the output of sinfo, and of nvidia-smi. Every
// reader gets the same bytes, with a group and without.
#include "io/input/cluster_files.h"
#include "io/input/nvidia_smi.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"
#include "topology/instance.h"

using namespace trnplan;

void fuzz::cluster_target(const std::uint8_t* data, std::size_t size) {
  using Reader = io::ClusterReading (*)(const std::filesystem::path&, const io::Catalog&, const std::string&,
                                        const Files&);
  const std::pair<const char*, Reader> readers[] = {{"c.json", io::read_hyperpod},
                                                    {"c.yaml", io::read_hyperpod},
                                                    {"c.yaml", io::read_parallelcluster},
                                                    {"c.txt", io::read_sinfo}};
  static fuzz::InMemory files({});
  for (const auto& [name, reader] : readers) {
    files.put(name, fuzz::text_of(data, size));
    for (const char* group : {"", "large", "dev"}) {
      fuzz::refusable([&, name = name, reader = reader] {
        const io::ClusterReading read = reader(name, fuzz::catalog(), group, files);
        fuzz::ensure(read.nodes >= 1 && read.nodes <= topology::kMostNodes, "a cluster has nodes");
        for (const std::string& note : read.notes)
          fuzz::ensure(fuzz::is_printable(note), "a note is safe to print");
      });
    }
  }
  const std::string text = fuzz::text_of(data, size);
  fuzz::refusable([&] {
    const io::GpuListing gpus = io::read_nvidia_smi(text, "c.txt");
    fuzz::ensure(gpus.count >= 1, "a listing has GPUs");
    static_cast<void>(io::machines_with(gpus, fuzz::catalog()));
  });
}
