"""Keeps Schemathesis from ending the caller: the account, what it stands on, and the session."""

import json
import os

import schemathesis

spared = set(json.loads(os.environ["SPARED"]))
# A confirmation and a new password answer with another cookie; the one before is dead.
sessions = {"first": None, "latest": None}


@schemathesis.hook
def before_call(context, case, kwargs):
    if f"{case.method} {case.formatted_path}" in spared:
        case.path_parameters = {name: "0" for name in case.path_parameters}
    cookie = (case.headers or {}).get("Cookie")
    if cookie is None:
        return
    sessions["first"] = sessions["first"] or cookie
    if cookie == sessions["first"] and sessions["latest"] is not None:
        case.headers["Cookie"] = sessions["latest"]


@schemathesis.hook
def after_call(context, case, response):
    sent = response.request.headers.get("Cookie")
    name = (sent or "").split("=")[0]
    for line in response.headers.get("set-cookie", []):
        if sent is not None and line.startswith(f"{name}=sls_"):
            sessions["latest"] = line.split(";")[0]
