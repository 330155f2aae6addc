"""Reads folders of exports with pyarrow, DuckDB, polars and Spark, as a person would: read.py
<folder>. Expects a folder for each format in it. For each line on standard input it reads all of
them once and prints a JSON object a line: reader, format, rows, and the SHA-256 of the sorted
uuids."""

import hashlib
import json
import sys

import duckdb
import polars
import pyarrow.dataset
from pyspark.sql import SparkSession

folder = sys.argv[1]
extensions = {"JSONLines": "jsonl", "CSV": "csv", "Parquet": "parquet"}

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")


def with_pyarrow(path, kind):
    format = {"JSONLines": "json", "CSV": "csv", "Parquet": "parquet"}[kind]
    dataset = pyarrow.dataset.dataset(path, format=format, partitioning="hive")
    return dataset.to_table(columns=["uuid"]).column("uuid").to_pylist()


def with_duckdb(path, kind):
    read = {"JSONLines": "read_json", "CSV": "read_csv", "Parquet": "read_parquet"}[kind]
    pattern = f"{path}/**/*.{extensions[kind]}"
    return [str(row[0]) for row in duckdb.sql(f"SELECT uuid FROM {read}('{pattern}')").fetchall()]


def with_duckdb_day(path, kind):
    """Every file of the days' own folders, without a look at its extension."""
    read = {"JSONLines": "read_json", "CSV": "read_csv", "Parquet": "read_parquet"}[kind]
    return [str(row[0]) for row in duckdb.sql(f"SELECT uuid FROM {read}('{path}/*/*')").fetchall()]


def with_polars(path, kind):
    scan = {
        "JSONLines": polars.scan_ndjson,
        "CSV": polars.scan_csv,
        "Parquet": polars.scan_parquet,
    }[kind]
    pattern = f"{path}/**/*.{extensions[kind]}"
    return scan(pattern).select("uuid").collect()["uuid"].to_list()


def with_spark(path, kind):
    reader = spark.read
    if kind == "JSONLines":
        frame = reader.json(path)
    elif kind == "CSV":
        frame = reader.option("header", "true").option("quote", '"').option("escape", '"').csv(path)
    else:
        frame = reader.parquet(path)
    return [row.uuid for row in frame.select("uuid").collect()]


readers = {
    "pyarrow": with_pyarrow,
    "DuckDB": with_duckdb,
    "DuckDB, a day": with_duckdb_day,
    "polars": with_polars,
    "Spark": with_spark,
}

for _ in sys.stdin:
    for kind in extensions:
        for name, read in readers.items():
            line = {"reader": name, "format": kind}
            try:
                uuids = sorted(read(f"{folder}/{kind}", kind))
                line["rows"] = len(uuids)
                line["distinct"] = len(set(uuids))
                line["sha256"] = hashlib.sha256("\n".join(uuids).encode()).hexdigest()
            except Exception as error:
                line["error"] = f"{type(error).__name__}: {str(error)[:300]}"
            print(json.dumps(line), flush=True)
    print("{}", flush=True)
