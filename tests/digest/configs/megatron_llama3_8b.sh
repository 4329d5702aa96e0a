NNODES=4
CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun --nproc_per_node 8 --nnodes $NNODES pretrain_gpt.py \
  --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention --num-query-groups 8 \
  --swiglu --normalization RMSNorm --seq-length 8192 --max-position-embeddings 8192 --position-embedding-type rope --rotary-base 500000 \
  --vocab-size 128256 --untie-embeddings-and-output-weights --disable-bias-linear --bf16 --micro-batch-size 1 --global-batch-size 128 \
  --tensor-model-parallel-size 2 --sequence-parallel --use-distributed-optimizer --lr 3e-4 --train-iters 1000
