"""Works on a catalog as a foreign writer, and prints what it saw as one line of JSON.

with_pyiceberg.py <uri> <key> <warehouse>
"""
import json
import sys

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import CommitFailedException, NamespaceNotEmptyError, NoSuchTableError
from pyiceberg.types import StringType

uri, key, warehouse = sys.argv[1:4]
more = dict(one.split("=", 1) for one in sys.argv[4:])
catalog = load_catalog("keyed", type="rest", uri=uri, token=key, warehouse=warehouse, **more)
exchanged = load_catalog("exchanged", type="rest", uri=uri, credential=f"any:{key}", warehouse=warehouse, **more)
storage = {"sluice.batch-export": more["storage"]} if "storage" in more else {}
rows = pa.table({"uuid": ["a", "b"], "n": pa.array([1, 2], pa.int64())})
seen = {}


def refused(error, work):
    try:
        work()
    except error:
        return True
    return False


catalog.create_namespace("py", {"owner": "etl", **storage})
catalog.create_namespace(("py", "inner"))
seen["namespaces"] = [catalog.list_namespaces(), catalog.list_namespaces("py")]
created = catalog.create_table("py.events", schema=rows.schema)
seen["location"] = created.location()
created.append(rows)
created.append(pa.table({"uuid": ["c"], "n": pa.array([3], pa.int64())}))
seen["rows"] = sorted(exchanged.load_table("py.events").scan().to_arrow().to_pydict()["uuid"])

# Two writers on one state: the second is told, so it rebases and commits again.
one, two = catalog.load_table("py.events"), exchanged.load_table("py.events")
one.append(rows)
two.append(rows)
seen["rows_after_race"] = catalog.load_table("py.events").scan().to_arrow().num_rows

stale = catalog.load_table("py.events")
with catalog.load_table("py.events").update_schema() as change:
    change.add_column("plan", StringType())
with_plan = catalog.load_table("py.events")
seen["fields"] = [[field.field_id, field.name] for field in with_plan.schema().fields]


def add_again():
    with stale.update_schema() as change:
        change.add_column("plan", StringType())


seen["stale_schema_refused"] = refused(CommitFailedException, add_again)
with_plan.delete("n = 1")
seen["rows_after_delete"] = catalog.load_table("py.events").scan().to_arrow().num_rows

with catalog.create_table_transaction("py.staged", schema=rows.schema) as staged:
    staged.append(rows)
catalog.rename_table("py.staged", "py.renamed")
seen["tables"] = [name for _, name in catalog.list_tables("py")]
seen["exists"] = [catalog.table_exists("py.renamed"), catalog.table_exists("py.staged")]
changed = catalog.update_namespace_properties("py", {"owner"}, {"team": "lake"})
seen["changed"] = {name: getattr(changed, name) for name in ("removed", "updated", "missing")}
seen["not_empty_refused"] = refused(NamespaceNotEmptyError, lambda: catalog.drop_namespace("py"))
seen["none_refused"] = refused(NoSuchTableError, lambda: catalog.load_table("py.none"))
catalog.drop_table("py.renamed")
seen["left"] = [name for _, name in catalog.list_tables("py")]
print(json.dumps(seen))
