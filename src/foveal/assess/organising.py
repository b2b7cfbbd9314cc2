"""The JSON API of organisers: accounts, assignments, progress and agreement."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from foveal.assess.accounts import encode_password
from foveal.assess.adjudication import adopt_agreed
from foveal.assess.messages import Assignment, Nothing, UserChange, read_json
from foveal.assess.security import Refusal
from foveal.assess.site import Endpoint, Site, Visit, answer
from foveal.assess.store import ROLES

__all__ = ["ENDPOINTS"]


def _assign(site: Site, visit: Visit, request: Request) -> Response:
    given = read_json(request, Assignment)
    change = site.campaign.assign if given.assigned else site.campaign.unassign
    change(given.topic, given.assessor)
    note = {"assessor": given.assessor, "assigned": given.assigned}
    site.campaign.log(visit.name, given.topic, None, "assignment", note)
    return answer({"topic": given.topic, **note})


def _change_user(site: Site, visit: Visit, request: Request) -> Response:
    """Add or change an account; a new password ends its sessions."""
    given = read_json(request, UserChange)
    encoded = encode_password(given.password) if given.password else None
    known = site.campaign.user(given.name)
    if known is None:
        site.campaign.add_user(given.name, given.role or ROLES[0], encoded)
    else:
        if given.role is not None and given.role != known.role:
            if given.name == visit.name:
                raise Refusal(422, "role", "You cannot change your own role.")
            site.campaign.set_role(given.name, given.role)
        if encoded is not None:
            site.campaign.set_password(given.name, encoded)
    change = {"name": given.name, "added": known is None, "password": encoded is not None}
    site.campaign.log(visit.name, None, None, "account", change)
    own = known is not None and given.name == visit.name
    return answer({**change, "signed_out": own and encoded is not None})


def _progress(site: Site, _: Visit, __: Request) -> Response:
    return answer({"progress": [row._asdict() for row in site.campaign.progress()]})


def _agreement(site: Site, _: Visit, __: Request) -> Response:
    from foveal.analysis.agreement import agreement
    from foveal.assess.exporting import judgements

    return answer(agreement(judgements(site.campaign)).to_dict())


def _adopt(site: Site, visit: Visit, request: Request) -> Response:
    read_json(request, Nothing)
    count = adopt_agreed(site.campaign, visit.name)
    site.campaign.log(visit.name, None, None, "adopt", {"documents": count})
    return answer({"adopted": count})


ENDPOINTS = (
    Endpoint("POST", "/api/assignments", _assign, "organiser"),
    Endpoint("POST", "/api/users", _change_user, "organiser", hashes=True),
    Endpoint("GET", "/api/progress", _progress, "organiser"),
    Endpoint("GET", "/api/agreement", _agreement, "organiser"),
    Endpoint("POST", "/api/adjudication/agreed", _adopt, "organiser"),
)
