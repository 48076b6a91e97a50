"""The parts of the benchmark of one GPU; each measures one thing after another."""
