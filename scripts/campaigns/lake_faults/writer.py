"""A foreign writer of a table: takes one command a line, answers one line of JSON.

append ID | overwrite ID OLD | compact | check
"""
import json
import os
import sys
import time
from urllib.parse import unquote, urlparse

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import CommitFailedException, ValidationException

tries_max = 40


def exists(table, uri):
    if uri.startswith("file:"):
        return os.path.exists(unquote(urlparse(uri).path))
    return table.io.new_input(uri).exists()


def until_committed(table, change):
    """Makes a change to the newest table until it is committed."""
    conflicts = 0
    while True:
        table.refresh()
        try:
            change()
            return conflicts
        except (CommitFailedException, ValidationException):
            # It refuses to overwrite what another writer has added meanwhile.
            conflicts += 1
            if conflicts == tries_max:
                raise
            time.sleep(0.01 * conflicts)


def rows_of(table, ids):
    schema = pa.schema([pa.field("uuid", pa.large_string())])
    return pa.table({"uuid": pa.array(ids, pa.large_string())}, schema=schema)


def compact(table):
    """Writes all rows into new files, as a person would with a plain client."""
    table.overwrite(table.scan().to_arrow())


def check(table):
    """The rows of the table, and every file that a snapshot names and that is not there."""
    table.refresh()
    missing, seen, files = set(), set(), 0
    for snapshot in table.metadata.snapshots:
        if not exists(table, snapshot.manifest_list):
            missing.add(snapshot.manifest_list)
            continue
        for manifest in snapshot.manifests(table.io):
            if manifest.manifest_path in seen:
                continue
            seen.add(manifest.manifest_path)
            if not exists(table, manifest.manifest_path):
                missing.add(manifest.manifest_path)
                continue
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
                files += 1
                if not exists(table, entry.data_file.file_path):
                    missing.add(entry.data_file.file_path)
    # A table that misses files may not be readable.
    rows = [] if missing else table.scan(selected_fields=("uuid",)).to_arrow()["uuid"].to_pylist()
    return {"rows": rows, "missing": sorted(missing), "files": files}


for line in sys.stdin:
    asked = json.loads(line)
    try:
        catalog = load_catalog("peer", type="rest", **asked["client"])
        table = catalog.load_table(asked["table"])
        command = asked["command"]
        if command == "check":
            answer = check(table)
        elif command == "compact":
            answer = {"conflicts": until_committed(table, lambda: compact(table))}
        elif command == "append":
            append = lambda: table.append(rows_of(table, [asked["id"]]))
            answer = {"conflicts": until_committed(table, append)}
        else:
            answer = {
                "conflicts": until_committed(
                    table, lambda: table.overwrite(rows_of(table, [asked["id"]]), f"uuid = '{asked['old']}'")
                )
            }
    except Exception as error:  # noqa: BLE001
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer))
    print("{}", flush=True)
