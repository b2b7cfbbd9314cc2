"""``foveal assess serve``: the assessment tool in the browser, on this machine or for many."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from ipaddress import ip_address
from typing import TYPE_CHECKING

import click

from foveal.errors import UsageError, escape_controls

if TYPE_CHECKING:
    from foveal.assess.accounts import LocalAccess
    from foveal.assess.store import Campaign

__all__ = ["ORGANISER", "command"]

ORGANISER = "organiser"
"""Who signs in on this machine to a campaign of several assessors, unless --as says otherwise."""
_PORT = 8642
_ANYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - names of every address, which are refused alone


@click.command(
    "serve",
    epilog="Examples: foveal assess serve my.campaign; foveal assess serve my.campaign --as ann; "
    "behind a proxy that speaks HTTPS and passes Host and X-Forwarded-For on: "
    "foveal assess serve my.campaign --trusted-host assess.example.org --https",
)
@click.argument("campaign", metavar="CAMPAIGN")
@click.option(
    "-C",
    "--collection",
    metavar="INDEX",
    help="The collection index [default: where it was, seen from the campaign].",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen at; any but this machine's own needs accounts with passwords.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=_PORT,
    show_default=True,
    help="Port to listen at; 0 takes a free one.",
)
@click.option(
    "--as",
    "who",
    metavar="NAME",
    help="Whom the link signs in [default: the only assessor, else the organiser].",
)
@click.option(
    "--trusted-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Name by which browsers reach the server, as in a proxy's address; repeatable. With it, "
    "people sign in with passwords at any address.",
)
@click.option("--https", is_flag=True, help="Browsers reach the server by HTTPS, through a proxy.")
@click.option(
    "--open/--no-open",
    "opens",
    default=None,
    help="Open the link in a browser [default: if this is a terminal].",
)
def command(
    campaign: str,
    collection: str | None,
    host: str,
    port: int,
    who: str | None,
    hosts: tuple[str, ...],
    *,
    https: bool,
    opens: bool | None,
) -> None:
    """Serve a campaign to assessors, until Ctrl-C.

    On this machine alone (the default) a link is printed that signs one person in, once. At any
    other address, or with --trusted-host, assessors and organisers sign in with the passwords
    that 'foveal assess user' sets. A damaged campaign is reported and not served. SIGTERM ends
    the server as Ctrl-C does.
    """
    try:
        from foveal.assess.server import COOKIE, LOOPBACK, create_app, listen, serve
    except ModuleNotFoundError as error:
        if error.name not in ("jinja2", "starlette", "uvicorn"):
            raise
        raise UsageError(
            f"serving needs {error.name}, which is not installed; install the extra: "
            'pip install -e ".[assess]" in the clone of Foveal'
        ) from None
    from foveal.assess.store import Campaign
    from foveal.collection import Collection

    local = _is_own(host) and not hosts
    if not local and (who is not None or opens):
        raise UsageError("--as and --open are for a server on this machine alone")
    if not local and not hosts and host in _ANYWHERE:
        raise UsageError(
            f"at {host or 'every address'} browsers may use any name; say which with --trusted-host"
        )
    index = None if collection is None else Collection.open(collection)
    with _stopped_by_sigterm(), Campaign.open(campaign, collection=index) as opened:
        opened.check_integrity()
        access = _local_access(opened, who) if local else None
        if access is None:
            _check_accounts(opened, campaign)
        try:
            listening = listen(host, port)
        except OSError as error:
            reason = error.strerror or error
            raise UsageError(
                f"cannot listen at {host}:{port}: {reason}; --port 0 takes a free port"
            ) from None
        with listening:
            port = listening.getsockname()[1]
            app = create_app(
                opened,
                local=access,
                hosts=(*LOOPBACK, host) if local else (hosts or (host,)),
                https=https,
                # Browsers send cookies to every port of a machine: two servers must differ.
                cookie=f"{COOKIE}_{port}" if local and port != _PORT else COOKIE,
            )
            _announce(access, f"[{host}]" if ":" in host else host, port, https=https, opens=opens)
            with contextlib.suppress(KeyboardInterrupt):
                serve(app, listening, behind_proxy=bool(hosts))
    click.echo("Stopped. Everything is saved.", err=True)


@contextlib.contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """Treat SIGTERM, as systemd and docker send it, like Ctrl-C, so that the campaign is closed."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _is_own(host: str) -> bool:
    """Return True for an address that only this machine can reach."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _local_access(campaign: Campaign, who: str | None) -> LocalAccess:
    """The link of a local server: an only assessor organises too, several have an organiser."""
    from foveal.assess.accounts import LocalAccess

    users = {user.name: user.role for user in campaign.users()}
    assessors = [name for name, role in users.items() if role == "assessor"]
    if who is None:
        organisers = [name for name, role in users.items() if role == "organiser"]
        who = assessors[0] if len(assessors) == 1 else (organisers or [ORGANISER])[0]
        if who not in users:
            campaign.add_user(who, "organiser")
            users[who] = "organiser"
    if who not in users:
        known = ", ".join(users) or "nobody"
        raise UsageError(f"--as {who}: nobody in the campaign has that name, only {known}")
    return LocalAccess(who, organiser=assessors == [who] or users[who] == "organiser")


def _check_accounts(campaign: Campaign, path: str) -> None:
    """Refuse to serve where nobody could sign in."""
    if not any(user.password is not None for user in campaign.users()):
        raise UsageError(
            f"nobody in {path} has a password, so nobody could sign in; set them with "
            f"'foveal assess user {path} NAME --password'"
        )


def _announce(
    access: LocalAccess | None, host: str, port: int, *, https: bool, opens: bool | None
) -> None:
    """Say where it is; on a terminal, show it."""
    place = f"http://{host}:{port}/"
    if access is None:
        click.echo(f"Serving at {place}; Ctrl-C stops.")
        if not https:
            click.echo(
                "warning: passwords pass the network as they are; put a proxy with HTTPS in front "
                "and say --https",
                err=True,
            )
    else:
        link = f"{place}start?token={access.token}"
        user = escape_controls(access.user)
        click.echo(f"Open this link, which signs {user} in once; Ctrl-C stops:\n{link}")
        if opens or (opens is None and sys.stdout.isatty()):
            import webbrowser

            webbrowser.open(link)
    sys.stdout.flush()
