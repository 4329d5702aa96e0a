#include "launch/bundle.h"

#include <algorithm>
#include <stdexcept>

#include "io/nxdt_yaml.h"
#include "planner/judge.h"
#include "planner/nxdt_config.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

std::vector<io::OutputFile> bundle_of(models::Job job, const char* strategy) {
  const auto judged = planner::judge(job, strategy_of(job, strategy), datasheet());
  return launch::bundle(job, *judged.plan);
}

const std::string& text_of(const std::vector<io::OutputFile>& files, const std::string& name) {
  return std::find_if(files.begin(), files.end(), [&](const auto& f) { return f.name == name; })->text;
}

}  // namespace

TEST_CASE("the files of a plan", "[launch]") {
  const auto files =
      bundle_of(job_of("llama3-70b", 16, 8192, 1024), "tp=32,pp=8,recompute=CoreAttention+LlamaMLP");
  std::vector<std::string> names;
  for (const auto& f : files) names.push_back(f.name);
  CHECK(names ==
        std::vector<std::string>{"nxdt.yaml", "config.json", "compile.sbatch", "train.sbatch", "plan.json"});

  const std::string& train = text_of(files, "train.sbatch");
  CHECK(train.find("#SBATCH --nodes=16\n") != std::string::npos);
  CHECK(train.find("#SBATCH --requeue\n") != std::string::npos);
  CHECK(train.find("--nproc_per_node=32 --nnodes=16") != std::string::npos);
  CHECK(train.find("FI_PROVIDER=efa") != std::string::npos);
  const std::string& compile = text_of(files, "compile.sbatch");
  CHECK(compile.find("neuron_parallel_compile torchrun") != std::string::npos);
  CHECK(compile.find("Total failed compilations: 0") != std::string::npos);
}

TEST_CASE("a hostile model name stays out of the scripts", "[launch]") {
  models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  job.architecture.name = "-x $(touch pwned) `id`\n#SBATCH --wrap=true";
  const auto files = bundle_of(job, "tp=32");
  for (const char* name : {"compile.sbatch", "train.sbatch"}) {
    const std::string& text = text_of(files, name);
    CHECK(text.find("$(touch") == std::string::npos);
    CHECK(text.find("`") == std::string::npos);
    CHECK(text.find("\n#SBATCH --wrap") == std::string::npos);
    CHECK(text.find("#SBATCH --job-name=trnplan-x-") != std::string::npos);
  }
}

TEST_CASE("a model NxDT's HF path cannot express is refused", "[launch]") {
  CHECK_THROWS_AS(bundle_of(job_of("gpt3-6.7b", 1, 2048, 1024), "tp=8,recompute=CoreAttention"),
                  std::invalid_argument);
}
