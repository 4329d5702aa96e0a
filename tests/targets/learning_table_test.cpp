#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "text/document.h"
#include "text/log_lines.h"

using namespace trnplan;

// The table of docs/job.md against what each target writes for a job that states nothing of learning.

namespace {

/// A row of the table: the models that it holds for, and a plan of them.
struct LearningRow {
  const char *target, *model;  ///< cells of the table
  const char* name;            ///< of the target
  std::vector<const char*> models;
  int nodes, sequence, batch;
  const char* strategy;
  const char* optimizer = "";  ///< that the job states
};

const LearningRow kLearningRows[] = {
    {"`nxd`, one stage", "Llama-2 7B", "nxd", {"llama2-7b"}, 4, 4096, 1024, "tp=8,recompute=full"},
    {"`nxd`, one stage",
     "Llama-3 and 3.1 8B",
     "nxd",
     {"llama3-8b", "llama3.1-8b"},
     4,
     8192,
     1024,
     "tp=32,recompute=full"},
    {"`nxd`, several stages",
     "Llama-2 13B, 70B",
     "nxd",
     {"llama2-13b", "llama2-70b"},
     32,
     4096,
     1024,
     "tp=8,pp=4,recompute=full"},
    {"`nxd`, several stages",
     "Llama-3 and 3.1 70B",
     "nxd",
     {"llama3-70b", "llama3.1-70b"},
     32,
     8192,
     1024,
     "tp=32,pp=8,recompute=full"},
    {"`nemo-megatron`", "Llama-2 7B", "nemo-megatron", {"llama2-7b"}, 4, 4096, 256, "tp=8,recompute=full"},
    {"`nemo-megatron`",
     "Llama-2 13B",
     "nemo-megatron",
     {"llama2-13b"},
     4,
     4096,
     1024,
     "tp=8,pp=4,recompute=full"},
    {"`nemo-megatron`",
     "Llama-2 70B",
     "nemo-megatron",
     {"llama2-70b"},
     32,
     4096,
     512,
     "tp=8,pp=16,recompute=full"},
    {"`nxdt`", "Llama-2 7B", "nxdt", {"llama2-7b"}, 4, 4096, 1024, "tp=8,recompute=full"},
    {"`nxdt`", "Llama-3 8B", "nxdt", {"llama3-8b"}, 4, 8192, 1024, "tp=32,recompute=full"},
    {"`nxdt`", "Llama-3 70B", "nxdt", {"llama3-70b"}, 32, 8192, 1024, "tp=32,pp=8,recompute=full"},
    {"`nxdt`",
     "with `rope_scaling`: Llama-3.1 8B, 70B",
     "nxdt",
     {"llama3.1-8b", "llama3.1-70b"},
     32,
     8192,
     1024,
     "tp=32,recompute=full"},
    {"`bert`", "phase 1, batch 16,384", "bert", {"bert-large"}, 16, 128, 16384, "mbs=16,zero1=false"},
    {"`bert`", "phase 1, batch 65,536", "bert", {"bert-large"}, 16, 128, 65536, "mbs=16,zero1=false"},
    {"`bert`", "phase 2, batch 32,768", "bert", {"bert-large"}, 16, 512, 32768, "mbs=2,zero1=false"},
    {"`bert`",
     "phase 2, with `optimizer: lamb`",
     "bert",
     {"bert-large"},
     16,
     512,
     32768,
     "mbs=2,zero1=false",
     "lamb"},
};

using Cells = std::vector<std::string>;

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Rows of the table in that section, without its head; an empty first cell is that of the row above.
std::vector<Cells> table_of(const std::string& page, const std::string& section) {
  std::vector<Cells> rows;
  const std::size_t from = page.find(section);
  std::istringstream lines(page.substr(page.find("| target, script |", from)));
  int number = 0;
  for (std::string line; std::getline(lines, line) && line.starts_with('|'); ++number) {
    if (number < 2) continue;
    Cells cells;
    std::istringstream parts(line.substr(1));
    for (std::string cell; std::getline(parts, cell, '|');) cells.push_back(trimmed(cell));
    if (cells[0].empty()) cells[0] = rows.back()[0];
    rows.push_back(cells);
  }
  return rows;
}

/// What is started: flags, overrides and the leaves of the config, by their last names.
std::map<std::string, std::string> settings_of(const planner::Target& target, const models::Job& job,
                                               const models::Strategy& strategy) {
  std::map<std::string, std::string> all;
  const planner::TrainCommand c = target.command(job, strategy);
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const std::string& word = c.arguments[i];
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos)
      all[word.substr(0, equals)] = word.substr(equals + 1);
    else if (word.starts_with("--") && i + 1 < c.arguments.size())
      all[word.substr(2)] = c.arguments[i + 1];
  }
  all["steps"] = fmt::format("{}", c.steps);
  for (const planner::ConfigFile& f : target.emit(job, strategy, {.heading = "a test"})) {
    const Node root = parse_document(f.text, f.name);
    const Node& optim = *root.find("model")->find("optim");
    for (const char* key : {"name", "lr", "weight_decay"}) all[key] = optim.find(key)->scalar;
    const Node& betas = *optim.find("betas");
    all["betas"] = fmt::format("[{},{}]", betas.items.at(0).scalar, betas.items.at(1).scalar);
    for (const char* key : {"name", "warmup_steps", "min_lr"}) {
      if (const Node* value = optim.find("sched")->find(key))
        all[std::string("sched.") + key] = value->scalar;
    }
    all["steps"] = root.find("trainer")->find("max_steps")->scalar;
  }
  return all;
}

std::string one_of(const std::map<std::string, std::string>& all, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (const auto found = all.find(key); found != all.end()) return found->second;
  }
  return "";
}

double number(const std::string& text) {
  return number_of(std::string_view(text)).value_or(-1);
}

/// "2,000" as the table has it.
std::string grouped(const std::string& whole) {
  std::string text = whole;
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

/// "1.5e-4" as the table has it.
std::string rate(const std::string& text) {
  std::string shortest = fmt::format("{:e}", number(text));
  const std::size_t e = shortest.find('e');
  std::string digits = shortest.substr(0, e);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.pop_back();
  return fmt::format("{}e{}", digits, std::stoi(shortest.substr(e + 1)));
}

/// The schedule of which the target writes the name, else the only one that it accepts.
std::string schedule_of(const planner::Target& target, const models::Job& job,
                        const models::Strategy& strategy, const std::string& written) {
  if (written.starts_with("Cosine")) return "cosine";
  if (written.starts_with("Linear")) return "linear";
  std::string accepted;
  for (const auto& [decay, name] :
       {std::pair{models::Decay::cosine, "cosine"}, {models::Decay::linear, "linear"}}) {
    models::Job stating = job;
    stating.learning.schedule = decay;
    if (!planner::inexpressible(target, stating, strategy)) accepted += name;
  }
  return accepted.empty() ? "the script's" : accepted;
}

/// The row that a job gives, from the third cell on.
Cells written(const LearningRow& row, const char* model) {
  models::Job job = job_of(model, row.nodes, row.sequence, row.batch);
  const planner::Target& target = *targets::find(row.name);
  targets::take_defaults(job, target, false);
  job.learning.optimizer = row.optimizer;
  const models::Strategy strategy = strategy_of(job, row.strategy);
  const auto all = settings_of(target, job, strategy);
  const std::string minimum = one_of(all, {"min_lr", "model.optim.sched.min_lr", "sched.min_lr"});
  std::string betas = one_of(all, {"betas", "model.optim.betas"});
  if (all.contains("beta1")) betas = fmt::format("[{},{}]", all.at("beta1"), all.at("beta2"));
  const std::string optimizer = one_of(all, {"optimizer", "model.optim.name", "name"});
  const std::string decay = one_of(all, {"weight_decay", "model.optim.weight_decay"});
  Cells cells;
  cells.push_back(optimizer.empty() ? "adamw" : optimizer);
  cells.push_back(rate(one_of(all, {"lr", "model.optim.lr"})) +
                  (minimum.empty() ? "" : ", " + rate(minimum)));
  cells.push_back(schedule_of(target, job, strategy, one_of(all, {"model.optim.sched.name", "sched.name"})));
  cells.push_back(
      grouped(one_of(all, {"warmup_steps", "model.optim.sched.warmup_steps", "sched.warmup_steps"})) + ", " +
      grouped(all.at("steps")));
  cells.push_back(betas.empty()
                      ? "the optimizer's"
                      : fmt::format("{}, {}", number(betas.substr(1, betas.find(',') - 1)),
                                    number(trimmed(betas.substr(betas.find(',') + 1,
                                                                betas.size() - betas.find(',') - 2)))));
  cells.push_back(decay.empty() ? "the optimizer's" : fmt::format("{}", number(decay)));
  return cells;
}

/// The cell without what is said for people: marks of code, a minimum that there is none of.
std::string plain(std::string cell) {
  cell.erase(std::remove(cell.begin(), cell.end(), '`'), cell.end());
  if (const std::size_t none = cell.find(", none"); none != std::string::npos) cell.erase(none);
  return cell;
}

}  // namespace

TEST_CASE("the learning that docs/job.md lists is what each target writes", "[targets]") {
  const std::string page = read_text(TRNPLAN_SOURCE_DIR "/docs/job.md");
  const std::vector<Cells> table = table_of(page, "## What a run learns with");
  CHECK(table.size() == std::size(kLearningRows));
  for (const LearningRow& row : kLearningRows) {
    for (const char* model : row.models) {
      INFO(row.target << ", " << row.model << ": " << model);
      const auto found = std::find_if(table.begin(), table.end(), [&](const Cells& cells) {
        return cells[0] == row.target && cells[1] == row.model;
      });
      REQUIRE(found != table.end());
      const Cells ours = written(row, model);
      for (std::size_t i = 0; i < ours.size(); ++i) {
        INFO("cell " << i + 3 << ": " << (*found)[i + 2]);
        const std::string cell = plain((*found)[i + 2]);
        // A flag that does nothing stands with what holds: "flag 0.1, which does nothing: 0.01".
        if (cell.starts_with("flag "))
          CHECK(cell == "flag " + ours[i] + ", which does nothing: 0.01");
        else
          CHECK(cell == ours[i]);
      }
    }
  }
}

TEST_CASE("the learning that docs/job.md lists has its sources", "[targets]") {
  const std::string page = read_text(TRNPLAN_SOURCE_DIR "/docs/job.md");
  for (const char* source :
       {"aws-neuron/neuronx-distributed@fbac349", "aws-neuron/neuronx-nemo-megatron@f4743ce",
        "aws-neuron/neuronx-distributed-training@9169aa0", "aws-neuron/aws-neuron-samples@2015d65"}) {
    INFO(source);
    CHECK(page.find(source, page.find("## What a run learns with")) != std::string::npos);
  }
}
