#include "tests/launch/stand_in/trainer/scripts.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>

#include "tests/launch/folder/entry_points/entry_point.h"

namespace trnplan::stand_in {

namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

class Settings {
 public:
  /// Throws Refused, as a strict parser would end.
  Settings(const std::string& entry, const Words& words) {
    const EntryPoint point(entry_point_table(), entry);
    std::string faults;
    for (const std::string& fault : point.faults(words)) faults += "\n  " + fault;
    if (!faults.empty()) throw Refused(2, point.text("script") + ": error:" + faults);
    values_ = point.settings(words);
  }
  const std::string& at(const std::string& key) const { return values_.at(key); }
  std::int64_t whole(const std::string& key) const { return std::stoll(at(key)); }
  bool on(const std::string& key) const { return at(key) == "true" || at(key) == "1"; }
  bool none(const std::string& key) const { return at(key) == "null"; }

 private:
  std::map<std::string, std::string> values_;
};

void need(const fs::path& path) {
  if (!fs::exists(path)) throw Refused(1, "ERROR: " + path.string() + " doesn't exist!");
}

void write(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "saved\n";
}

/// The number behind `mark`; -1 where there is none.
std::int64_t number_behind(const std::string& text, const std::string& mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos || text.size() <= at + mark.size()) return -1;
  const char first = text[at + mark.size()];
  return first < '0' || first > '9' ? -1 : std::stoll(text.substr(at + mark.size()));
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) all.push_back(entry.path());
  return all;
}

std::string date(std::time_t clock) {
  std::tm parts{};
  gmtime_r(&clock, &parts);
  char text[64];
  std::strftime(text, sizeof text, "%a %b %d %H:%M:%S %Y", &parts);
  return text;
}

double loss(std::int64_t step) {
  return 2 + 9 / (1 + 0.01 * static_cast<double>(step));
}

/// Both scripts of NxD: tags step_N with a marker when they are whole; latest_if_exists takes the newest of those,
/// and begins anew where there is none.
class Nxd : public Script {
 public:
  std::string begun(const Training& t) override {
    if (t.start == 0) return "";
    return fmt::format("loading checkpoint from {}/step_{}\nloading checkpoint done\n", t.folder.string(),
                       t.start);
  }
  std::string save(const Training& t, std::int64_t step) override {
    const std::string tag = fmt::format("step_{}", step);
    write(t.folder / tag / "checkpoint");
    write(t.folder / tag / "done");
    std::vector<std::int64_t> all = tags(t.folder);
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; t.keep >= 0 && i + static_cast<std::size_t>(t.keep) < all.size(); ++i)
      fs::remove_all(t.folder / fmt::format("step_{}", all[i]));
    return fmt::format("synced saving of checkpoint {0} began\nsynced saving of checkpoint {0} completed\n",
                       tag);
  }

 protected:
  static void read_checkpoints(const Settings& s, Training& t) {
    t.folder = s.at("--checkpoint_dir");
    t.save_every = std::max<std::int64_t>(0, s.whole("--checkpoint_freq"));
    t.keep = s.whole("--num_kept_checkpoint");
    if (s.at("--loading_step") != "latest_if_exists") return;
    for (const std::int64_t tag : tags(t.folder)) t.start = std::max(t.start, tag);
  }

 private:
  static std::vector<std::int64_t> tags(const fs::path& folder) {
    std::vector<std::int64_t> all;
    for (const fs::path& tag : entries(folder)) {
      const std::int64_t step = number_behind(tag.filename().string(), "step_");
      if (step >= 0 && fs::exists(tag / "done")) all.push_back(step);
    }
    return all;
  }
};

class NxdTensor : public Nxd {
 public:
  Training read(const Words& words, int world) override {
    const Settings s("nxd-tp-zero1", words);
    need(fs::path(s.at("--model_path")) / "config.json");
    need(s.at("--data_dir"));
    Training t;
    const std::int64_t stop = s.whole("--steps_this_run");
    t.steps = stop < 0 ? s.whole("--max_steps") : stop;
    const auto ranks = s.whole("--tensor_parallel_size") * s.whole("--context_parallel_size");
    t.batch = static_cast<double>(s.whole("--batch_size") * s.whole("--grad_accum_usteps") * world / ranks);
    read_checkpoints(s, t);
    return t;
  }
  std::string line(const Training& t, const Moment& m) const override {
    return fmt::format(
        "LOG {} - (0, {}) step_loss : {:.4f} learning_rate : {:.2e} throughput : {:.2f} seq/s grad-norm : "
        "{}\n",
        date(m.clock), m.step, loss(m.step), 3e-4, t.batch / m.seconds, 1.96875);
  }
};

/// Its steps count from 0, and the first rank of the last stage prints.
class NxdPipeline : public Nxd {
 public:
  Training read(const Words& words, int world) override {
    const Settings s("nxd-pp", words);
    need(fs::path(s.at("--training_config")) / "config.json");
    need(s.at("--training_dir"));
    Training t;
    t.steps = s.whole("--max_steps");
    const int stages = static_cast<int>(s.whole("--pipeline_parallel_size"));
    const std::int64_t replicas =
        world / (stages * s.whole("--tensor_parallel_size") * s.whole("--context_parallel_size"));
    t.batch = static_cast<double>(s.whole("--train_batch_size") * replicas);
    t.printing_rank = (stages - 1) * world / stages;
    logs_ = s.at("--tb_dir");
    read_checkpoints(s, t);
    return t;
  }
  std::string begun(const Training& t) override {
    fs::remove_all(logs_);  // it empties the folder
    write(logs_ / fmt::format("events-from-{}", t.start));
    return Nxd::begun(t);
  }
  std::string line(const Training& t, const Moment& m) const override {
    return fmt::format("step {} step_time {}s throughput {} seq/s loss {} grad norm {}\n", m.step - 1,
                       m.seconds, t.batch / m.seconds, loss(m.step), 1.9752838611602783);
  }
  std::string ended() const override { return "Training finished successfully\n"; }

 private:
  fs::path logs_;
};

/// Lightning's bar, and its checkpoints below the log folder: the newest goes on.
class Lightning : public Script {
 public:
  std::string save(const Training& t, std::int64_t step) override {
    const std::string name =
        fmt::format("model--step={}-consumed_samples={:.1f}.ckpt", step, static_cast<double>(step) * t.batch);
    write(t.folder / name);
    saved_.push_back(t.folder / name);
    if (static_cast<std::int64_t>(saved_.size()) > t.keep && t.keep >= 0) {
      fs::remove(saved_.front());
      saved_.erase(saved_.begin());
    }
    return "";
  }

 protected:
  /// Every step is printed twice, the first time with the values of the step before.
  static std::string bar(const Training& t, const Moment& m, const std::string& values) {
    const auto clock = [](double seconds) {
      const auto s = static_cast<std::int64_t>(seconds);
      return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
    };
    const double each = m.elapsed / static_cast<double>(m.step - t.start);
    const std::string text = fmt::format("Epoch 0: {:3}%|\u258f         | {}/{} [{}<{}, {:.2f}s/it, {}]\r",
                                         100 * m.step / t.steps, m.step, t.steps, clock(m.elapsed),
                                         clock(each * static_cast<double>(t.steps - m.step)), each, values);
    return m.step % 20 == 0 ? text + text + "\n" : text + text;  // srun forwards lines
  }
  static void find_newest(Training& t) {
    std::optional<fs::file_time_type> newest;
    for (const fs::path& file : entries(t.folder)) {
      if (file.extension() != ".ckpt") continue;
      const auto when = fs::last_write_time(file);
      if (newest && when < *newest) continue;
      newest = when;
      t.start = number_behind(file.filename().string(), "step=");
    }
  }

 private:
  std::vector<fs::path> saved_;  ///< by this start
};

class NemoMegatron : public Lightning {
 public:
  Training read(const Words& words, int) override {
    const Settings s("nemo-megatron", words);
    need(s.at("model.tokenizer.type"));
    const std::string data = s.at("model.data.data_prefix");  // [1.0,PREFIX]
    need(data.substr(data.find(',') + 1, data.size() - data.find(',') - 2) + ".bin");
    Training t;
    t.steps = s.whole("trainer.max_steps");
    t.batch = static_cast<double>(s.whole("model.global_batch_size"));
    t.folder = fs::path(s.at("exp_manager.explicit_log_dir")) / "checkpoints";
    const std::string params = "exp_manager.checkpoint_callback_params.";
    if (s.on("exp_manager.create_checkpoint_callback")) {
      t.save_every = s.whole(params + "every_n_train_steps");
      t.keep = s.whole(params + "save_top_k");
    }
    if (s.on("exp_manager.resume_if_exists")) find_newest(t);
    if (t.start == 0 && s.on("exp_manager.resume_if_exists") &&
        !s.on("exp_manager.resume_ignore_no_checkpoint"))
      throw Refused(1, "There were no checkpoints found in checkpoint_dir " + t.folder.string());
    return t;
  }
  std::string line(const Training& t, const Moment& m) const override {
    return bar(
        t, m,
        fmt::format(
            "loss={:.3g}, v_num=5563, reduced_train_loss={:.3f}, gradient_norm=0.121, "
            "parameter_norm=1864.0, global_step={:.1f}, consumed_samples={:.1f}, iteration_time={:.2f}",
            loss(m.step), loss(m.step), static_cast<double>(m.step), static_cast<double>(m.step) * t.batch,
            m.seconds));
  }
};

/// Settings are those of the config; a word overrides one of them.
class Nxdt : public Lightning {
 public:
  Training read(const Words& words, int world) override {
    std::map<std::string, std::string> replaced;
    for (const std::string& word : words) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) throw Refused(1, "no override: " + word);
      replaced[word.substr(0, equals)] = word.substr(equals + 1);
    }
    const fs::path folder = replaced["--config-path"];
    const Node config = read_document(folder / (replaced["--config-name"] + ".yaml"));
    replaced.erase("--config-path");
    replaced.erase("--config-name");
    for (const auto& [key, value] : replaced) {
      if (config.at_path(key) == nullptr) throw Refused(1, "Key '" + key + "' is not in struct");
    }
    const auto at = [&](const std::string& key) {
      const auto found = replaced.find(key);
      if (found != replaced.end()) return found->second;
      const Node* node = config.at_path(key);
      return node == nullptr ? std::string() : node->scalar;
    };
    need(at("model.model_config"));
    need(at("data.train_dir"));
    if (std::stoi(at("trainer.devices")) * std::stoi(at("trainer.num_nodes")) != world)
      throw Refused(1, "world size");
    Training t;
    const char* few = std::getenv("TRAIN_ITERS");
    t.steps = std::stoll(few != nullptr ? few : at("trainer.max_steps"));
    t.batch = std::stod(at("data.global_batch_size"));
    t.folder = fs::path(at("exp_manager.explicit_log_dir")) / "checkpoints";
    t.save_every = std::stoll(at("exp_manager.checkpoint_callback_params.every_n_train_steps"));
    t.keep = std::stoll(at("exp_manager.checkpoint_callback_params.save_top_k"));
    if (at("exp_manager.resume_if_exists") == "True") find_newest(t);
    return t;
  }
  std::string line(const Training& t, const Moment& m) const override {
    return bar(
        t, m,
        fmt::format(
            "v_num=7, reduced_train_loss={:.3f}, lr=7.5e-9, parameter_norm=4736.0, global_step={:.1f}, "
            "consumed_samples={:.1f}",
            loss(m.step), static_cast<double>(m.step), static_cast<double>(m.step) * t.batch));
  }
};

/// One file of its name per group of data files, here of 40 steps each; it resumes from the newest of them if
/// asked to.
class Bert : public Script {
 public:
  Training read(const Words& words, int world) override {
    const Settings s("bert", words);
    need(s.at("--data_dir"));
    Training t;
    t.steps = s.whole("--steps_this_run") < 0 ? s.whole("--max_steps") : s.whole("--steps_this_run");
    t.batch = static_cast<double>(s.whole("--batch_size") * s.whole("--grad_accum_usteps") * world);
    t.folder = s.at("--output_dir");
    t.save_every = 40 * s.whole("--shards_per_ckpt");
    t.keep = s.whole("--num_ckpts_to_keep");
    t.save_end = true;
    offset_ = s.on("--phase2") ? s.whole("--phase1_end_step") : 0;
    if (s.on("--resume_ckpt")) t.start = loaded(s, t.folder) - offset_;
    return t;
  }
  std::string line(const Training& t, const Moment& m) const override {
    return fmt::format(
        "LOG {} - (0, {}) step_loss : {:.4f} learning_rate : {:.2e} throughput : {:.2f} grad-norm : {}\n",
        date(m.clock), m.step, loss(m.step), 4e-4, t.batch / m.seconds, 1.96875);
  }
  std::string save(const Training& t, std::int64_t step) override {
    const fs::path file = t.folder / fmt::format("ckpt_{}.pt", offset_ + step);
    write(file);
    saved_.push_back(file);
    if (static_cast<std::int64_t>(saved_.size()) > t.keep) {
      fs::remove(saved_.front());
      saved_.erase(saved_.begin());
    }
    return "Checkpointing...\nCheckpointing done...\n";
  }

 private:
  static std::int64_t loaded(const Settings& s, const fs::path& folder) {
    if (!s.none("--resume_ckpt_path")) {
      const fs::path file = s.at("--resume_ckpt_path");
      need(file);
      return number_behind(file.filename().string(), "ckpt_");
    }
    std::int64_t newest = -1;
    for (const fs::path& file : entries(folder)) {
      if (file.extension() == ".pt")
        newest = std::max(newest, number_behind(file.filename().string(), "ckpt_"));
    }
    if (newest < 0) throw Refused(1, "AssertionError: no checkpoint in " + folder.string());
    return newest;
  }

  std::int64_t offset_ = 0;      ///< steps before the first of this phase
  std::vector<fs::path> saved_;  ///< by this start: those from before stay
};

}  // namespace

std::unique_ptr<Script> script_named(const std::string& file) {
  if (file == "tp_zero1_llama_hf_pretrain.py") return std::make_unique<NxdTensor>();
  if (file == "run_llama_nxd.py") return std::make_unique<NxdPipeline>();
  if (file == "megatron_gpt_pretraining.py") return std::make_unique<NemoMegatron>();
  if (file == "dp_bert_large_hf_pretrain_hdf5.py") return std::make_unique<Bert>();
  if (file == "training_orchestrator.py") return std::make_unique<Nxdt>();
  throw Refused(2, "python: can't open file '" + file + "'");
}

}  // namespace trnplan::stand_in
