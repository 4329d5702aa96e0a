calibrate {SRC}/tests/calibrate/fixtures/machine/products.csv {SRC}/tests/calibrate/fixtures/machine/attention.csv {SRC}/tests/calibrate/fixtures/machine/all_reduce.txt --instance p5.48xlarge
