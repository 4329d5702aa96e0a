#!/usr/bin/env python3
"""Writes table.json: what each training script takes, for tests of what trnplan emits.

    make_table.py FACTS.json > table.json

FACTS.json is a reading of the published scripts, one entry per script with its repository and commit ("source"), its flags
or keys, its environment, what it asserts, the line it prints of a step and the values of its shipped recipes. Only
table.json is kept here: the emitter never reads it, so that a name or a type that the emitter has wrong is not wrong in
the same way here.
"""

import json
import re
import sys

SCRIPTS = ("nxd-tp-zero1", "nxd-pp", "nemo-megatron", "bert", "megatron-lm", "torchtitan-toml")


def flag(entry):
    """Type, then what more there is to say: a default, choices, or that it must be given."""
    kept = {"type": entry["type"]}
    for key in ("default", "choices", "required"):
        if entry.get(key) is not None:
            kept[key] = entry[key]
    return kept


# A default that is whole or missing, of a key that takes a fraction or a number.
TYPED = {
    "model.hidden_dropout": "float",
    "model.attention_dropout": "float",
    "model.ffn_dropout": "float",
    "model.rotary_percentage": "float",
    "trainer.limit_val_batches": "float",
    "trainer.limit_test_batches": "float",
    "model.position_freq_base": "float",
    "model.num_kv_heads": "int",
    "model.sliding_window_size": "int",
    "model.max_position_embeddings": "int",
    "model.data.seq_length": "int",
    "trainer.num_sanity_val_steps": "int",
    "trainer.check_val_every_n_epoch": "int",
    "exp_manager.checkpoint_callback_params.every_n_train_steps": "int",
    "exp_manager.checkpoint_callback_params.train_time_interval": "int",
}
# Keys that a shipped command line sets to null although the YAML holds a number.
NULLABLE = ("trainer.max_epochs",)
# facts["required"] of the Hydra script, one key each; alternatives with a bar.
REQUIRED = (
    ["model.tokenizer.type|model.tokenizer.vocab_file", "model.data.data_prefix"]
    + ["trainer.devices", "trainer.num_nodes", "trainer.max_steps"]
    + ["model.optim." + key for key in ("name", "lr", "betas", "weight_decay", "capturable")]
    + ["model.optim.sched." + key for key in ("name", "warmup_steps", "constant_steps", "min_lr")]
    + ["model.save_xser", "model.load_xser"]
)


def kind(value):
    """The type of a key of a YAML by its default."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float):
        return "float"
    if isinstance(value, list):
        return "list"
    if value is None:
        return "any"
    if value.startswith("${"):
        return "any"  # an interpolation: the type of what it names
    try:
        float(value)
        return "float"  # written 1e-5, which YAML 1.1 takes for a text and OmegaConf for a number
    except ValueError:
        return "str"


def keys(settings):
    return {key: {"type": TYPED.get(key) or kind(value), "default": value} for key, value in settings.items()}


def config_keys(configs):
    """The keys of every base config: those of the first, with what a later one changes or lacks."""
    base = configs["megatron_llama_config"]["all_keys"]
    all_configs = {"megatron_llama_config": keys(base)}
    for name, entry in configs.items():
        if "all_keys" not in entry:
            settings = {key: value for key, value in base.items() if key not in entry["absent"]}
            settings.update(entry["changed"])
            all_configs[name] = keys(settings)
    nulls = {key for settings in all_configs.values() for key, entry in settings.items() if entry["default"] is None}
    for settings in all_configs.values():
        for key, entry in settings.items():
            if key in nulls or key in NULLABLE:
                entry["null"] = True
    return all_configs


def plus_keys(facts):
    """Keys that no base config names, which therefore need a plus; with the defaults of the code."""
    plus = {}
    for key, default in facts["keys_needing_plus"].items():
        word = "None" if default.startswith("(") else default.split()[0]
        plus.update(keys({key: {"True": True, "False": False, "None": None}.get(word, word)}))
    schema = {"exp_manager." + k: v for k, v in facts["exp_manager_schema_defaults"].items()}
    schema.update({"exp_manager.checkpoint_callback_params." + k: v for k, v in facts["checkpoint_callback_schema_defaults"].items()})
    for key, value in keys(schema).items():
        plus.setdefault(key, value)
    return plus


def environment(facts):
    """One entry a variable and value; notes "also A, B with the same value" and "0 for MODE" make more of them."""
    rows = []
    for variable in facts["env"]:
        if "*" in variable["name"] or variable["purpose"].startswith(("only fault", "which ranks torchrun")):
            continue  # a family of switches, one of a part that no recipe turns on, one of run_train.sh's own
        names = variable["name"].split(" / ")
        also = re.match(r"also (.*) with the same value", variable["purpose"])
        names += also.group(1).split(", ") if also else []
        rows += [{"name": name, "value": variable["value"], "when": variable["when"]} for name in names]
        other = re.match(r"([0-9]+) for (\w+)$", variable["purpose"])
        if other:
            rows.append({"name": names[0], "value": other.group(1), "when": other.group(2)})
    return rows


# What argparse and dataclasses call their types, in the words of this table.
PLAIN_TYPES = {"float | int": "float", "tuple_type": "str", "moe_freq_type": "str", "no_rope_freq_type": "str",
               "AttnBackend": "str", "signal.Signals": "str", "list[str] | str": "list"}


def plain_flag(entry):
    """A flag whose type is written as Python has it: "Optional[int]", "str | None", "list[int]" with nargs."""
    kind = entry["type"].removeprefix("Optional[").removesuffix("]") if entry["type"].startswith("Optional[") else entry["type"]
    kind = PLAIN_TYPES.get(kind, kind).removesuffix(" | None")
    many = re.match(r"(?:[Ll]ist)\[(.*)\]?$", kind)
    kind = {"choice": "str"}.get(kind, kind)
    if many and "nargs" in entry:
        kind = many.group(1).rstrip("]")
    elif many:
        kind = "list"
    kept = {"type": kind}
    # A switch is off where it is not given, whatever the setting behind it is called.
    default = False if kind == "switch" else entry.get("default")
    if default is not None:
        kept["default"] = default
    for key in ("choices", "nargs"):
        if entry.get(key) is not None:
            kept[key] = entry[key]
    return kept


def plain_flags(facts):
    """Flags of a script that declares them in groups, or of a config with keys that tyro also takes as --section.key."""
    if "flag_groups" in facts:
        return {f["name"]: plain_flag(f) for group in facts["flag_groups"].values() for f in group}
    return {f"--{section}.{f['name']}": plain_flag(f) for section, keys_of in facts["sections"].items() for f in keys_of}


# Of pretrain_gpt.py's own words on what must be given; alternatives with a bar.
MEGATRON_REQUIRED = (
    ["--num-layers", "--hidden-size", "--num-attention-heads", "--max-position-embeddings", "--seq-length"]
    + ["--micro-batch-size", "--train-iters|--train-samples", "--lr", "--data-path|--mock-data", "--tokenizer-type"]
)
# torchrun's own port, which multinode_trainer.slurm of TorchTitan names too.
TORCHRUN_PORT = 29500


def port(facts):
    """Where its recipes let the ranks meet."""
    if "flag_groups" in facts or "sections" in facts:
        return TORCHRUN_PORT
    written = facts.get("master_port") or facts["recipes"].get("all", {}).get("master_port")
    return written or int(re.search(r"--master_port (\d+)", facts["shipped_overrides_llama"]["torchrun"]).group(1))


def entry_point(facts):
    entry = {key: facts[key] for key in ("source", "workdir", "script", "pythonpath") if key in facts}
    entry["port"] = port(facts)
    if "flag_groups" in facts or "sections" in facts:
        entry["workdir"] = "."
        entry["script"] = facts.get("script", "torchtitan.train")
        entry["flags"] = plain_flags(facts)
        if "flag_groups" in facts:
            entry["required"] = MEGATRON_REQUIRED
    elif "flags" in facts:
        entry["flags"] = {f["name"]: flag(f) for f in facts["flags"]}
    else:
        entry["configs"] = config_keys(facts["configs"])
        entry["plus"] = plus_keys(facts)
        entry["required"] = REQUIRED
    entry["environment"] = environment(facts)
    entry["assertions"] = facts["assertions"]
    entry["ignored"] = sorted(facts.get("ignored_flags", {}))
    entry["line"] = facts["log_regex"]
    if "compile" in facts:
        entry["compile"] = facts["compile"]
    entry["recipes"] = facts["recipes"]
    return entry


def lines(value, indent, depth):
    """JSON with one line a flag, key, variable or assertion."""
    pad = " " * indent
    if depth == 0 or not isinstance(value, (dict, list)) or not value:
        return json.dumps(value)
    if isinstance(value, dict):
        rows = [f"{pad} {json.dumps(k)}: {lines(v, indent + 1, depth - 1)}" for k, v in value.items()]
        return "{\n" + ",\n".join(rows) + "\n" + pad + "}"
    return "[\n" + ",\n".join(f"{pad} {lines(v, indent + 1, depth - 1)}" for v in value) + "\n" + pad + "]"


def main():
    if len(sys.argv) != 2:
        sys.exit("make_table.py FACTS.json > table.json")
    with open(sys.argv[1], encoding="utf-8") as file:
        facts = json.load(file)["targets"]
    table = {name: entry_point(facts[name]) for name in SCRIPTS}
    depths = {"flags": 1, "configs": 2, "plus": 1, "environment": 1, "assertions": 1, "recipes": 1}
    rows = []
    for name, entry in table.items():
        parts = [f"  {json.dumps(k)}: {lines(v, 2, depths.get(k, 0))}" for k, v in entry.items()]
        rows.append(f" {json.dumps(name)}: {{\n" + ",\n".join(parts) + "\n }")
    print("{\n" + ",\n".join(rows) + "\n}")


main()
