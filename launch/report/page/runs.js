// The pages of whatif, validate and watch.
