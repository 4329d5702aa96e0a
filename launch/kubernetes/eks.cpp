#include "launch/kubernetes/eks.h"

#include <algorithm>

#include "io/output/emit_cluster.h"
#include "text/document.h"

namespace trnplan::launch {

namespace fs = std::filesystem;

namespace {

const ProcessOptions kQuery = {true, {}, -1, kQuerySeconds};

std::vector<std::string> kubectl_command(const Order& order) {
  return {"kubectl", "apply", "-f", (order.folder / order.manifest).string(), "-o", "name"};
}

bool has_manifest(const Order& order) {
  return fs::path(order.manifest).filename() == order.manifest &&
         fs::is_regular_file(order.folder / order.manifest);
}

class Eks : public Scheduler {
 public:
  std::string_view name() const override { return "eks"; }
  bool sees_our_paths() const override { return false; }
  bool is_job_id(const std::string&) const override { return true; }
  std::string manifest(const Order& order) const override {
    return has_manifest(order) ? order.manifest : "";
  }

  void check(const CheckedFolder& checked) const override {
    const fs::path manifest = checked.order.folder / checked.order.manifest;
    if (!has_manifest(checked.order)) {
      return checked.fault(manifest.string(), "--manifest", "there is no such file in the folder",
                           "take mpijob.yaml or pytorchjob.yaml");
    }
    const std::string text = read_text(manifest);
    std::size_t line = 1, at = 0;
    for (std::size_t end; at < text.size(); at = end + 1, ++line) {
      end = std::min(text.find('\n', at), text.size());
      const std::string_view row = std::string_view(text).substr(at, end - at);
      if (row.starts_with('#') || row.find(io::kSetMe) == std::string_view::npos) continue;
      checked.faults.push_back({{manifest.string(), static_cast<int>(line), 0},
                                "",
                                "still holds " + std::string(io::kSetMe),
                                "put in the image that holds the software"});
    }
    if (const ProcessResult kubectl = checked.runner({"kubectl", "version", "--client"}, kQuery);
        !kubectl.ok()) {
      checked.fault("command line", "--scheduler", "there is no kubectl here: " + printable(kubectl.error),
                    "install kubectl and point it at the cluster");
    }
  }

  std::vector<std::vector<std::string>> commands(const Order& order) const override {
    return {kubectl_command(order)};
  }

  SubmitResult submit(const Order& order, const std::optional<Submission>& before, int,
                      const Runner& runner) const override {
    if (before) return {*before, true};
    SubmitResult result;
    const ProcessResult ran = runner(kubectl_command(order), {});
    if (!ran.ok()) throw SchedulerRefused("kubectl: " + ran.error);
    result.submission.scheduler = name();
    std::string last;  // of a list the job comes last
    for (std::size_t at = 0; at < ran.output.size();) {
      const std::size_t end = std::min(ran.output.find('\n', at), ran.output.size());
      if (end > at) last = ran.output.substr(at, end - at);
      at = end + 1;
    }
    if (!is_plain_id(last)) throw SchedulerRefused("kubectl: no name in \"" + ran.output + "\"");
    result.submission.jobs.push_back({"train", last});
    keep(order.folder, result.submission);
    return result;
  }
};

}  // namespace

const Scheduler& eks() {
  static const Eks scheduler;
  return scheduler;
}

}  // namespace trnplan::launch
