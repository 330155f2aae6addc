"""Runs scim2-tester against a directory, then a client's flow: tester.py <base URL> <token> <domain>. Prints a JSON object a line for each check."""

import json
import sys
import uuid

from httpx import Client
from scim2_client import SCIMResponseErrorObject
from scim2_client.engines.httpx import SyncSCIMClient
from scim2_models import PatchOp, PatchOperation, SearchRequest
from scim2_tester import checker, filling
from scim2_tester.checkers import patch_add, patch_replace

base_url, token, domain = sys.argv[1:]


def with_addresses():
    """The tester makes up any userName; a directory here speaks for one domain alone."""
    made_up = filling.generate_random_value

    def generate(context, path, *args, **kwargs):
        value = made_up(context, path, *args, **kwargs)
        if value is None or path.field_name != "user_name":
            return value
        return f"{uuid.uuid4()}@{domain}"

    for module in (filling, patch_add, patch_replace):
        module.generate_random_value = generate


def tell(kind, resource, title, status, reason):
    print(
        json.dumps(
            {
                "kind": kind,
                "resource": resource or "",
                "title": title,
                "status": status,
                "reason": reason or "",
            }
        ),
        flush=True,
    )


def discovered():
    scim = SyncSCIMClient(
        Client(base_url=base_url, headers={"Authorization": f"Bearer {token}"})
    )
    scim.discover()
    return scim


def flow(scim):
    """What a client does that is not the tester: names of its own, searches, groups, the end."""
    User, Group = scim.get_resource_model("User"), scim.get_resource_model("Group")

    def is_so(title, fits):
        tell("flow", "", title, "SUCCESS" if fits else "ERROR", "" if fits else "It is not so.")

    def found(model, text):
        wanted = SearchRequest(filter=text)
        answer = scim.search(wanted) if model is None else scim.query(model, query_parameters=wanted)
        return [one.id for one in answer.resources or []]

    payload = {
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
        "userName": "jdoe",
        "active": True,
        "emails": [{"value": f"john.doe@{domain}", "primary": True}],
    }
    created = scim.create(payload, check_request_payload=False, url="/Users")
    jdoe = scim.query(User, created["id"])
    is_so("create jdoe by an address in emails", jdoe.user_name == "jdoe")
    is_so("find jdoe by userName", found(User, 'userName eq "JDOE"') == [jdoe.id])
    is_so("find jdoe by a search over everything", found(None, 'userName eq "jdoe"') == [jdoe.id])
    group = scim.create(
        Group(display_name="Engineers", members=[{"value": jdoe.id}]),
    )
    is_so("the group has jdoe", group.members[0].value == jdoe.id)
    is_so("jdoe has the group", scim.query(User, jdoe.id).groups[0].value == group.id)
    off = PatchOp[User](
        operations=[PatchOperation(op=PatchOperation.Op.replace_, path="active", value=False)]
    )
    is_so("deactivate jdoe", scim.modify(User, jdoe.id, off).active is False)
    is_so("find the inactive", found(User, "active eq false") == [jdoe.id])
    jdoe = scim.query(User, jdoe.id)
    jdoe.active = True
    is_so("bring jdoe back by a PUT", scim.replace(jdoe).active is True)
    scim.delete(Group, group.id)
    scim.delete(User, jdoe.id)
    try:
        scim.query(User, jdoe.id)
        is_so("jdoe is gone", False)
    except SCIMResponseErrorObject as error:
        is_so("jdoe is gone", "no User" in str(error))


with_addresses()
for result in checker.check_server(discovered()):
    tell("tester", result.resource_type, result.title, result.status.name, result.reason)
flow(discovered())
