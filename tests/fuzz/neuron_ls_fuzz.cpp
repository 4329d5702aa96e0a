// Output of neuron-ls, as a table or as JSON; JSON also under a name that does not show the format.
#include "io/input/readers.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"
#include "topology/chip_graph.h"

using namespace trnplan;

void fuzz::neuron_ls_target(const std::uint8_t* data, std::size_t size) {
  static fuzz::InMemory files({});
  for (const char* name : {"ls.txt", "ls.json"}) {
    files.put(name, fuzz::text_of(data, size));
    fuzz::refusable([&] {
      const topology::Instance instance = io::read_neuron_ls(name, fuzz::catalog(), "trn1.32xlarge", files);
      const topology::ChipGraph graph(instance);
    });
  }
}
