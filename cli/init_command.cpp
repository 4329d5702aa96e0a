#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "api/init.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "text/diagnostic.h"
#include "text/shell_words.h"

namespace trnplan::cli {

namespace {

std::string ask(const std::string& question, const std::string& usual) {
  std::fputs((question + (usual.empty() ? ": " : fmt::format(" [{}]: ", usual))).c_str(), stderr);
  std::string line;
  if (!std::getline(std::cin, line)) std::fputs("\n", stderr);
  return line;
}

int run(api::InitRequest request) {
  if (isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1) request.ask = ask;
  const api::InitResult result = api::init(request);
  print(result.text);
  remark(fmt::format("wrote {}; next: {}", printable(request.out, 400),
                     command_line({"trnplan", "plan", request.out})));
  return kDone;
}

}  // namespace

void add_init(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<api::InitRequest>();
  CLI::App* command = app.add_subcommand(
      "init",
      "Write a job.yaml from five answers, from options, or from files that describe a machine and a model");
  command->add_option(
      "files", o->files,
      "output of neuron-ls, nvidia-smi (-L, or --query-gpu=name,memory.total --format=csv) or sinfo, a "
      "HyperPod or ParallelCluster file, a config.json of Hugging Face");
  const auto option = [&](const char* name, std::string& value, const char* help) {
    command->add_option(name, value, help)->check(not_empty());
  };
  option("--model", o->model, "a model that trnplan models lists, or a config.json");
  option("--instance", o->instance, "type of machine");
  option("--nodes", o->nodes, "4, 4..32 or 4,8,12");
  option("--sequence", o->sequence, "tokens");
  option("--global-batch", o->global_batch, "sequences per step");
  option("--tokens", o->tokens, "tokens of the whole run, for example 15T");
  option("--steps", o->steps, "steps of the whole run, instead of its tokens");
  option("--objective", o->objective, "what matters most: step_time or cost");
  command->add_option("--out", o->out, "file to write")->check(not_empty())->capture_default_str();
  command->add_flag("--force", o->force, "overwrite the file");
  command->footer(
      "Values that neither an option nor a file states are asked for on a terminal and assumed elsewhere; "
      "the job says which.\n"
      "Examples:\n"
      "  trnplan init\n"
      "  trnplan init --model llama3-8b --nodes 4 --tokens 500B\n"
      "  nvidia-smi -L > node.txt && trnplan init node.txt config.json --sequence 8192 --global-batch 1024");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
