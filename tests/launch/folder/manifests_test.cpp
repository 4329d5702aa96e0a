// Kubernetes manifests compared with the definitions of their kinds, for the fields and names in use.
// PyTorchJob and its variables: kubeflow/trainer@3a3a1da (release 1.9) pkg/apis/kubeflow.org/v1; MPIJob
// v2beta1: aws-neuron/neuronx-nemo-megatron@f4743ce k8s/example_manifests/mpi_train_llama7b.yaml;
// StorageClass and claim: aws-neuron/aws-neuron-eks-samples@cecff9e dp_bert_hf_pretrain.
#include <set>

#include "io/input/cluster_files.h"
#include "io/output/emit_kubernetes.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"
#include "text/document.h"

using namespace trnplan;

namespace {

constexpr const char* kModes[] = {"compile", "train"};

io::ClusterSpec spec_of(int nodes, const char* instance = "trn1.32xlarge") {
  return {"trnplan-llama3-70b", {test_catalog().instance(instance), nodes}, "note", 4800};
}

Node manifest(const io::KubernetesFlavour& flavour, int nodes, const char* mode,
              const char* instance = "trn1.32xlarge") {
  return parse_document(flavour.job(spec_of(nodes, instance), "/shared/x", mode),
                        manifest_name(flavour, mode));
}

std::string scalar(const Node& root, const char* path) {
  const Node* node = root.at_path(path);
  return node == nullptr ? std::string("(missing)") : node->scalar;
}

const Node& at(const Node& root, const char* path) {
  const Node* node = root.at_path(path);
  INFO(path);
  REQUIRE(node != nullptr);
  return *node;
}

std::set<std::string> keys(const Node& node) {
  std::set<std::string> names;
  for (const Node::Entry& e : node.entries) names.insert(e.key);
  return names;
}

/// Every key is one of `known`.
void only(const Node& node, const std::set<std::string>& known) {
  for (const std::string& key : keys(node)) {
    INFO(key);
    CHECK(known.count(key) == 1);
  }
}

/// A name of DNS-1123, at most 63 letters.
void plain(const std::string& name) {
  INFO(name);
  CHECK(name.size() <= 63);
  CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos);
}

/// PodTemplateSpec: what we use of it.
void check_pods(const Node& replica, const std::string& name, bool devices) {
  only(replica, {"replicas", "restartPolicy", "template"});
  const Node& pods = at(replica, "template");
  only(pods, {"metadata", "spec"});
  const Node& spec = at(pods, "spec");
  only(spec, {"nodeSelector", "containers", "volumes"});
  const Node& containers = at(spec, "containers");
  REQUIRE(containers.items.size() == 1);
  const Node& container = containers.items[0];
  only(container, {"name", "image", "command", "env", "resources", "volumeMounts"});
  CHECK(scalar(container, "name") == name);
  CHECK(container.find("image") != nullptr);
  std::set<std::string> volumes;
  for (const Node& volume : at(spec, "volumes").items) volumes.insert(scalar(volume, "name"));
  std::set<std::string> mounted;
  for (const Node& mount : at(container, "volumeMounts").items) {
    mounted.insert(scalar(mount, "name"));
    CHECK(scalar(mount, "mountPath")[0] == '/');
  }
  CHECK(volumes == mounted);  // every mount is of a volume, and every volume is mounted
  CHECK(scalar(at(spec, "volumes").items[0], "persistentVolumeClaim.claimName") == "fsx-claim");
  CHECK((container.find("resources") != nullptr) == devices);
  if (!devices) return;
  // Extended resources: requests and limits must be equal.
  for (const char* kind : {"requests", "limits"}) {
    const Node& amounts = at(at(container, "resources"), kind);
    CHECK(amounts.find("aws.amazon.com/neuron")->scalar == "16");
    CHECK(amounts.find("vpc.amazonaws.com/efa")->scalar == "8");
  }
}

std::string words(const Node& replica) {
  std::string text;
  for (const Node& word : at(replica, "template.spec.containers").items[0].find("command")->items)
    text += word.scalar + ' ';
  return text;
}

}  // namespace

TEST_CASE("every flavour compiles and trains in jobs of their own", "[launch]") {
  std::set<std::string> names;
  for (const io::KubernetesFlavour& flavour : io::kubernetes_flavours()) {
    for (const char* mode : kModes) {
      const Node job = manifest(flavour, 16, mode);
      only(job, {"apiVersion", "kind", "metadata", "spec"});
      plain(scalar(job, "metadata.name"));
      CHECK(scalar(job, "metadata.name") == std::string("trnplan-llama3-70b-") + mode);
      names.insert(manifest_name(flavour, mode));
      const std::string text = flavour.job(spec_of(16), "/shared/x", mode);
      CHECK(contains(text, "# Fits " + std::string(flavour.fits)));
      CHECK(contains(text, "--cluster-flavour " + std::string(flavour.name)));
      CHECK(contains(text, "trnplan-job: trnplan-llama3-70b-" + std::string(mode)));
    }
  }
  CHECK(names.size() == 6);
}

TEST_CASE("an MPIJob has a launcher without devices and a worker on every node", "[launch]") {
  for (const char* mode : kModes) {
    const bool trains = std::string(mode) == "train";
    const Node job = manifest(*io::find_flavour("eks-mpijob"), 16, mode);
    CHECK(scalar(job, "apiVersion") == "kubeflow.org/v2beta1");
    CHECK(scalar(job, "kind") == "MPIJob");
    only(at(job, "spec"), {"slotsPerWorker", "runPolicy", "mpiReplicaSpecs"});  // mpiReplicaSpecs is required
    CHECK(scalar(job, "spec.slotsPerWorker") == "1");
    const Node& launcher = at(job, "spec.mpiReplicaSpecs.Launcher");
    const Node& worker = at(job, "spec.mpiReplicaSpecs.Worker");
    check_pods(launcher, "launcher", false);
    check_pods(worker, "worker", true);
    CHECK(scalar(launcher, "replicas") == "1");  // the operator refuses another number
    CHECK(scalar(worker, "replicas") == "16");
    CHECK(scalar(launcher, "restartPolicy") == (trains ? "OnFailure" : "Never"));  // the two that it takes
    CHECK(words(launcher) == std::string("bash /shared/x/mpi_launch.sh /shared/x ") + mode + ' ');
  }
}

TEST_CASE("a PyTorchJob of plain Kubeflow has a master and no rendezvous server", "[launch]") {
  for (const int nodes : {1, 2, 16}) {
    const Node job = manifest(*io::find_flavour("eks-pytorchjob"), nodes, "train");
    CHECK(scalar(job, "apiVersion") == "kubeflow.org/v1");
    CHECK(scalar(job, "kind") == "PyTorchJob");
    only(at(job, "spec"), {"runPolicy", "pytorchReplicaSpecs"});
    const Node& master = at(job, "spec.pytorchReplicaSpecs.Master");
    check_pods(master, "pytorch", true);  // the operator looks for a container of this name
    CHECK(scalar(master, "replicas") == "1");
    const Node* worker = job.at_path("spec.pytorchReplicaSpecs.Worker");
    CHECK((worker != nullptr) == (nodes > 1));
    if (worker == nullptr) continue;
    check_pods(*worker, "pytorch", true);
    CHECK(scalar(*worker, "replicas") == std::to_string(nodes - 1));
    CHECK(words(*worker) == "bash /shared/x/node_run.sh /shared/x train ");
  }
}

TEST_CASE("a PyTorchJob of HyperPod meets by an id of its own and resumes", "[launch]") {
  std::set<std::string> ids;
  for (const char* mode : kModes) {
    const Node job = manifest(*io::find_flavour("hyperpod-eks"), 16, mode);
    CHECK(scalar(job, "kind") == "PyTorchJob");
    const Node& elastic = at(job, "spec.elasticPolicy");
    only(elastic, {"rdzvBackend", "rdzvId", "minReplicas", "maxReplicas", "maxRestarts"});
    CHECK(scalar(elastic, "rdzvBackend") == "c10d");
    CHECK(scalar(elastic, "minReplicas") == "16");  // fewer would start with those that came first
    CHECK(scalar(elastic, "maxReplicas") == "16");
    CHECK(ids.insert(scalar(elastic, "rdzvId")).second);
    CHECK(at(job, "metadata")
              .find("annotations")
              ->find("sagemaker.amazonaws.com/enable-job-auto-resume")
              ->scalar == "true");
    const Node& worker = at(job, "spec.pytorchReplicaSpecs.Worker");
    check_pods(worker, "pytorch", true);
    CHECK(job.at_path("spec.pytorchReplicaSpecs.Master") == nullptr);
    const Node& selector = at(worker, "template.spec.nodeSelector");
    CHECK(selector.find("node.kubernetes.io/instance-type")->scalar == "ml.trn1.32xlarge");
    CHECK(selector.find("sagemaker.amazonaws.com/node-health-status")->scalar == "Schedulable");
  }
}

TEST_CASE("the claim is of the class in its file", "[launch]") {
  const Node list = parse_document(io::fsx_claim_yaml(spec_of(16)), "fsx-claim.yaml");
  REQUIRE(at(list, "items").items.size() == 2);
  const Node &made = at(list, "items").items[0], &claim = at(list, "items").items[1];
  CHECK(scalar(made, "apiVersion") == "storage.k8s.io/v1");
  CHECK(scalar(made, "provisioner") == "fsx.csi.aws.com");  // required
  only(made, {"apiVersion", "kind", "metadata", "provisioner", "parameters", "mountOptions"});
  only(at(made, "parameters"),
       {"subnetId", "securityGroupIds", "deploymentType", "perUnitStorageThroughput"});
  only(at(claim, "spec"), {"accessModes", "storageClassName", "resources"});
  CHECK(scalar(claim, "spec.storageClassName") == scalar(made, "metadata.name"));
  CHECK(scalar(claim, "metadata.name") == "fsx-claim");
  CHECK(at(claim, "spec.accessModes").items.at(0).scalar == "ReadWriteMany");
  CHECK(scalar(claim, "spec.resources.requests.storage") == "4800Gi");
}

TEST_CASE("a node without EFA asks for none", "[launch]") {
  for (const io::KubernetesFlavour& flavour : io::kubernetes_flavours()) {
    const std::string yaml = flavour.job(spec_of(1, "trn1.2xlarge"), "/shared/x", "train");
    CHECK(contains(yaml, "aws.amazon.com/neuron: 1\n"));
    CHECK_FALSE(contains(yaml, "vpc.amazonaws.com/efa"));
  }
}

TEST_CASE("a HyperPod file tells the flavour", "[launch]") {
  struct One : Files {
    explicit One(std::string given) : whole(std::move(given)) {}
    bool has(const std::filesystem::path&) const override { return true; }
    std::string text(const std::filesystem::path&) const override { return whole; }
    std::string whole;
  };
  const std::string eks = R"({"ClusterName": "c", "Orchestrator": {"Eks": {"ClusterArn": "arn:aws:eks:x"}}})";
  CHECK(io::kubernetes_flavour_of("c.json", One(eks)) == "hyperpod-eks");
  CHECK(io::find_flavour("hyperpod-eks") != nullptr);
  CHECK(contains(refusal_of([] {
                   static_cast<void>(io::kubernetes_flavour_of("c.json", One(R"({"ClusterName": "c"})")));
                 }),
                 "c.json: Orchestrator.Eks: is missing"));
}

TEST_CASE("manifests for GPUs ask for GPUs and their network", "[launch]") {
  for (const io::KubernetesFlavour& flavour : io::kubernetes_flavours()) {
    if (flavour.launcher) continue;  // no folder for GPUs has it
    INFO(flavour.name);
    const Node root = manifest(flavour, 2, "train", "p5.48xlarge");
    CHECK(scalar(root, "kind") == "PyTorchJob");
    const Node& pod = at(root, "spec.pytorchReplicaSpecs.Worker.template.spec");
    const Node& container = at(pod, "containers").items.at(0);
    for (const char* part : {"requests", "limits"}) {
      const Node& amounts = at(container, (std::string("resources.") + part).c_str());
      only(amounts, {"nvidia.com/gpu", "vpc.amazonaws.com/efa"});
      CHECK(amounts.find("nvidia.com/gpu")->scalar == "8");
      CHECK(amounts.find("vpc.amazonaws.com/efa")->scalar == "32");  // four of each GPU
    }
    const std::string machine = at(pod, "nodeSelector").find("node.kubernetes.io/instance-type")->scalar;
    CHECK((machine == "p5.48xlarge" || machine == "ml.p5.48xlarge"));
  }
}
