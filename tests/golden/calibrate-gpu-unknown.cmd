calibrate {SRC}/catalog/gpu-runs.csv --gpu b300
