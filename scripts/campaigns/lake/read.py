"""Reads a table of Sluice's catalog as a person would, with DuckDB, PyIceberg and Spark. For each
line on standard input, a JSON object with `metadata` (the table's metadata file) and, where the
catalog is asked, `uri`, `token`, `warehouse` and `table`, it prints a JSON object a line for each
reader: its name, version and rows, or the error or the reason for which it was left out."""

import datetime
import json
import sys

epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def plain(value):
    """Instants as microseconds, whole numbers as text: JSON would round them."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            value = value.replace(tzinfo=datetime.timezone.utc)
        return str((value - epoch) // datetime.timedelta(microseconds=1))
    if isinstance(value, bool) or value is None or isinstance(value, float):
        return value
    return str(value)


def with_duckdb(asked):
    import duckdb
    from duckdb_extensions import import_extension

    for extension in ("avro", "httpfs", "iceberg"):
        import_extension(extension)
    connection = duckdb.connect()
    connection.sql("SET TimeZone = 'UTC'")
    for extension in ("avro", "httpfs", "iceberg"):
        connection.load_extension(extension)
    cursor = connection.execute(f"SELECT * FROM iceberg_scan('{asked['metadata']}')")
    names = [column[0] for column in cursor.description]
    return duckdb.__version__, [dict(zip(names, row)) for row in cursor.fetchall()]


def with_duckdb_catalog(asked):
    import duckdb
    from duckdb_extensions import import_extension

    connection = duckdb.connect()
    connection.sql("SET TimeZone = 'UTC'")
    for extension in ("avro", "httpfs", "iceberg"):
        import_extension(extension)
        connection.load_extension(extension)
    connection.sql(f"CREATE SECRET (TYPE iceberg, TOKEN '{asked['token']}')")
    connection.sql(
        f"ATTACH '{asked['warehouse']}' AS lake (TYPE iceberg, ENDPOINT '{asked['uri']}')"
    )
    cursor = connection.execute(f"SELECT * FROM lake.{asked['table']}")
    names = [column[0] for column in cursor.description]
    return duckdb.__version__, [dict(zip(names, row)) for row in cursor.fetchall()]


def with_pyiceberg(asked):
    import pyiceberg
    from pyiceberg.table import StaticTable

    table = StaticTable.from_metadata(asked["metadata"])
    return pyiceberg.__version__, table.scan().to_arrow().to_pylist()


def with_pyiceberg_catalog(asked):
    import pyiceberg
    from pyiceberg.catalog import load_catalog

    catalog = load_catalog(
        "sluice",
        type="rest",
        uri=asked["uri"],
        token=asked["token"],
        warehouse=asked["warehouse"],
    )
    table = catalog.load_table(asked["table"])
    return pyiceberg.__version__, table.scan().to_arrow().to_pylist()


readers = {
    "DuckDB": with_duckdb,
    "PyIceberg": with_pyiceberg,
    "DuckDB, catalog": with_duckdb_catalog,
    "PyIceberg, catalog": with_pyiceberg_catalog,
}

for line in sys.stdin:
    asked = json.loads(line)
    for name, read in readers.items():
        found = {"reader": name}
        if "catalog" in name and "uri" not in asked:
            found["skipped"] = "there is no catalog to ask"
        else:
            try:
                found["version"], rows = read(asked)
                found["rows"] = [{key: plain(value) for key, value in row.items()} for row in rows]
            except ImportError as error:
                found["skipped"] = f"{error}"
            except Exception as error:
                found["error"] = f"{type(error).__name__}: {str(error)[:500]}"
        print(json.dumps(found), flush=True)
    print(json.dumps({}), flush=True)
