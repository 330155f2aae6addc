"""Makes the calls of a plan with the client that openapi-python-client generated.

python stranger.py PLAN: finds the module of each operation, builds the body's model from the
plan, calls, and compares what the client read with the text of the answer.
"""

import importlib
import json
import sys
import typing


def main() -> int:
    plan = json.load(open(sys.argv[1]))
    package = importlib.import_module("sluice_client")
    client = package.AuthenticatedClient(base_url=plan["address"], token=plan["key"])
    faults = [fault for call in plan["calls"] for fault in make(client, call)]
    for fault in faults:
        print(fault)
    print(f"Python: {len(plan['calls'])} calls, {len(faults)} faults")
    return 1 if faults else 0


def make(client, call) -> list[str]:
    try:
        module = importlib.import_module(f"sluice_client.api.{call['tag']}.{call['id']}")
        arguments = {to_snake(name): value for name, value in call["parameters"].items()}
        if "body" in call:
            arguments["body"] = body_of(module, call["body"])
        answer = module.sync_detailed(client=client, **arguments)
    except Exception as error:
        return [f"{call['id']}: {type(error).__name__}: {error}"]
    if answer.status_code != call["status"]:
        return [f"{call['id']}: answered {answer.status_code.value}: {answer.content[:300]!r}"]
    if answer.content == b"":
        return []
    if answer.parsed is None:
        return [f"{call['id']}: the client did not read the answer"]
    read, sent = answer.parsed.to_dict(), json.loads(answer.content)
    return [] if same(read, sent) else [f"{call['id']}: read {read} and not {sent}"]


def same(one, other) -> bool:
    """Instants may be spelled in another way."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other or (isinstance(one, str) and isinstance(other, str) and one[:16] == other[:16])


def to_snake(name: str) -> str:
    return name.replace("__", "_")


def body_of(module, body):
    """The body in the model that has all of its fields."""
    hint = typing.get_type_hints(module.sync_detailed)["body"]
    for model in typing.get_args(hint) or (hint,):
        try:
            made = model.from_dict(body)
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
        if not made.additional_properties:
            return made
    raise ValueError(f"no model of {hint} takes {body}")


if __name__ == "__main__":
    sys.exit(main())
