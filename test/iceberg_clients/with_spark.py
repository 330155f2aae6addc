"""Reads and writes a catalog with Spark, and prints what it saw as one line of JSON.

with_spark.py <uri> <key> <warehouse> <jars, with commas> [storage=<id of an export>]
"""
import json
import os
import sys

os.environ["TZ"] = "UTC"
from pyspark.sql import SparkSession

uri, key, warehouse, jars = sys.argv[1:5]
storage = dict(one.split("=", 1) for one in sys.argv[5:]).get("storage")
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.jars", jars)
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.shuffle.partitions", "2")
    .config(
        "spark.sql.extensions",
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    )
    .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
    .config("spark.sql.catalog.lake.type", "rest")
    .config("spark.sql.catalog.lake.uri", uri)
    .config("spark.sql.catalog.lake.warehouse", warehouse)
    .config("spark.sql.catalog.lake.credential", f"any:{key}")
    .config("spark.sql.catalog.lake.oauth2-server-uri", f"{uri}/v1/oauth/tokens")
    .config("spark.sql.catalog.lake.cache-enabled", "false")
    .config(
        "spark.sql.catalog.lake.header.X-Iceberg-Access-Delegation",
        "vended-credentials,remote-signing",
    )
    # The stand-in for S3 trips over two objects of one folder that go at the same time.
    .config("spark.sql.catalog.lake.s3.delete.batch-size", "1")
    .config("spark.sql.catalog.lake.s3.delete.num-threads", "1")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
seen = {"version": spark.version}


def exact(value):
    """JSON would round a long of more than 53 bits."""
    return str(value) if isinstance(value, int) and abs(value) > 2**53 else value


def rows(query):
    return [[exact(value) for value in row] for row in spark.sql(query).collect()]


options = "" if storage is None else f" WITH PROPERTIES ('sluice.batch-export' = '{storage}')"
spark.sql(f"CREATE NAMESPACE lake.spark{options}")
spark.sql(
    "CREATE TABLE lake.spark.events (id bigint, name string, at timestamp, price decimal(10,2),"
    " tags array<string>) USING iceberg PARTITIONED BY (days(at), bucket(4, id))"
)
spark.sql(
    "INSERT INTO lake.spark.events VALUES"
    " (1, 'a', timestamp'2026-01-01 10:00:00', 1.50, array('x')),"
    " (2, 'ä', timestamp'1969-12-31 23:59:59', 2.25, array()),"
    " (9007199254740993, NULL, NULL, NULL, NULL)"
)
seen["written"] = rows("SELECT id, name, price, size(tags) FROM lake.spark.events ORDER BY id")
spark.sql("UPDATE lake.spark.events SET name = 'b' WHERE id = 1")
spark.sql("DELETE FROM lake.spark.events WHERE id = 2")
spark.sql(
    "MERGE INTO lake.spark.events t USING (SELECT 1 AS id, 'merged' AS name UNION ALL SELECT 3, 'new') s"
    " ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.name = s.name"
    " WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)"
)
seen["merged"] = rows("SELECT id, name FROM lake.spark.events ORDER BY id")
spark.sql("ALTER TABLE lake.spark.events ADD COLUMN note string AFTER name")
spark.sql("ALTER TABLE lake.spark.events RENAME COLUMN name TO title")
spark.sql("ALTER TABLE lake.spark.events ALTER COLUMN price TYPE decimal(12,2)")
spark.sql("ALTER TABLE lake.spark.events WRITE ORDERED BY at")
spark.sql("ALTER TABLE lake.spark.events SET TBLPROPERTIES ('read.split.target-size' = '1048576')")
spark.sql("INSERT INTO lake.spark.events VALUES (4, 'later', 'n', NULL, NULL, NULL)")
seen["evolved"] = rows("SELECT id, title, note FROM lake.spark.events ORDER BY id")
spark.sql("CALL lake.system.rewrite_data_files(table => 'spark.events')")
spark.sql("CALL lake.system.rewrite_manifests(table => 'spark.events')")
spark.sql(
    "CALL lake.system.expire_snapshots(table => 'spark.events', older_than => now(),"
    " retain_last => 1)"
)
seen["kept"] = rows("SELECT id, title, note FROM lake.spark.events ORDER BY id")
seen["snapshots"] = spark.sql("SELECT * FROM lake.spark.events.snapshots").count()
spark.sql("ALTER TABLE lake.spark.events CREATE BRANCH side")
spark.sql("INSERT INTO lake.spark.events.branch_side VALUES (5, NULL, NULL, NULL, NULL, NULL)")
seen["branches"] = [
    spark.sql("SELECT * FROM lake.spark.events").count(),
    spark.sql("SELECT * FROM lake.spark.events VERSION AS OF 'side'").count(),
]
spark.sql("CREATE TABLE lake.spark.copied USING iceberg AS SELECT id FROM lake.spark.events")
seen["copied"] = spark.table("lake.spark.copied").count()
spark.sql("ALTER TABLE lake.spark.copied RENAME TO spark.renamed")
seen["tables"] = sorted(row.tableName for row in spark.sql("SHOW TABLES IN lake.spark").collect())
spark.sql("DROP TABLE lake.spark.renamed PURGE")
spark.sql("DROP TABLE lake.spark.events PURGE")
spark.sql("DROP NAMESPACE lake.spark")
seen["left"] = [row.namespace for row in spark.sql("SHOW NAMESPACES IN lake").collect()]
print(json.dumps(seen, default=str))
