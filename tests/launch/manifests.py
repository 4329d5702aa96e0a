"""Checks manifests strictly against the models of the Kubernetes client of Debian 12 (python3-kubernetes 22.6, whose
schema is that of Kubernetes 1.22): every key is known, every value of its type, what is required is there.

    manifests.py FILE.yaml...

PyTorchJob and MPIJob are no kinds of Kubernetes: their own fields are checked by tests/launch/folder/manifests_test.cpp,
here the pods in them and their metadata.
"""

import re
import sys

import kubernetes.client as client
import yaml

KINDS = {
    ("storage.k8s.io/v1", "StorageClass"): "V1StorageClass",
    ("v1", "PersistentVolumeClaim"): "V1PersistentVolumeClaim",
    ("v1", "Pod"): "V1Pod",
}
REPLICAS = {
    ("kubeflow.org/v1", "PyTorchJob"): "pytorchReplicaSpecs",
    ("kubeflow.org/v2beta1", "MPIJob"): "mpiReplicaSpecs",
}
# A quantity is a string or a number.
PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float), "object": object}


class Checker:
    def __init__(self, file):
        self.file, self.faults, self.fields = file, [], 0

    def fault(self, path, text):
        self.faults.append(f"{self.file}: {path}: {text}")

    def value(self, value, kind, path):
        self.fields += 1
        if match := re.fullmatch(r"list\[(.*)\]", kind):
            if not isinstance(value, list):
                return self.fault(path, "is no list")
            for i, item in enumerate(value):
                self.value(item, match[1], f"{path}[{i}]")
        elif match := re.fullmatch(r"dict\(str, (.*)\)", kind):
            if not isinstance(value, dict):
                return self.fault(path, "is no map")
            quantities = path.endswith((".requests", ".limits"))
            for key, item in value.items():
                if not (quantities and isinstance(item, int)):
                    self.value(item, match[1], f"{path}.{key}")
        elif kind in PLAIN:
            if not isinstance(value, PLAIN[kind]) or (kind != "bool" and isinstance(value, bool)):
                self.fault(path, f"{value!r} is no {kind}")
        elif kind == "datetime":
            pass
        else:
            self.model(value, kind, path)

    def model(self, value, kind, path):
        if not isinstance(value, dict):
            return self.fault(path, f"is no {kind}")
        model = getattr(client, kind)
        names = {json: name for name, json in model.attribute_map.items()}
        given = {}
        for key, item in value.items():
            if key not in names:
                self.fault(path, f"{key} is no key of {kind}")
                continue
            self.value(item, model.openapi_types[names[key]], f"{path}.{key}")
            given[names[key]] = item
        try:
            model(**given)  # it refuses what lacks a required field
        except ValueError as error:
            self.fault(path, str(error))

    def document(self, root):
        kind = (root.get("apiVersion"), root.get("kind"))
        if kind == ("v1", "List"):
            for item in root["items"]:
                self.document(item)
        elif kind in KINDS:
            self.model(root, KINDS[kind], kind[1])
        elif kind in REPLICAS:
            self.model(root["metadata"], "V1ObjectMeta", "metadata")
            for role, replica in root["spec"][REPLICAS[kind]].items():
                # A pod must have containers; the operator adds restartPolicy and the rest.
                self.model(replica["template"], "V1PodTemplateSpec", f"{kind[1]}.{role}")
        else:
            self.fault("kind", f"{kind} is not known here")


def faults_of(file, text):
    checker = Checker(file)
    for root in yaml.safe_load_all(text):
        checker.document(root)
    return checker


def main():
    failed = False
    for file in sys.argv[1:]:
        with open(file, encoding="utf-8") as stream:
            text = stream.read()
        checker = faults_of(file, text)
        for fault in checker.faults:
            print(fault)
        print(f"{file}: {checker.fields} fields")
        failed = failed or bool(checker.faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
