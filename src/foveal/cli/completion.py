"""``foveal completion``: print the completion script of a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from foveal.cli.options import Command


@click.command("completion", cls=Command, examples=('eval "$(foveal completion bash)"',))
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
    """Print the script that completes commands, options, measures and tasks in a shell.

    Put it into the start-up file of the shell: the example into ~/.bashrc, the same with zsh into
    ~/.zshrc, and 'foveal completion fish | source' into ~/.config/fish/config.fish.
    """
    from foveal.cli import COMPLETE, cli

    completion = get_completion_class(shell)
    assert completion is not None  # click knows the shells above
    click.echo(completion(cli, {}, "foveal", COMPLETE).source())
