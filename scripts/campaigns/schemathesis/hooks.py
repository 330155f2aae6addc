"""Keeps Schemathesis from ending the caller: who it asks as, and what that stands on."""

import json
import os

import schemathesis

spared = set(json.loads(os.environ["SPARED"]))


@schemathesis.hook
def before_call(context, case, kwargs):
    if f"{case.method} {case.formatted_path}" in spared:
        case.path_parameters = {name: "0" for name in case.path_parameters}
