"""What proves the engine from outside: a simulator, a model, mutants. Nothing of the product imports it."""
