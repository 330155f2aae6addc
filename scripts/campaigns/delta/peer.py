"""Reads a Delta table with delta-rs, DuckDB, polars and pyarrow, and writes to it with delta-rs. For
each line on standard input, a JSON object with `table` (its folder), it prints JSON objects a line:
with `read`, each reader's name, version and rows, or the error or the reason for which it was left
out; with `append`, how many commits of so many rows it made, and how many were refused."""

import datetime
import decimal
import json
import sys

epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def plain(value):
    """Instants as microseconds, numbers that JSON would round as text."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            value = value.replace(tzinfo=datetime.timezone.utc)
        return str((value - epoch) // datetime.timedelta(microseconds=1))
    if isinstance(value, bool) or value is None or isinstance(value, float):
        return value
    if isinstance(value, decimal.Decimal):
        return f"{value:.9f}"
    return str(value)


def with_delta_rs(table):
    import deltalake
    import pyarrow

    query = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(table))
    rows = pyarrow.table(query.execute("SELECT * FROM t").read_all())
    return deltalake.__version__, rows.to_pylist()


def with_pyarrow(table):
    import deltalake
    import pyarrow

    rows = deltalake.DeltaTable(table).to_pyarrow_table()
    return f"{pyarrow.__version__} by delta-rs", rows.to_pylist()


def with_duckdb(table):
    import duckdb
    from duckdb_extensions import import_extension

    import_extension("delta")
    connection = duckdb.connect()
    connection.sql("SET TimeZone = 'UTC'")
    connection.load_extension("delta")
    cursor = connection.execute(f"SELECT * FROM delta_scan('{table}')")
    names = [column[0] for column in cursor.description]
    return duckdb.__version__, [dict(zip(names, row)) for row in cursor.fetchall()]


def with_polars(table):
    import polars

    return polars.__version__, polars.scan_delta(table).collect().to_dicts()


readers = {
    "delta-rs": with_delta_rs,
    "pyarrow": with_pyarrow,
    "DuckDB": with_duckdb,
    "polars": with_polars,
}


def read(table):
    for name, reader in readers.items():
        found = {"reader": name}
        try:
            found["version"], rows = reader(table)
            found["rows"] = [{key: plain(value) for key, value in row.items()} for row in rows]
        except ImportError as error:
            found["skipped"] = f"{error}"
        except Exception as error:
            found["error"] = f"{type(error).__name__}: {str(error)[:500]}"
        yield found


def append(table, commits, rows):
    import deltalake
    import pyarrow

    done, refused = 0, 0
    for number in range(commits):
        values = pyarrow.table(
            {
                "delivery": pyarrow.array([f"foreign-{number}"] * rows, pyarrow.string()),
                "n": pyarrow.array(range(rows), pyarrow.int64()),
            }
        )
        try:
            deltalake.write_deltalake(table, values, mode="append")
            done += 1
        except Exception as error:
            refused += 1
            print(error, file=sys.stderr)
    yield {"done": done, "refused": refused}


for line in sys.stdin:
    asked = json.loads(line)
    if "append" in asked:
        answers = append(asked["table"], asked["append"], asked["rows"])
    else:
        answers = read(asked["table"])
    for answer in answers:
        print(json.dumps(answer), flush=True)
    print(json.dumps({}), flush=True)
