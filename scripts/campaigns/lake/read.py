"""Reads a table of Sluice's catalog as a person would, with DuckDB, PyIceberg, polars, Spark and
ClickHouse. For each line on standard input, a JSON object with `metadata` (the table's metadata
file) and, where the catalog is asked, `uri`, `token`, `warehouse` and `table`, it prints a JSON
object a line for each reader: its name, version and rows, or the error or the reason for which it
was left out. With `lineage`, readers that can give the ids of rows too. With `create`, PyIceberg
creates the table, of narrow types, and its rows are printed. With `endpoint`, the table lies in a
bucket there, and readers have no keys but those that the catalog gives. With `ways`, it runs the texts that
the console shows instead, and prints how many rows each gave. Spark needs java and the jars of
Iceberg, whose paths are the first argument."""

import contextlib
import datetime
import decimal
import io
import json
import math
import os
import shutil
import sys

os.environ["TZ"] = "UTC"
# ClickHouse reads below the working directory alone.
os.chdir("/")
jar = sys.argv[1] if len(sys.argv) > 1 else ""

epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def plain(value):
    """Instants as microseconds, whole numbers as text: JSON would round them, and has no NaN."""
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            value = value.replace(tzinfo=datetime.timezone.utc)
        return str((value - epoch) // datetime.timedelta(microseconds=1))
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, bool) or value is None or isinstance(value, float):
        return value
    return str(value)


def columns_of(asked):
    """What to select: where the table tracks rows, their ids too."""
    return "*, _row_id, _last_updated_sequence_number" if asked.get("lineage") else "*"


def with_duckdb(asked):
    import duckdb
    from duckdb_extensions import import_extension

    for extension in ("avro", "httpfs", "iceberg"):
        import_extension(extension)
    connection = duckdb.connect()
    connection.sql("SET TimeZone = 'UTC'")
    for extension in ("avro", "httpfs", "iceberg"):
        connection.load_extension(extension)
    cursor = connection.execute(
        f"SELECT {columns_of(asked)} FROM iceberg_scan('{asked['metadata']}')"
    )
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
    cursor = connection.execute(f"SELECT {columns_of(asked)} FROM lake.{asked['table']}")
    names = [column[0] for column in cursor.description]
    return duckdb.__version__, [dict(zip(names, row)) for row in cursor.fetchall()]


def with_pyiceberg(asked):
    import pyiceberg
    from pyiceberg.table import StaticTable

    table = StaticTable.from_metadata(asked["metadata"])
    return pyiceberg.__version__, table.scan().to_arrow().to_pylist()


def catalog_of(asked):
    from pyiceberg.catalog import load_catalog

    return load_catalog(
        "sluice",
        type="rest",
        uri=asked["uri"],
        token=asked["token"],
        warehouse=asked["warehouse"],
    )


def loaded(asked):
    return catalog_of(asked).load_table(asked["table"])


def with_pyiceberg_catalog(asked):
    import pyiceberg

    return pyiceberg.__version__, loaded(asked).scan().to_arrow().to_pylist()


def with_polars_catalog(asked):
    import polars

    table = loaded(asked)
    # polars has its own client of buckets, which asks AWS without them.
    given = {key: value for key, value in table.io.properties.items() if key.startswith("s3.")}
    rows = polars.scan_iceberg(table, storage_options=given).collect()
    return polars.__version__, rows.to_dicts()


def with_clickhouse(asked):
    import chdb

    folder, name = os.path.split(asked["metadata"])
    query = (
        f"SELECT * FROM icebergLocal('{os.path.dirname(folder)}',"
        f" SETTINGS iceberg_metadata_file_path = 'metadata/{name}')"
    )
    return chdb.engine_version, chdb.query(query, "ArrowTable").to_pylist()


def with_clickhouse_bucket(asked):
    import chdb

    folder, name = asked["metadata"].removeprefix("s3://").split("/metadata/")
    given = loaded(asked).io.properties
    keys = [given[f"s3.{name}"] for name in ("access-key-id", "secret-access-key", "session-token")]
    named = "', '".join([f"{asked['endpoint']}/{folder}/", *keys])
    query = (
        f"SELECT * FROM icebergS3('{named}',"
        f" SETTINGS iceberg_metadata_file_path = 'metadata/{name}')"
    )
    return chdb.engine_version, chdb.query(query, "ArrowTable").to_pylist()


def create(asked):
    """Creates a table of types that an export widens, with rows in them."""
    import pyarrow
    from pyiceberg import schema, types

    catalog = catalog_of(asked)
    fields = {
        "uuid": (types.StringType(), pyarrow.large_string()),
        "event": (types.StringType(), pyarrow.large_string()),
        "amount": (types.IntegerType(), pyarrow.int32()),
        "ratio": (types.FloatType(), pyarrow.float32()),
        "price": (types.DecimalType(20, 9), pyarrow.decimal128(20, 9)),
    }
    catalog.create_namespace(asked["table"].split(".")[0])
    table = catalog.create_table(
        asked["table"],
        schema.Schema(
            *[
                types.NestedField(id + 1, name, kind, required=False)
                for id, (name, (kind, _)) in enumerate(fields.items())
            ]
        ),
    )
    values = [
        ["narrow 1", "narrow", -(2**31), 0.5, decimal.Decimal("99999999999.999999999")],
        ["narrow 2", "narrow", 2**31 - 1, float("inf"), decimal.Decimal("-0.000000001")],
        ["narrow 3", "narrow", None, float("nan"), None],
    ]
    rows = [dict(zip(fields, row)) for row in values]
    arrow = pyarrow.schema([(name, kind) for name, (_, kind) in fields.items()])
    table.append(pyarrow.Table.from_pylist(rows, schema=arrow))
    return {"rows": [{key: plain(value) for key, value in row.items()} for row in rows]}


def spark_session():
    from pyspark.sql import SparkSession

    if shutil.which("java") is None or not all(map(os.path.exists, jar.split(","))):
        raise ImportError("java or the jar of Iceberg is missing")
    with contextlib.redirect_stdout(sys.stderr):
        session = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.jars", jar)
            .config("spark.sql.session.timeZone", "UTC")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
    return session


def with_spark_catalog(asked):
    session = spark_session()
    catalog = "spark.sql.catalog.sluice"
    session.conf.set(catalog, "org.apache.iceberg.spark.SparkCatalog")
    session.conf.set(f"{catalog}.type", "rest")
    session.conf.set(f"{catalog}.cache-enabled", "false")
    if asked.get("endpoint"):
        session.conf.set(f"{catalog}.header.X-Iceberg-Access-Delegation", "vended-credentials")
    for name in ("uri", "token", "warehouse"):
        session.conf.set(f"{catalog}.{name}", asked[name])
    rows = session.sql(f"SELECT {columns_of(asked)} FROM sluice.{asked['table']}").collect()
    return session.version, [row.asDict() for row in rows]


def run_way(reader, text):
    """Runs a text of the console; returns the number of rows that it gave."""
    if reader == "DuckDB":
        return len(duckdb_way(text))
    if reader == "Spark":
        spark_session()
    before, last = text.rsplit("\n", 1)
    scope = {}
    exec(before, scope)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        result = eval(last, scope)
    # Spark prints a table between lines: one above, one below the names, and one at the end.
    return len(printed.getvalue().strip().split("\n")) - 4 if result is None else len(result)


def duckdb_way(text):
    import duckdb
    from duckdb_extensions import import_extension

    connection = duckdb.connect()
    connection.sql("SET TimeZone = 'UTC'")
    for extension in ("avro", "httpfs", "iceberg"):
        import_extension(extension)
        connection.load_extension(extension)
    # The extensions come from packages: INSTALL would ask a server for them.
    connection.execute(text.replace("INSTALL iceberg;", ""))
    return connection.fetchall()


readers = {
    "DuckDB": with_duckdb,
    "PyIceberg": with_pyiceberg,
    "DuckDB, catalog": with_duckdb_catalog,
    "PyIceberg, catalog": with_pyiceberg_catalog,
    "polars, catalog": with_polars_catalog,
    "Spark, catalog": with_spark_catalog,
    "ClickHouse": with_clickhouse,
}


# They take the keys and the address of the store that the catalog gives.
bucket_readers = {
    "DuckDB, catalog": with_duckdb_catalog,
    "PyIceberg, catalog": with_pyiceberg_catalog,
    "polars, catalog": with_polars_catalog,
    "Spark, catalog": with_spark_catalog,
    "ClickHouse": with_clickhouse_bucket,
}


def plain_rows(read, asked):
    version, rows = read(asked)
    plain_ones = [{key: plain(value) for key, value in row.items()} for row in rows]
    return {"version": version, "rows": plain_ones}


def tasks_of(asked):
    """Names what is to be done, each with a function."""
    if "create" in asked:
        return {"PyIceberg": lambda: create(asked)}
    if "ways" in asked:
        return {
            name: lambda name=name, text=text: {"given": run_way(name, text)}
            for name, text in asked["ways"].items()
        }
    return {
        name: lambda read=read: plain_rows(read, asked)
        for name, read in (bucket_readers if asked.get("endpoint") else readers).items()
        if asked.get("reader", "").lower() in name.lower()
    }


for line in sys.stdin:
    asked = json.loads(line)
    for name, work in tasks_of(asked).items():
        found = {"reader": name}
        try:
            found.update(work())
        except ImportError as error:
            found["skipped"] = f"{error}"
        except Exception as error:
            found["error"] = f"{type(error).__name__}: {str(error)[:500]}"
        print(json.dumps(found), flush=True)
    print(json.dumps({}), flush=True)
