# Placeholder for the script of an NxDT clone; the stand-in torchrun does not run it.
