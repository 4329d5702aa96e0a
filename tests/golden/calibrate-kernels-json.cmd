calibrate {SRC}/tests/calibrate/fixtures/kernels/gemm.json --kernel {SRC}/tests/calibrate/fixtures/kernels/gemm.json=matmul,m=4096,k=4096,n=4096,dtype=bf16 --no-fit --format json
