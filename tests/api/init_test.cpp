// The job that init writes: it reads back as stated, it lists its assumptions, and a wrong answer writes
// nothing.
#include "api/init.h"

#include <filesystem>
#include <map>

#include "api/resolve.h"
#include "io/input/nvidia_smi.h"
#include "tests/folder.h"
#include "text/document.h"

using namespace trnplan;

namespace {

const std::string kFixtures = TRNPLAN_SOURCE_DIR "/tests/io/fixtures/";

/// What plan remarks on the job but for its software, of which init says nothing.
std::vector<std::string> remarks_on(const std::string& job, models::Job& read) {
  Remarks remarks;
  api::Asked asked;
  asked.job.job = job;
  read = api::resolve(asked, {}, remarks).job();
  std::vector<std::string> said;
  for (const Remark& r : remarks.all()) {
    std::string text = std::get<std::string>(r);
    if (take_id(text) != "stack") said.push_back(text);
  }
  return said;
}

std::string eight_gpus(const std::string& name) {
  std::string text;
  for (int i = 0; i < 8; ++i)
    text += "GPU " + std::to_string(i) + ": " + name + " (UUID: GPU-" + std::to_string(i) + ")\n";
  return text;
}

}  // namespace

TEST_CASE("options alone make a job that plan reads without a remark", "[api]") {
  const TestFolder folder;
  api::InitRequest request;
  request.model = "llama3-8b";
  request.nodes = "4";
  request.steps = "2000";
  request.objective = "cost";
  request.out = folder / "job.yaml";
  const std::string text = api::init(request).text;
  CHECK(text == read_text(request.out));
  CHECK(text.find("instance: trn1.32xlarge     # assumed") != std::string::npos);
  models::Job job;
  CHECK(remarks_on(request.out, job).empty());
  CHECK(job.cluster.nodes == 4);
  CHECK(job.training.sequence == 8192);
  CHECK(job.training.global_batch == 1024);
  CHECK(job.training.tokens == 2000.0 * 1024 * 8192);
  CHECK(job.objective == models::Objective::cost);

  CHECK_THROWS_AS(api::init(request), InputError);  // the file is there
  request.force = true;
  request.nodes = "8";
  CHECK(api::init(request).text.find("nodes: 8") != std::string::npos);
}

TEST_CASE("files tell of the machine and the model by their content", "[api]") {
  const TestFolder folder;
  folder.write("in/config.json", read_text(TRNPLAN_SOURCE_DIR "/tests/golden/tiny-config.json"));
  struct Case {
    std::string file, instance, nodes;
  };
  const Case cases[] = {
      {kFixtures + "cluster/hyperpod.json", "trn1.32xlarge", "16"},
      {kFixtures + "cluster/parallelcluster.yaml", "trn1.32xlarge", "16"},
      {kFixtures + "cluster/sinfo-nodes.txt", "trn1.32xlarge", "3"},
      {folder.write("e",
                    "NODELIST STATE TIMELIMIT AVAIL_FEATURES GRES\nn[1-3] idle 1:00:00 p5.48xlarge "
                    "gpu:h100:8(S:0-1)\n"),
       "p5.48xlarge", "3"},
      {kFixtures + "neuron-ls-trn1.32xlarge.txt", "trn1.32xlarge", "1"},
      {kFixtures + "neuron-ls-trn1.32xlarge.json", "trn1.32xlarge", "1"},
      {folder.write("a", eight_gpus("NVIDIA H100 80GB HBM3")), "p5.48xlarge", "1"},
      {folder.write("b", eight_gpus("NVIDIA A100-SXM4-40GB")), "p4d.24xlarge", "1"},
      {folder.write("c", eight_gpus("NVIDIA H200")), "p5e.48xlarge", "1"},
      {folder.write("d", eight_gpus("NVIDIA B300 SXM6 AC")), "p6-b300.48xlarge", "1"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.file);
    api::InitRequest request;
    request.files = {c.file, folder / "in/config.json"};
    request.sequence = "512";
    request.global_batch = "64";
    request.out = folder / "job.yaml";
    request.force = true;
    CHECK(api::init(request).text.find("in/config.json") != std::string::npos);
    models::Job job;
    for (const std::string& said : remarks_on(request.out, job))
      CHECK(said.find("assumed") == std::string::npos);
    CHECK(job.cluster.instance.name == c.instance);
    CHECK(std::to_string(job.cluster.nodes) == c.nodes);
  }
}

TEST_CASE("several types and numbers of nodes are lists of the job", "[api]") {
  const TestFolder folder;
  api::InitRequest request;
  request.model = "llama3-8b";
  request.instance = "trn1.32xlarge,trn1n.32xlarge";
  request.out = folder / "job.yaml";
  request.ask = [](const std::string&, const std::string& usual) { return usual == "1" ? "4,8,12" : ""; };
  CHECK(api::init(request).text.find("nodes: [4, 8, 12]") != std::string::npos);
  models::Job job;
  CHECK(remarks_on(request.out, job).empty());
  CHECK(job.space.nodes == std::vector<int>{4, 8, 12});
  CHECK(job.space.instances.size() == 2);
}

TEST_CASE("commas separate answers, and are letters of a model's path", "[api]") {
  const TestFolder folder;
  api::InitRequest request;
  request.model =
      folder.write("my,dir/config.json", read_text(TRNPLAN_SOURCE_DIR "/tests/golden/tiny-config.json"));
  request.out = folder / "job.yaml";
  request.ask = [](const std::string& question, const std::string&) {
    return question.starts_with("Sequence") ? "512,64" : "";
  };
  const std::string text = api::init(request).text;
  CHECK(text.find("sequence: 512") != std::string::npos);
  CHECK(text.find("global_batch: 64") != std::string::npos);
  models::Job job;
  CHECK(remarks_on(request.out, job).empty());
}

TEST_CASE("what is read is not written over, and a stated type needs no known GPU", "[api]") {
  const TestFolder folder;
  api::InitRequest request;
  request.files = {
      folder.write("config.json", read_text(TRNPLAN_SOURCE_DIR "/tests/golden/tiny-config.json")),
      folder.write("gpus", "GPU 0: NVIDIA T4 (UUID: GPU-1)\n")};
  request.sequence = "512";
  request.global_batch = "64";
  request.instance = "p5.48xlarge";
  request.out = request.files.front();
  request.force = true;
  CHECK_THROWS_AS(api::init(request), InputError);
  request.out = folder / "job.yaml";
  CHECK(api::init(request).text.find("instance: p5.48xlarge") != std::string::npos);
}

TEST_CASE("a person is asked what nothing has said, with what is taken for no answer", "[api]") {
  const TestFolder folder;
  std::map<std::string, std::string> answers = {
      {"Model", "llama2-7b"}, {"Machine", "p5.48xlarge 2"}, {"Tokens", "100 steps"}};
  std::string asked;
  api::InitRequest request;
  request.out = folder / "job.yaml";
  request.ask = [&](const std::string& question, const std::string& usual) {
    const std::string word = question.substr(0, question.find(' '));
    asked += word + "[" + usual + "] ";
    return answers[word];
  };
  static_cast<void>(api::init(request));
  CHECK(asked == "Model[] Machine[trn1.32xlarge 1] Sequence[4096 1024] Tokens[] What[step_time] ");
  models::Job job;
  CHECK(remarks_on(request.out, job).empty());
  CHECK(job.cluster.instance.name == "p5.48xlarge");
  CHECK(job.cluster.nodes == 2);
  CHECK(job.training.tokens == 100.0 * 4096 * 1024);
}

TEST_CASE("a wrong answer is refused, and nothing is written", "[api]") {
  const TestFolder folder;
  const auto refuse = [&](const std::function<void(api::InitRequest&)>& change) {
    api::InitRequest request;
    request.model = "llama3-8b";
    request.out = folder / "job.yaml";
    change(request);
    CHECK_THROWS_AS(api::init(request), InputError);
    CHECK_FALSE(std::filesystem::exists(request.out));
  };
  refuse([](auto& r) { r.model = ""; });
  refuse([](auto& r) { r.model = "llama9"; });
  refuse([](auto& r) { r.model = "mistral-7b"; });  // nobody published its sequence and batch
  refuse([](auto& r) { r.instance = "trn9"; });
  refuse([](auto& r) { r.nodes = "-1"; });
  refuse([](auto& r) { r.steps = "many"; });
  refuse([](auto& r) { r.steps = "10", r.tokens = "15T"; });
  refuse([](auto& r) { r.objective = "fame"; });
  refuse([](auto& r) { r.global_batch = "8, tokens: 3"; });
  refuse([&](auto& r) { r.files = {folder.write("x", "GPU 0: NVIDIA T4 (UUID: GPU-1)\n")}; });
  refuse([&](auto& r) { r.files = {folder.write("x", "GPU 0: NVIDIA H200 (UUID: GPU-1)\nhello\n")}; });
  refuse([&](auto& r) { r.files = {folder.write("x", "name, memory.total [MiB]\n")}; });
  refuse([&](auto& r) { r.files = {folder.write("x", "hello: world\n")}; });
  refuse([&](auto& r) { r.files = {folder / "not-there"}; });
}

TEST_CASE("a listing of GPUs is of one kind", "[api]") {
  const io::GpuListing table = io::read_nvidia_smi(
      "name, memory.total [MiB]\nNVIDIA B200, 183359 MiB\nNVIDIA B200, 183359 MiB\n", "f");
  CHECK(table.count == 2);
  CHECK(table.memory.value == 183359.0 * 1024 * 1024);
  CHECK(io::read_nvidia_smi(
            "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)\n  MIG 1g.5gb Device 0: (UUID: MIG-1)\n", "f")
            .memory.value == 40e9);
  CHECK_THROWS_AS(io::read_nvidia_smi("GPU 0: NVIDIA A (UUID: x)\nGPU 1: NVIDIA B (UUID: y)\n", "f"),
                  InputError);
}
