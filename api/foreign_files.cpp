#include "api/foreign_files.h"

#include <iterator>
#include <string_view>

#include "text/document.h"

namespace trnplan::api {

namespace {

/// A document that has the key, with a value that begins so ("" = whatever it is), is what the row says.
struct Kind {
  const char *key, *begins, *what, *fix;
};

constexpr const char* kByStrategy =
    "describe it in a job.yaml, and predict it: trnplan simulate job.yaml --strategy "
    "framework=fsdp1,tp=2,shard_degree=64";
constexpr const char* kPretraining = "give a config of pretraining: fine-tuning of its kind is not modelled";

/// Recipes: aws/sagemaker-hyperpod-recipes@2631995 recipes_collection/recipes, and @ffaa5bb for run.model_type hf.
constexpr Kind kKinds[] = {
    {"run.model_type", "hf", "a HyperPod recipe of SageMaker's model parallel library", kByStrategy},
    {"run.model_type", "falcon", "a HyperPod recipe of SageMaker's model parallel library", kByStrategy},
    {"run.model_type", "hyperpod_checkpointless_nemo", "a HyperPod recipe that fine-tunes with NeMo",
     kPretraining},
    {"run.model_type", "llm_finetuning_aws", "a HyperPod recipe that fine-tunes", kPretraining},
    {"run.model_type", "verl", "a HyperPod recipe of reinforcement learning (verl)", kPretraining},
    {"run.model_type", "mtrl", "a HyperPod recipe of reinforcement learning", kPretraining},
    {"run.model_type", "amazon.nova", "a HyperPod recipe for Amazon Nova, whose shape is not public",
     "give a config of a model whose shape is known"},
    {"evaluation.task", "", "a HyperPod recipe that evaluates a model", "give the one that trains it"},
    {"apiVersion", "", "a manifest of Kubernetes", "give the config or the script that its container starts"},
    {"job.model", "", "the plan.json of a plan's folder",
     "give the config or the node_run.sh beside it; trnplan launch FOLDER checks the folder"},
    {"cluster", "", "a job, which says what to train and not how",
     "trnplan plan FILE finds a strategy for it"},
    {"hidden_size", "", "the config.json of a model, which says nothing of how it is trained",
     "name it in a job.yaml (model: config.json), and give that to trnplan plan"},
};

}  // namespace

void refuse_foreign(const std::string& text, const std::string& file) {
  Node root;
  try {
    root = parse_document(text, file);
  } catch (const InputError&) {
    if (!text.starts_with("#!") && text.find("\n#SBATCH") == std::string::npos) return;
    throw InputError({{file, 0, 0},
                      "",
                      "this script starts none of the programs that are known here",
                      "give the one that starts pretraining, or its config; --target says whose it is"});
  }
  for (const Kind& kind : kKinds) {
    const Node* value = root.at_path(kind.key);
    if (value == nullptr || !std::string_view(value->scalar).starts_with(kind.begins)) continue;
    throw InputError({value->at, kind.key, std::string("this is ") + kind.what, kind.fix});
  }
}

}  // namespace trnplan::api
