// A script that starts pretrain_gpt.py, and a recipe of NeMo for its loop; a script of NeMo's fork.
#include "tests/fuzz/run_files.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

void fuzz::megatron_target(const std::uint8_t* data, std::size_t size) {
  fuzz::read_run_file("megatron", "train.sh", fuzz::text_of(data, size));
}

void fuzz::nemo_recipe_target(const std::uint8_t* data, std::size_t size) {
  fuzz::read_run_file("megatron", "recipe.yaml", fuzz::text_of(data, size));
}

void fuzz::nemo_script_target(const std::uint8_t* data, std::size_t size) {
  fuzz::read_run_file("nemo-megatron", "train.sh", fuzz::text_of(data, size));
}
