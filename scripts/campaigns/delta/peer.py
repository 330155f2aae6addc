"""Reads a Delta table with delta-rs, DuckDB, polars, pyarrow, Spark and ClickHouse, and writes to it
with delta-rs. Each line on standard input is a JSON object with `table` (its folder, or its address
in a bucket with `store`, the endpoint and the keys), and is answered by lines of JSON: for `read`,
each reader's name, version and rows, or why it was left out; for `append`, the number of commits that it made and of those that were refused; for `update` and
`add`, that it changed the row of a key or added one."""

import datetime
import decimal
import json
import os
import shutil
import sys

os.environ["TZ"] = "UTC"
# ClickHouse reads below the working directory alone.
os.chdir("/")
jars = sys.argv[1] if len(sys.argv) > 1 else ""

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


def options_of(store):
    """The options of a bucket for delta-rs, and for polars, which reads by it."""
    return store and {
        "aws_endpoint_url": store["endpoint"],
        "aws_access_key_id": store["key"],
        "aws_secret_access_key": store["secret"],
        "aws_region": "us-east-1",
        "aws_allow_http": "true",
    }


def with_delta_rs(table, store):
    import deltalake
    import pyarrow

    found = deltalake.DeltaTable(table, storage_options=options_of(store))
    query = deltalake.QueryBuilder().register("t", found)
    rows = pyarrow.table(query.execute("SELECT * FROM t").read_all())
    return deltalake.__version__, rows.to_pylist()


def with_pyarrow(table, store):
    import deltalake
    import pyarrow

    rows = deltalake.DeltaTable(table, storage_options=options_of(store)).to_pyarrow_table()
    return f"{pyarrow.__version__} by delta-rs", rows.to_pylist()


def with_duckdb(table, store):
    import duckdb
    from duckdb_extensions import import_extension

    connection = duckdb.connect()
    connection.sql("SET TimeZone = 'UTC'")
    for extension in ("httpfs", "delta"):
        import_extension(extension)
        connection.load_extension(extension)
    if store:
        endpoint = store["endpoint"].removeprefix("http://")
        connection.execute(
            f"CREATE SECRET (TYPE s3, KEY_ID '{store['key']}', SECRET '{store['secret']}',"
            f" REGION 'us-east-1', ENDPOINT '{endpoint}', URL_STYLE 'path', USE_SSL false)"
        )
    cursor = connection.execute(f"SELECT * FROM delta_scan('{table}')")
    names = [column[0] for column in cursor.description]
    return duckdb.__version__, [dict(zip(names, row)) for row in cursor.fetchall()]


def with_polars(table, store):
    import polars

    rows = polars.scan_delta(table, storage_options=options_of(store)).collect()
    return polars.__version__, rows.to_dicts()


spark = None


def with_spark(table, store):
    """One session for all readings; needs java and the jars of Delta in the folder of the first
    argument."""
    global spark
    import pyspark

    if store:
        raise ImportError("its client of buckets is not installed")
    if spark is None:
        from pyspark.sql import SparkSession

        paths = ",".join(os.path.join(jars, name) for name in sorted(os.listdir(jars)))
        if paths == "" or shutil.which("java") is None:
            raise ImportError("there is no java, or no jar of Delta")
        catalog = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        builder = SparkSession.builder.master("local[1]").config("spark.jars", paths)
        for key, value in {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": catalog,
            "spark.databricks.delta.snapshotPartitions": "1",
            "spark.driver.memory": "1g",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
    rows = spark.read.format("delta").load(table).collect()
    return pyspark.__version__, [row.asDict() for row in rows]


def with_clickhouse(table, store):
    import chdb

    place = f"deltaLakeLocal('{table}')"
    if store:
        address = f"{store['endpoint']}/{table.removeprefix('s3://')}/"
        place = f"deltaLake('{address}', '{store['key']}', '{store['secret']}')"
    found = chdb.query(f"SELECT * FROM {place}", "ArrowTable")
    return chdb.engine_version, found.to_pylist()


readers = {
    "Spark": with_spark,
    "ClickHouse": with_clickhouse,
    "delta-rs": with_delta_rs,
    "pyarrow": with_pyarrow,
    "DuckDB": with_duckdb,
    "polars": with_polars,
}


def read(table, store):
    for name, reader in readers.items():
        found = {"reader": name}
        try:
            found["version"], rows = reader(table, store)
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
            deltalake.write_deltalake(table, values, mode="append", schema_mode="merge")
            done += 1
        except Exception as error:
            refused += 1
            print(error, file=sys.stderr)
    yield {"done": done, "refused": refused}


def update(table, key, event):
    """Changes the row of a key, as somebody might by hand."""
    import deltalake

    quoted = event.replace("'", "''")
    changes = {"event": f"'{quoted}'"}
    deltalake.DeltaTable(table).update(updates=changes, predicate=f"id = '{key}'")
    yield {"done": 1}


def add(table, row):
    """Adds a row to a table that is parted by day and event, and makes small files one."""
    import deltalake
    import pyarrow

    at = datetime.datetime.fromtimestamp(0, datetime.timezone.utc) + datetime.timedelta(
        microseconds=int(row["micros"])
    )
    instant = pyarrow.timestamp("us", "UTC")
    values = pyarrow.table(
        {
            "id": pyarrow.array([row["id"]], pyarrow.string()),
            "event": pyarrow.array([row["event"]], pyarrow.string()),
            "timestamp": pyarrow.array([at], instant),
            "version": pyarrow.array([row["version"]], pyarrow.int64()),
            "timestamp_hour": pyarrow.array([at.strftime("%Y-%m-%d-%H")], pyarrow.string()),
            "timestamp_day": pyarrow.array([at.date()], pyarrow.date32()),
        }
    )
    deltalake.write_deltalake(table, values, mode="append")
    yield {"done": 1}


for line in sys.stdin:
    asked = json.loads(line)
    if "update" in asked:
        answers = update(asked["table"], asked["update"], asked["event"])
    elif "add" in asked:
        answers = add(asked["table"], asked["add"])
    elif "append" in asked:
        answers = append(asked["table"], asked["append"], asked["rows"])
    else:
        answers = read(asked["table"], asked.get("store"))
    for answer in answers:
        print(json.dumps(answer), flush=True)
    print(json.dumps({}), flush=True)
