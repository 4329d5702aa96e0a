torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 1000000 --hidden-size 4096 --num-attention-heads 32 \
  --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --vocab-size 32000 --bf16 
