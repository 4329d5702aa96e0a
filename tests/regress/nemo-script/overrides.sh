torchrun --nnodes 2 megatron_gpt_pretraining.py ++model.num_layers=32 \
  model.global_batch_size=256 model.layernorm_epsilon=1e-5 trainer.max_steps=5
