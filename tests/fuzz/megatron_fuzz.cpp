// A script that starts pretrain_gpt.py.
#include "tests/fuzz/run_files.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

void fuzz::megatron_target(const std::uint8_t* data, std::size_t size) {
  fuzz::read_run_file("megatron", "train.sh", fuzz::text_of(data, size));
}
