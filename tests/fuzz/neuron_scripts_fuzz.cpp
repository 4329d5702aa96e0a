// Scripts that start the programs of NxD and of BERT on Neuron cores.
#include "tests/fuzz/run_files.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

void fuzz::nxd_script_target(const std::uint8_t* data, std::size_t size) {
  fuzz::read_run_file("nxd", "train.sh", fuzz::text_of(data, size), fuzz::of_neuron_cores());
}

void fuzz::bert_script_target(const std::uint8_t* data, std::size_t size) {
  fuzz::read_run_file("bert", "train.sh", fuzz::text_of(data, size), fuzz::of_neuron_cores());
}
