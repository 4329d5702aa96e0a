// Folders of every target with random changes. A change that affects the run is refused; a change that people
// may make passes and is named. Whether two folders run the same is determined by other means than the
// check's: bash itself, another reader of JSON, and lines instead of trees.
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "io/output/emit_kubernetes.h"
#include "launch/folder/bundle.h"
#include "launch/folder/folder_check.h"
#include "launch/process/process.h"
#include "planner/check/judge.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/folder.h"
#include "tests/launch/folder/entry_points/random_plans.h"
#include "tests/launch/seal.h"
#include "tests/models/setup.h"
#include "tests/seeds.h"

using namespace trnplan;
namespace fs = std::filesystem;

namespace {

using Texts = std::map<std::string, std::string>;

/// Reproducible on every machine.
class TamperDice {
 public:
  explicit TamperDice(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t end) { return end == 0 ? 0 : engine_() % end; }
  template <class All>
  const auto& of(const All& all) {
    return *std::next(std::begin(all), static_cast<std::ptrdiff_t>(below(std::size(all))));
  }

 private:
  std::mt19937_64 engine_;
};

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1);
    lines.push_back(text.substr(at, end + 1 - at));
    at = end + 1;
  }
  return lines;
}

std::string all_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

// ---- folders

struct Planned {
  std::string what;
  Texts files;
  std::vector<std::string> manifests;  ///< that are applied; none: Slurm or this machine
};

std::optional<Planned> written(const planner::Target& target, const Case& c) {
  const auto judged = planner::judge(c.job, c.strategy, datasheet());
  if (!judged.plan) return std::nullopt;
  Planned folder{
      std::string(target.name()) + " on " + c.job.cluster.instance.name + ", " + describe(c.strategy),
      {},
      {}};
  for (const io::OutputFile& f : launch::bundle(c.job, *judged.plan, target)) folder.files[f.name] = f.text;
  return folder;
}

/// Those of one target: two of its own plans, and where it trains on machines of its own, one there.
std::vector<Planned> folders_of(const planner::Target& target) {
  std::vector<Planned> all;
  for (const Case& c : legal_plans(target, 60)) {
    if (c.job.cluster.nodes > 4 || all.size() == 2) continue;
    if (auto folder = written(target, c)) all.push_back(std::move(*folder));
  }
  for (const auto& [machine, framework, strategy] :
       {std::array{"hgx-h100-80gb", "megatron", "tp=2,recompute=full"},
        std::array{"trn2.48xlarge", "fsdp", "tp=4,shard=fsdp,recompute=full"},
        std::array{"trn2u-ultraserver", "", "tp=32,recompute=CoreAttention"}}) {
    Case c{job_of("llama3-8b", 2, 8192, 1024), {}};
    c.job.cluster.instance = test_catalog().instance(machine);
    if (*framework != '\0') c.job.pin.framework = framework;
    if (&targets::of(c.job) != &target) continue;
    c.strategy = strategy_of(c.job, strategy);
    if (auto folder = written(target, c)) all.push_back(std::move(*folder));
  }
  if (all.empty()) return all;  // it trains on no machine
  const std::vector<Planned> plain = all;
  for (const io::KubernetesFlavour& flavour : io::kubernetes_flavours()) {
    Planned folder = plain.front();
    for (const char* mode : {"compile", "train"}) {
      const std::string name = manifest_name(flavour, mode);
      if (folder.files.contains(name)) folder.manifests.push_back(name);
    }
    folder.what += ", " + std::string(flavour.name);
    if (!folder.manifests.empty()) all.push_back(std::move(folder));
  }
  return all;
}

// ---- what runs

/// Files that no job reads.
bool is_free(const Planned& folder, const std::string& name) {
  static const std::set<std::string> free = {
      "README.md",      "Dockerfile",        "install_neuron.sh",
      "hyperpod.json",  "hyperpod-eks.json", "parallelcluster.yaml",
      "fsx-claim.yaml", "eks-prepare.yaml",  "provisioning_parameters.json"};
  if (free.contains(name)) return true;
  const bool manifest = name.ends_with("-train.yaml") || name.ends_with("-compile.yaml");
  return manifest &&
         std::find(folder.manifests.begin(), folder.manifests.end(), name) == folder.manifests.end();
}

/// All that bash holds in an empty environment after it sourced what the folder's scripts source, but for the values of
/// the plan's names; "" where it fails or prints something.
std::string shell_after(const std::string& folder, const std::set<std::string>& names) {
  const auto ran = launch::run_program({"env", "-i", "PATH=/usr/bin:/bin", "bash", "--norc", "-c",
                                        "set -e; plan=$1; cd /; . \"$1/setup_env.sh\" >/dev/null "
                                        "2>/dev/stdout; unset _ LINENO plan; declare -p; declare -f",
                                        "bash", folder},
                                       {true, {}, -1, 20});
  if (!ran.ok()) return "";
  std::string kept;
  for (const std::string& line : lines_in(ran.output)) {
    const std::size_t name = line.find(' ', 8) + 1, end = line.find('=');
    const std::string declared =
        line.starts_with("declare -") && end != std::string::npos ? line.substr(name, end - name) : "";
    static const std::set<std::string> own = {"BASHPID",       "RANDOM",       "SRANDOM",      "SECONDS",
                                              "EPOCHREALTIME", "EPOCHSECONDS", "PPID",         "BASH_ARGV",
                                              "LINENO",        "SHLVL",        "BASH_COMMAND", "PIPESTATUS"};
    if (!names.contains(declared) && !own.contains(declared)) kept += line;
  }
  return kept;
}

std::set<std::string> names_in(const std::string& settings) {
  std::set<std::string> names;
  for (const std::string& line : lines_in(settings)) {
    if (!line.starts_with('#') && line.find('=') != std::string::npos)
      names.insert(line.substr(0, line.find('=')));
  }
  return names;
}

/// With a line for each of them, which the scripts need.
bool sets_values_alone(const Planned& folder, const std::string& after, const TestFolder& scratch) {
  const std::string& before = folder.files.at("settings.env");
  const std::set<std::string> names = names_in(before), now = names_in(after);
  if (!std::includes(now.begin(), now.end(), names.begin(), names.end())) return false;
  scratch.write("setup_env.sh", folder.files.at("setup_env.sh"));
  scratch.write("settings.env", before);
  const std::string a = shell_after(scratch.path, names);
  scratch.write("settings.env", after);
  return !a.empty() && shell_after(scratch.path, names) == a;
}

/// The commands, and the directives but for those of the queue, each once and in the order of the alphabet.
std::string batch_job(const std::string& text) {
  std::set<std::string> directives;
  std::string commands;
  for (const std::string& line : lines_in(text)) {
    const std::size_t first = line.find_first_not_of(" \t\n");
    const bool comment = first == std::string::npos || line[first] == '#';
    const bool queue = contains(line, "--job-name=") || contains(line, "--account=") ||
                       contains(line, "--time=") || contains(line, "--partition=");
    if (!comment || !commands.empty()) commands += line;
    if (commands.empty() && line.starts_with("#SBATCH") && !queue) directives.insert(line);
  }
  std::string job = all_lines({directives.begin(), directives.end()}) + commands;
  return job.ends_with('\n') ? job : job + '\n';
}

/// Lines without comments, blanks and what a person fills in, in the order of the alphabet.
std::multiset<std::string> manifest_lines(const std::string& text) {
  static const std::vector<std::string> open = {
      "image:", "claimName:", "namespace:", "command:", "mountPath:"};
  std::multiset<std::string> lines;
  for (std::string line : lines_in(text)) {
    if (line.starts_with("  name: ")) continue;  // of the job
    line = line.substr(0, line.starts_with('#') ? 0 : line.find(" #"));
    std::erase_if(line, [](char c) { return c == ' ' || c == '\n'; });
    const bool filled_in =
        std::any_of(open.begin(), open.end(), [&](const std::string& key) { return line.starts_with(key); });
    if (!line.empty() && !filled_in) lines.insert(line);
  }
  return lines;
}

bool same_json(const std::string& a, const std::string& b) {
  return nlohmann::json::parse(a, nullptr, false) == nlohmann::json::parse(b, nullptr, false);
}

bool runs_the_same(const Planned& folder, const std::string& name, const std::string& now,
                   const TestFolder& scratch) {
  const std::string& before = folder.files.at(name);
  if (now == before || is_free(folder, name)) return true;
  if (name == "settings.env") return sets_values_alone(folder, now, scratch);
  if (name.ends_with(".sbatch"))
    return batch_job(now) == batch_job(before) && lines_in(now)[0] == lines_in(before)[0];
  if (name == "config.json") return same_json(now, before);
  if (name.ends_with("-train.yaml") || name.ends_with("-compile.yaml"))
    return manifest_lines(now) == manifest_lines(before);
  return false;
}

// ---- edits

/// One change of a folder.
struct Edit {
  std::string what;
  Texts changed;  ///< new texts
  std::set<std::string> removed, linked;
  bool allowed = false;  ///< people make it
};

std::string other_number(const std::string& text, TamperDice& dice) {
  std::vector<std::size_t> digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] >= '0' && text[i] <= '9') digits.push_back(i);
  }
  std::string changed = text;
  if (!digits.empty()) {
    char& c = changed[dice.of(digits)];
    c = c == '9' ? '1' : static_cast<char>(c + 1);
  }
  return changed;
}

std::string changed_text(const std::string& text, TamperDice& dice, std::string& what) {
  std::vector<std::string> lines = lines_in(text);
  std::string changed = text;
  const std::size_t line = dice.below(lines.size()), other = dice.below(lines.size());
  switch (dice.below(8)) {
    case 0:
      what = "a byte";
      changed[dice.below(text.size())] = static_cast<char>(1 + dice.below(126));
      return changed;
    case 1:
      what = "a byte is gone";
      return changed.erase(dice.below(text.size()), 1);
    case 2:
      what = "a line is gone";
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(line));
      return all_lines(lines);
    case 3:
      what = "two lines are swapped";
      std::swap(lines[line], lines[other]);
      return all_lines(lines);
    case 4:
      what = "a line twice";
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(other), lines[line]);
      return all_lines(lines);
    case 5:
      what = "a number";
      lines[line] = other_number(lines[line], dice);
      return all_lines(lines);
    case 6: {
      what = "a key";
      const std::size_t at = lines[line].find_first_of(":=");
      lines[line].insert(at == std::string::npos ? 0 : at, "_x");
      return all_lines(lines);
    }
    default:
      what = "cut";
      return changed.substr(0, dice.below(text.size()));
  }
}

/// What people do, in files that the folder has.
Edit allowed_edit(const Planned& folder, TamperDice& dice) {
  struct Row {
    const char *file, *from, *to, *named;
  };
  static const Row rows[] = {
      {"settings.env", "TRNPLAN_VENV=", "TRNPLAN_VENV=/fsx/venv", "TRNPLAN_VENV"},
      {"settings.env", "TRNPLAN_RESTARTS=3", "TRNPLAN_RESTARTS=\"5\"", "TRNPLAN_RESTARTS"},
      {"settings.env", "\n# ", "\n# mine: ", "settings.env"},
      {"train.sbatch", "#SBATCH --exclusive\n", "#SBATCH --exclusive\n#SBATCH --account=mine\n", "--account"},
      {"train.sbatch", "#SBATCH --exclusive\n", "#SBATCH --time=2-0\n#SBATCH --exclusive\n", "--time"},
      {"README.md", "\n", "\nmine\n", "README.md"},
      {"fsx-claim.yaml", "ReadWriteMany", "ReadWriteOnce", "fsx-claim.yaml"},
      {"parallelcluster.yaml", "MinCount: 0", "MinCount: 1", "parallelcluster.yaml"},
      {"config.json", "{\n", "{ \n", ""},
      {"-train.yaml", "image: SET-ME-image-with-software", "image: mine:1", "image"},
      {"-train.yaml", "  name: trnplan", "  namespace: mine\n  name: trnplan", "metadata.namespace"},
      {"-train.yaml", "claimName: fsx-claim", "claimName: mine", "claimName"},
  };
  for (;;) {
    const Row& row = dice.of(rows);
    const std::string name = *row.file != '-'           ? row.file
                             : folder.manifests.empty() ? ""
                                                        : folder.manifests.back();
    const auto file = folder.files.find(name);
    if (file == folder.files.end() || !contains(file->second, row.from)) continue;
    return {row.named, {{name, replaced(file->second, row.from, row.to)}}, {}, {}, true};
  }
}

Edit random_edit(const Planned& folder, TamperDice& dice) {
  const std::size_t kind = dice.below(10);
  if (kind < 2) return allowed_edit(folder, dice);
  const auto& [name, text] = dice.of(folder.files);
  const auto& [other, its_text] = dice.of(folder.files);
  if (kind == 2) return {"swapped", {{name, its_text}, {other, text}}, {}, {}};
  if (kind == 3) return {"emptied", {{name, ""}}, {}, {}};
  if (kind == 4) return {"a link", {}, {}, {name}};
  if (kind == 5) return {"removed", {}, {name}, {}};
  Edit edit{"", {}, {}, {}};
  edit.changed[name] = changed_text(text, dice, edit.what);
  if (name == "plan.json" && dice.below(2) == 0) edit.what += ", sealed anew";
  return edit;
}

// ---- the check

class TamperedFolder : public TestFolder {
 public:
  explicit TamperedFolder(const Planned& folder) : folder_(folder) {
    for (const auto& [name, text] : folder.files) put(name, text);
  }
  void put(const std::string& name, const std::string& text) const {
    fs::remove(path / name);
    std::ofstream(path / name, std::ios::binary) << text;
  }
  void make(const Edit& edit) const {
    for (const auto& [name, text] : edit.changed) put(name, text);
    for (const std::string& name : edit.removed) fs::remove(path / name);
    for (const std::string& name : edit.linked) {
      fs::rename(path / name, aside / name);
      fs::create_symlink(aside / name, path / name);
    }
  }
  void undo(const Edit& edit) const {
    for (const auto& [name, text] : edit.changed) put(name, folder_.files.at(name));
    for (const std::string& name : edit.removed) put(name, folder_.files.at(name));
    for (const std::string& name : edit.linked) put(name, folder_.files.at(name));
  }
  /// What is said; "" where the folder would be submitted. `edited`: what is named then.
  std::string said(std::string& edited) const {
    return refusal_of([&] {
      const launch::HeldFolder held(path);
      const io::PlanFile plan = io::read_plan_file(held.path() / "plan.json", test_catalog(), held);
      const launch::FolderFindings found = launch::check_folder(held, plan, folder_.manifests);
      for (const std::string& line : found.edited) edited += line + "\n";
      if (!found.faults.empty()) throw InputError(found.faults);
    });
  }

 private:
  const Planned& folder_;
  TestFolder elsewhere_;
  fs::path aside = elsewhere_.path;
};

/// Files that hold other bytes than before, or are gone or elsewhere.
bool changes_what_runs(const Planned& folder, const Edit& edit, const TestFolder& scratch) {
  for (const auto& [name, text] : edit.changed) {
    if (!runs_the_same(folder, name, text, scratch)) return true;
  }
  const auto needed = [&](const std::string& name) { return !is_free(folder, name); };
  return std::any_of(edit.removed.begin(), edit.removed.end(), needed) ||
         std::any_of(edit.linked.begin(), edit.linked.end(), needed);
}

/// The line where an edit begins, before and after.
std::string shown_change(const Planned& folder, const Edit& edit) {
  std::string shown;
  for (const auto& [name, now] : edit.changed) {
    const std::string& before = folder.files.at(name);
    const auto begin = std::mismatch(before.begin(), before.end(), now.begin(), now.end());
    const auto at = static_cast<std::size_t>(begin.first - before.begin());
    const std::size_t from = at == 0 ? 0 : before.rfind('\n', at - 1) + 1;
    const auto line = [&](const std::string& text) {
      return printable(text.substr(std::min(from, text.size()), 120), 120);
    };
    shown += name + ": " + line(before) + " -> " + line(now) + "\n";
  }
  return shown;
}

void try_edit(const Planned& folder, const TamperedFolder& on_disk, const TestFolder& scratch,
              unsigned seed) {
  TamperDice dice(seed);
  const Edit edit = random_edit(folder, dice);
  std::string names;
  for (const auto& [name, text] : edit.changed) names += " " + name;
  for (const std::string& name : edit.removed) names += " " + name;
  for (const std::string& name : edit.linked) names += " " + name;
  INFO(folder.what << ", seed " << seed << ": " << edit.what << " in" << names << "\n"
                   << shown_change(folder, edit));
  on_disk.make(edit);
  if (edit.what.ends_with("sealed anew") && contains(edit.changed.at("plan.json"), "\"sha256\": \""))
    seal_plan(on_disk.path);
  std::string edited;
  const std::string said = on_disk.said(edited);
  on_disk.undo(edit);
  if (edit.allowed) {
    CHECK(said == "");
    CHECK(contains(edited, edit.what));
  } else if (edit.what.ends_with("sealed anew")) {
    return;  // what is predicted may be forged; all else is written from it, and the other tests look at that
  } else if (changes_what_runs(folder, edit, scratch)) {
    CHECK(said != "");
  }
  for (const auto& [name, text] : edit.changed) {
    if (said.empty() && text != folder.files.at(name) && name != "config.json") CHECK(contains(edited, name));
  }
}

}  // namespace

// Catches a check that looks at less than what runs, and one that refuses what people have to fill in.
TEST_CASE("of changed folders those alone pass that run the same", "[launch][tampering]") {
  const TestFolder scratch;
  unsigned first = 0;
  for (const planner::Target* target : targets::all()) {
    for (const Planned& folder : folders_of(*target)) {
      const TamperedFolder on_disk(folder);
      std::string edited;
      INFO(folder.what);
      CHECK(on_disk.said(edited) == "");
      CHECK(edited == "");
      first += 1000;
      for (const unsigned seed : seeds(first, 20)) try_edit(folder, on_disk, scratch, seed);
    }
  }
}
