# Stands in for the script of a NxDT clone; the stand-in torchrun does not run it.
