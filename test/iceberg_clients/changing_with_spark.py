"""Carries statements out with Spark on tables of a catalog, one after the other. A statement that
meets a commit of another writer is repeated, as a person would. Prints one line of JSON: the version,
and for each statement the first line of each error that it met.

changing_with_spark.py <uri> <key> <warehouse> <jars, with commas> <JSON list of statements>
"""
import json
import sys

from pyspark.sql import SparkSession

uri, key, warehouse, jars, statements = sys.argv[1:6]
tries_max = 5
catalog = "spark.sql.catalog.lake"
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.jars", jars)
    .config("spark.sql.shuffle.partitions", "1")
    .config(
        "spark.sql.extensions",
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    )
    .config(catalog, "org.apache.iceberg.spark.SparkCatalog")
    .config(f"{catalog}.type", "rest")
    .config(f"{catalog}.uri", uri)
    .config(f"{catalog}.warehouse", warehouse)
    .config(f"{catalog}.token", key)
    .config(f"{catalog}.cache-enabled", "false")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")


def carried_out(statement):
    errors = []
    while True:
        try:
            spark.sql(statement)
            return errors
        except Exception as error:  # noqa: BLE001
            errors.append(str(error).split("\n")[0])
            if len(errors) == tries_max:
                return errors


met = [carried_out(statement) for statement in json.loads(statements)]
print(json.dumps({"version": spark.version, "errors": met}))
