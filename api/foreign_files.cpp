#include "api/foreign_files.h"

#include <string_view>

#include <fmt/format.h>

#include "logs/detect/detect.h"
#include "text/document.h"
#include "text/shell_words.h"

namespace trnplan::api {

namespace {

/// A row identifies a document that has the key, with a value that begins with `begins` ("" = any value).
struct Kind {
  const char *key, *begins, *what, *fix;
};

constexpr const char* kPretraining = "give a config of pretraining: this kind of fine-tuning is not modelled";

/// Recipes: aws/sagemaker-hyperpod-recipes@2631995 recipes_collection/recipes, and @ffaa5bb for
/// run.model_type hf.
constexpr Kind kKinds[] = {
    {"run.model_type", "falcon",
     "a HyperPod recipe of SageMaker's model parallel library, which is not modelled",
     "give a config of another program"},
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
     "give the config or the node_run.sh next to it; trnplan launch FOLDER checks the folder"},
    {"cluster", "", "a job, which states what to train but not how",
     "trnplan plan FILE finds a strategy for it"},
    {"hidden_size", "", "the config.json of a model, which does not say how it is trained",
     "name it in a job.yaml (model: config.json), and give that to trnplan plan"},
};

/// A recipe for Hugging Face's models. If it states fine-tuning, that is reported; else its loop is FSDP's
/// with these degrees.
[[noreturn]] void refuse_smp(const Node& root, const SourcePos& at) {
  const auto value = [&](const char* key, const char* usual) {
    const Node* node = root.at_path(key);
    return node == nullptr || node->scalar.empty() || node->scalar == "null" ? std::string(usual)
                                                                             : node->scalar;
  };
  const auto is_true = [&](const char* key) {
    return value(key, "false") == "True" || value(key, "false") == "true";
  };
  if (is_true("model.do_finetune") || value("model.peft.peft_type", "none") != "none") {
    throw InputError({at, "run.model_type", "this is a HyperPod recipe that fine-tunes", kPretraining});
  }
  throw InputError(
      {at, "run.model_type",
       "this is a HyperPod recipe of SageMaker's model parallel library, which is not modelled",
       fmt::format(
           "for FSDP with its degrees describe it in a job.yaml: trnplan simulate job.yaml --strategy "
           "framework=fsdp1,tp={},shard_degree={}",
           printable(value("model.tensor_model_parallel_degree", "1"), 12),
           printable(value("model.shard_degree", "1"), 12))});
}

/// Refuses the log of a run, by the steps in it.
void refuse_log(const std::string& text, const std::string& file) {
  std::string kind;
  try {
    const logs::Detected content = logs::detect(text, file);
    if (content.steps.empty()) return;
    kind = content.kinds.front().name;
  } catch (const InputError&) {
    return;  // nothing in it is known
  }
  const std::string name = command_line({file});
  throw InputError(
      {{file, 0, 0},
       "",
       fmt::format("this looks like a log ({}s), and a config or a start script was expected", kind),
       fmt::format("trnplan watch {} --once reads it; trnplan calibrate {} learns from it", name, name)});
}

}  // namespace

bool is_document(const std::string& text, const std::string& file) {
  try {
    return parse_document(text, file).is_map();
  } catch (const InputError&) {
    return false;
  }
}

void refuse_foreign(const std::string& text, const std::string& file) {
  if (!is_document(text, file)) {
    refuse_log(text, file);
    const auto ends = [&](const char* with) { return file.ends_with(with); };
    if (!text.starts_with("#!") && text.find("\n#SBATCH") == std::string::npos && !ends(".sh") &&
        !ends(".sbatch") && !ends(".py"))
      return;
    throw InputError({{file, 0, 0},
                      "",
                      "this script starts none of the known programs",
                      "give the script that starts pretraining, or its config; --target states the stack"});
  }
  const Node root = parse_document(text, file);
  if (const Node* kind = root.at_path("run.model_type"); kind != nullptr && kind->scalar == "hf")
    refuse_smp(root, kind->at);
  for (const Kind& kind : kKinds) {
    const Node* value = root.at_path(kind.key);
    if (value == nullptr || !std::string_view(value->scalar).starts_with(kind.begins)) continue;
    throw InputError({value->at, kind.key, std::string("this is ") + kind.what, kind.fix});
  }
}

}  // namespace trnplan::api
