calibrate {SRC}/tests/calibrate/fixtures/machine/products.csv --instance p5.48xlarge --format json
