"""``delayhub completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Write the script that completes commands, options, profiles and biz types in SHELL.

    \b
        bash:  eval "$(delayhub completion bash)"      in ~/.bashrc
        zsh:   eval "$(delayhub completion zsh)"       in ~/.zshrc, after compinit
        fish:  delayhub completion fish > ~/.config/fish/completions/delayhub.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "delayhub", "_DELAYHUB_COMPLETE").source())
