"""The command line: ``python -m delayhub.cli``."""
