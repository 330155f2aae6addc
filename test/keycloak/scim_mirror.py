# Mirrors the people and groups of a Keycloak realm into a directory by SCIM, once, with the client
# library scim2-client. Takes JSON on standard input: where both are, and the domain of the people.
import json
import sys

import httpx2
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_models import PatchOp, PatchOperation, ResponseParameters, SearchRequest

asked = json.load(sys.stdin)
done = {"created": [], "changed": [], "removed": []}

keycloak = httpx2.Client(headers={"Authorization": f"Bearer {asked['realm_token']}"})


def of_realm(path):
    answer = keycloak.get(asked["realm_url"] + path)
    answer.raise_for_status()
    return answer.json()


scim = SyncSCIMClient(
    httpx2.Client(
        base_url=asked["scim_url"], headers={"Authorization": f"Bearer {asked['scim_token']}"}
    )
)
scim.discover()
User = scim.get_resource_model("User")
Group = scim.get_resource_model("Group")


def listed(model):
    found = []
    while True:
        page = scim.query(
            model, query_parameters=SearchRequest(start_index=len(found) + 1, count=50)
        )
        found += page.resources or []
        if len(found) >= page.total_results or not page.resources:
            return found


def note(what, name):
    done[what].append(name)


people = {
    one["id"]: one
    for one in of_realm("/users?max=1000")
    if one.get("email", "").endswith("@" + asked["domain"])
}
here = listed(User)
by_realm_id = {one.external_id: one for one in here if one.external_id}
by_name = {one.user_name.lower(): one for one in here}
ids = {}
for realm_id, person in people.items():
    name = User.Name(given_name=person["firstName"], family_name=person["lastName"])
    wanted = User(
        user_name=person["email"],
        external_id=realm_id,
        name=name,
        emails=[User.Emails(value=person["email"], primary=True, type="work")],
        active=person["enabled"],
    )
    known = by_realm_id.get(realm_id) or by_name.get(person["email"].lower())
    if known is None:
        known = scim.create(wanted)
        note("created", person["email"])
    elif (
        known.external_id != realm_id
        or known.user_name != person["email"]
        or known.name.given_name != name.given_name
        or known.name.family_name != name.family_name
    ):
        wanted.id = known.id
        known = scim.replace(wanted)
        note("changed", person["email"])
    elif known.active != person["enabled"]:
        operation = PatchOperation(
            op=PatchOperation.Op.replace_, path="active", value=person["enabled"]
        )
        scim.modify(User, known.id, PatchOp[User](operations=[operation]))
        note("changed", person["email"])
    ids[realm_id] = known.id
for one in here:
    if one.external_id and one.external_id not in people:
        scim.delete(User, one.id)
        note("removed", one.user_name)

groups = {one["id"]: one for one in of_realm("/groups?max=1000")}
here = {one.external_id: one for one in listed(Group) if one.external_id}
for realm_id, group in groups.items():
    members = sorted(
        ids[one["id"]]
        for one in of_realm(f"/groups/{realm_id}/members?max=1000")
        if one["id"] in ids
    )
    if not members and realm_id not in here:
        continue
    wanted = Group(
        display_name=group["name"],
        external_id=realm_id,
        members=[Group.Members(value=member) for member in members],
    )
    known = here.get(realm_id)
    if known is None:
        scim.create(wanted)
        note("created", group["name"])
    elif sorted(one.value for one in known.members or []) != members:
        wanted.id = known.id
        scim.replace(wanted)
        note("changed", group["name"])
for realm_id, group in here.items():
    if realm_id not in groups:
        scim.delete(Group, group.id)
        note("removed", group.display_name)
print(json.dumps(done))
