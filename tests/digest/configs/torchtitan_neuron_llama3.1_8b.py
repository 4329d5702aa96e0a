"""Needs AWS's fork torchtitan-neuron 0.2.2+neuron.1 (beta) with Neuron SDK 2.33 and PyTorch 2.14.

Plan: TP 4 x PP 1 x DP 64, micro-batch 1, SP, ZeRO-3, recompute CoreAttention, fsdp

python -m torchtitan.train --module trnplan_config --config trnplan, with this folder on PYTHONPATH.
"""

import importlib
import sys

# Asked for as NAME.config_registry this module is found too.
__path__ = []
sys.modules[__name__ + ".config_registry"] = sys.modules[__name__]


def shipped(function):
    """What TorchTitan ships for this size of model, which the plan's settings are put into."""
    for name in ("torchtitan_neuron.models.llama3", "torchtitan.models.llama3"):
        for place in (name + ".config_registry", name):
            try:
                found = importlib.import_module(place)
            except ModuleNotFoundError:
                continue
            if hasattr(found, function):
                return getattr(found, function)()
    raise SystemExit(f"trnplan_config.py: this TorchTitan ships no {function}")


def put(part, **settings):
    """A setting that is not there is no setting of this revision, and must not get lost."""
    for name, value in settings.items():
        if not hasattr(part, name):
            raise SystemExit(f"trnplan_config.py: this TorchTitan has no {type(part).__name__}.{name}")
        setattr(part, name, value)


def trnplan():
    config = shipped("llama3_8b")
    put(
        config.training,
        max_norm=1,
        steps=1000,
        dtype="float32",
        mixed_precision_param="bfloat16",
        mixed_precision_reduce="float32",
    )
    if hasattr(config.training, "max_context_length"):
        put(
            config.training,
            max_context_length=8192,
            num_tokens_per_microbatch_per_dp_rank=8192,
            num_tokens_per_train_step=8388608,
            disable_cuda_graphs=False,
        )
        put(config.parallelism, num_pp_microbatches=1)
    else:
        put(config.training, seq_len=8192, local_batch_size=1, global_batch_size=1024)
        put(config.parallelism, pipeline_parallel_microbatch_size=1)
    put(
        config.parallelism,
        data_parallel_replicate_degree=1,
        data_parallel_shard_degree=64,
        fsdp_reshard_after_forward="default",
        tensor_parallel_degree=4,
        context_parallel_degree=1,
        pipeline_parallel_degree=1,
    )
    config.activation_checkpoint = None
    for group in config.optimizer.param_groups:
        group.optimizer_kwargs.update(
            lr=0.0003, betas=(0.9, 0.95), weight_decay=0.1
        )
    put(
        config.lr_scheduler,
        warmup_steps=200,
        total_steps=1000,
        decay_type="linear",
        min_lr_factor=0,
    )
    put(
        config.checkpoint,
        enable=True,
        interval=500,
        keep_latest_k=10,
        last_save_model_only=False,
    )
    put(
        config.metrics,
        log_freq=10,
        enable_tensorboard=True,
        disable_color_printing=True,
    )
    put(
        config.compile,
        enable=True,
        backend="neuron",
    )
    # Graphs are compiled in the first steps, which takes longer than the usual limits. Ours.
    put(
        config.comm,
        init_timeout_seconds=7200,
        train_timeout_seconds=7200,
    )
    return config
