#include "api/init.h"

#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/rehearsal.h"
#include "io/input/cluster_files.h"
#include "io/input/instance_names.h"
#include "io/input/nvidia_smi.h"
#include "io/input/readers.h"
#include "io/output/atomic_write.h"
#include "targets/nxdt/yaml_scalar.h"
#include "text/document.h"
#include "text/parse.h"

namespace trnplan::api {

namespace {

namespace fs = std::filesystem;

/// A value of the job, and its source; "" if it is stated.
struct Sourced {
  std::string value, from;

  [[nodiscard]] bool open() const { return value.empty(); }
};

/// Values that the five questions ask for.
struct Answers {
  Sourced model, instance, nodes, sequence, global_batch, tokens, objective;
};

void take(Sourced& entry, std::string value, std::string from) {
  if (entry.open() && !value.empty()) entry = {std::move(value), std::move(from)};
}

bool begins(const std::string& text, std::string_view first) {
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at != std::string::npos && std::string_view(text).substr(at).starts_with(first);
}

/// Keys of YAML are followed by a colon and a blank; the colons of sinfo's times and GPUs are not.
bool has_keys(const std::string& text) {
  return text.find(": ") != std::string::npos || text.find(":\n") != std::string::npos;
}

/// Files about a machine or a model, recognised by their content.
class FoundFiles {
 public:
  FoundFiles(const io::Catalog& catalog, Answers& answers) : catalog_(catalog), answers_(answers) {}

  void read(const std::string& file) {
    const std::string text = read_text(file);
    if (io::looks_like_nvidia_smi(text)) return gpus(text, file);
    if (begins(text, "instance-type:") || begins(text, "+--") || begins(text, "[")) return devices(file);
    if (begins(text, "{") || has_keys(text)) return document(text, file);
    cluster(io::read_sinfo(file, catalog_), file, "sinfo");
  }

 private:
  void gpus(const std::string& text, const std::string& file) {
    if (!answers_.instance.open()) return;
    const io::GpuListing listing = io::read_nvidia_smi(text, file);
    std::vector<std::string> machines = io::machines_with(listing, catalog_);
    const std::string seen = fmt::format("{} x {}", listing.count, printable(listing.name, 60));
    if (machines.empty())
      throw InputError(Diagnostic{{file, 0, 0},
                                  "",
                                  "no machine of the catalogue has " + seen,
                                  "state a similar one: --instance TYPE (trnplan instances lists them)"});
    std::string from = fmt::format("{}: {}", printable(file), seen);
    if (machines.size() > 1)
      from += fmt::format("; or {}", fmt::join(machines.begin() + 1, machines.end(), ", "));
    take(answers_.instance, std::move(machines.front()), std::move(from));
  }

  void devices(const std::string& file) {
    const bool named = read_text(file).find("instance-type") != std::string::npos;
    std::vector<std::string> types = {answers_.instance.value};
    if (!named && answers_.instance.open()) types = machines_like(file);
    if (types.empty())
      throw InputError(Diagnostic{{file, 0, 0},
                                  "",
                                  "no machine of the catalogue has such devices",
                                  "state a similar one: --instance TYPE"});
    const topology::Instance i = io::read_neuron_ls(file, catalog_, types.front());
    std::string from = fmt::format("{}: neuron-ls shows {} devices", printable(file), i.chips);
    if (types.size() > 1) from += fmt::format("; or {}", fmt::join(types.begin() + 1, types.end(), ", "));
    take(answers_.instance, i.name, std::move(from));
  }

  /// Types with the listed devices, cores, memory and links, if the listing names none.
  std::vector<std::string> machines_like(const std::string& file) const {
    std::vector<std::string> names;
    for (const std::string& name : catalog_.instances()) {
      const topology::Instance known = catalog_.instance(name);
      if (known.traits.accelerator != topology::Accelerator::neuron_core) continue;
      try {
        const topology::Instance seen = io::read_neuron_ls(file, catalog_, name);
        if (seen.core.memory.value == known.core.memory.value) names.push_back(name);
      } catch (const InputError&) {  // of another number of devices or cores
      }
    }
    return names;
  }

  void document(const std::string& text, const std::string& file) {
    const Node root = parse_document(text, file);
    if (root.find("InstanceGroups") != nullptr) {
      cluster(io::read_hyperpod(file, catalog_), file, "HyperPod");
    } else if (root.at_path("Scheduling.SlurmQueues") != nullptr) {
      cluster(io::read_parallelcluster(file, catalog_), file, "ParallelCluster");
    } else if (io::job_source(file, catalog_) == io::JobSource::hf_config) {
      take(answers_.model, file, "a config.json of Hugging Face");
    } else {
      throw InputError(Diagnostic{
          {file, 0, 0},
          "",
          "this describes neither a machine nor a model",
          "give output of neuron-ls, nvidia-smi or sinfo, a HyperPod or ParallelCluster file, or a "
          "config.json"});
    }
  }

  void cluster(const io::ClusterReading& c, const std::string& file, const char* kind) {
    std::string from = fmt::format("{}: {}", printable(file), kind);
    if (!c.group.empty()) from += ", " + printable(c.group, 60);
    take(answers_.instance, c.instance, from);
    for (const std::string& note : c.notes) from += "; " + printable(note, 200);
    take(answers_.nodes, std::to_string(c.nodes), std::move(from));
  }

  const io::Catalog& catalog_;
  Answers& answers_;
};

[[noreturn]] void refuse(const char* option, std::string problem, std::string fix) {
  throw InputError({{io::kCommandLine, 0, 0}, option, std::move(problem), std::move(fix)});
}

/// The five questions, of which those without an answer so far are asked.
class Questions {
 public:
  Questions(const InitRequest& request, const io::Catalog& catalog, Answers& answers)
      : request_(request), catalog_(catalog), a_(answers) {}

  void settle() {
    ask("Model (a name of trnplan models, or a config.json)", {&a_.model}, {""}, "");
    if (a_.model.open())
      refuse("--model", "no option or file states the model", "name a model: --model llama3-8b");
    ask("Machine type and nodes", {&a_.instance, &a_.nodes}, {catalog_.default_instance(), "1"}, "assumed");
    const auto known = io::known_model(a_.model.value, catalog_);
    const auto published = known ? catalog_.training(*known) : std::nullopt;
    if (published) {
      ask("Sequence (tokens) and global batch (sequences)", {&a_.sequence, &a_.global_batch},
          {std::to_string(published->sequence), std::to_string(published->global_batch)},
          "assumed, as in " + published->source);
    } else {
      ask("Sequence (tokens) and global batch (sequences)", {&a_.sequence, &a_.global_batch}, {"", ""}, "");
    }
    if (a_.sequence.open() || a_.global_batch.open())
      refuse(a_.sequence.open() ? "--sequence" : "--global-batch",
             "no training of this model is published here",
             "state both: --sequence 8192 --global-batch 1024");
    length();
    ask("What matters most: step_time or cost", {&a_.objective}, {"step_time"}, "assumed");
  }

 private:
  /// Assigns the words of the answer to the open values, in order.
  void ask(const std::string& question, const std::vector<Sourced*>& values,
           const std::vector<std::string>& usual, const std::string& assumed) {
    std::vector<std::size_t> open;
    std::string shown;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!values[i]->open()) continue;
      open.push_back(i);
      if (!usual[i].empty()) shown += (shown.empty() ? "" : " ") + usual[i];
    }
    if (open.empty()) return;
    std::string said = request_.ask ? request_.ask(question, shown) : "";
    // Commas belong to the lists of types and nodes.
    const bool lists = values.front() == &a_.instance;
    for (const std::size_t i : open) {
      const std::size_t start = std::min(said.find_first_not_of(" ,"), said.size());
      const std::size_t end = std::min(said.find_first_of(lists ? " " : " ,", start), said.size());
      std::string word = said.substr(start, end - start);
      if (word.ends_with(',')) word.pop_back();
      take(*values[i], std::move(word), "");
      said.erase(0, end);
      take(*values[i], usual[i], assumed);
    }
    if (said.find_first_not_of(" ,") != std::string::npos)
      refuse("answer", in_quotes(said) + " has more values than were asked for", "write one word per value");
  }

  /// Tokens of the run, which may be stated as steps.
  void length() {
    std::string steps = request_.steps;
    if (a_.tokens.open() && steps.empty() && request_.ask) {
      std::string said =
          request_.ask("Tokens of the whole run, or steps (\"2000 steps\"); empty: not known", "");
      const std::size_t blank = said.find(" step");
      if (blank != std::string::npos)
        steps = said.substr(0, blank);
      else
        take(a_.tokens, said, "");
    }
    if (steps.empty()) return;
    if (!a_.tokens.open()) refuse("--steps", "tokens are stated as well", "state one of the two");
    const auto count = parse_count(steps), batch = parse_count(a_.global_batch.value);
    const auto sequence = parse_count(a_.sequence.value);
    if (!count || *count < 1 || !batch || !sequence)
      refuse("--steps", in_quotes(steps) + " is not a number of steps of one batch",
             "write --tokens, for example 15T");
    a_.tokens = {fmt::format("{:.0f}", *count * *batch * *sequence),
                 fmt::format("{} steps of {} x {} tokens", printable(steps, 20), a_.global_batch.value,
                             a_.sequence.value)};
  }

  const InitRequest& request_;
  const io::Catalog& catalog_;
  Answers& a_;
};

std::string scalar(const std::string& value) {
  return targets::plain_in_block(value) ? value : targets::double_quoted(value);
}

/// "4,8,12" as [4, 8, 12].
std::string list_or_scalar(const std::string& value) {
  std::string list;
  std::size_t from = 0;
  for (std::size_t comma = value.find(','); comma != std::string::npos; comma = value.find(',', from)) {
    list += scalar(value.substr(from, comma - from)) + ", ";
    from = comma + 1;
  }
  return list.empty() ? scalar(value) : "[" + list + scalar(value.substr(from)) + "]";
}

void add(std::string& text, const char* key, const Sourced& entry,
         std::string (*written)(const std::string&) = &scalar) {
  const std::string line = fmt::format("{}: {}", key, written(entry.value));
  if (entry.from.empty())
    text += line;
  else
    text += fmt::format("{:<29} # {}", line, printable(entry.from, 400));
  text += '\n';
}

std::string job_text(const Answers& a) {
  std::string text =
      "# Written by trnplan init; each comment states where a value comes from. trnplan plan FILE finds a "
      "strategy.\n";
  add(text, "model", a.model);
  text += "training:\n";
  add(text, "  sequence", a.sequence);
  add(text, "  global_batch", a.global_batch);
  if (a.tokens.open())
    text += fmt::format("{:<29} # of the whole run, for its days and dollars\n", "  # tokens: 15T");
  else
    add(text, "  tokens", a.tokens);
  text += "cluster:\n";
  add(text, "  instance", a.instance, &list_or_scalar);
  add(text, "  nodes", a.nodes, &list_or_scalar);
  add(text, "objective", a.objective);
  return text;
}

/// Path of a model's file as the job names it: relative to the folder of the job.
std::string beside_job(const std::string& model, const std::string& out, const io::Catalog& catalog) {
  if (io::known_model(model, catalog) || fs::path(model).is_absolute() || !disk().has(model)) return model;
  return fs::proximate(fs::absolute(model), fs::absolute(out).parent_path()).string();
}

/// Refuses the value of an answer or an option as other commands do, before anything is written.
void check(const Answers& a, const io::Catalog& catalog) {
  JobInput input;
  input.job = a.model.value;
  input.options.instance = a.instance.value;
  input.options.nodes = a.nodes.value;
  input.options.sequence = a.sequence.value;
  input.options.global_batch = a.global_batch.value;
  input.options.tokens = a.tokens.value;
  input.options.objective = a.objective.value;
  Remarks unsaid;
  static_cast<void>(load_job(input, catalog, unsaid));
}

}  // namespace

InitResult init(const InitRequest& r) {
  std::vector<std::string> read = r.files;
  read.push_back(r.model);
  check_apart("--out", r.out, read);
  rehearse_file(r.out, r.force);
  const io::Catalog catalog = io::Catalog::standard();
  Answers a{{r.model, ""},        {r.instance, ""}, {r.nodes, ""},    {r.sequence, ""},
            {r.global_batch, ""}, {r.tokens, ""},   {r.objective, ""}};
  FoundFiles found(catalog, a);
  for (const std::string& file : r.files) found.read(file);
  Questions(r, catalog, a).settle();
  std::vector<std::string> unsaid;  // the file shows the whole names
  a.instance.value = io::whole_names(a.instance.value, catalog, unsaid);
  check(a, catalog);
  a.model.value = beside_job(a.model.value, r.out, catalog);
  InitResult result{job_text(a)};
  io::write_file(r.out, result.text, r.force);
  return result;
}

}  // namespace trnplan::api
