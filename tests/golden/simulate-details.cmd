simulate {SRC}/tests/golden/tiny.yaml --strategy tp=1,pp=2,mbs=1 --details
