// A config of TorchTitan: a TOML, and a module of Python.
#include "tests/fuzz/run_files.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

void fuzz::titan_toml_target(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  fuzz::read_run_file("torchtitan", "torchtitan.toml", text);
  // Without ranks every degree must be stated.
  fuzz::refusable([&] {
    const planner::Target& titan = *targets::find("torchtitan");
    const Node root = parse_document(text, "torchtitan.toml");
    if (!titan.recognises(root)) return;
    const auto reading = titan.interpret(root, fuzz::catalog().architecture("llama3-8b"));
    fuzz::ensure(reading && reading->ranks_per_node >= 1, "a run has ranks");
  });
}

void fuzz::titan_module_target(const std::uint8_t* data, std::size_t size) {
  fuzz::read_run_file("torchtitan", "trnplan_config.py", fuzz::text_of(data, size));
}
