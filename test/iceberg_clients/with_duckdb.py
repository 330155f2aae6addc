"""Reads and writes a catalog with DuckDB, and prints what it saw as one line of JSON.

with_duckdb.py <uri> <key> <warehouse>
"""
import json
import sys

import duckdb
from duckdb_extensions import import_extension

uri, key, warehouse = sys.argv[1:4]
names = ("httpfs", "avro", "iceberg")
for name in names:
    import_extension(name)


def attached(secret):
    connection = duckdb.connect()
    for name in names:
        connection.execute(f"LOAD {name}")
    connection.execute(f"CREATE SECRET catalog (TYPE iceberg, {secret})")
    connection.execute(f"ATTACH '{warehouse}' AS lake (TYPE iceberg, ENDPOINT '{uri}', SECRET catalog)")
    return connection


keyed = attached(f"TOKEN '{key}'")
exchanged = attached(f"CLIENT_ID 'any', CLIENT_SECRET '{key}', OAUTH2_SERVER_URI '{uri}/v1/oauth/tokens'")
seen = {}


def ask(query, connection=keyed):
    return connection.execute(query).fetchall()


seen["before"] = ask("SELECT uuid, n, plan FROM lake.py.events ORDER BY ALL", exchanged)
ask("INSERT INTO lake.py.events VALUES ('duck', 9, 'pro')")
seen["after"] = ask("SELECT count(*) FROM lake.py.events", exchanged)[0][0]
ask("CREATE SCHEMA lake.duck")
ask("CREATE TABLE lake.duck.pairs (a VARCHAR, b BIGINT)")
ask("INSERT INTO lake.duck.pairs VALUES ('x', 1), ('y', 2)")
# One transaction over two tables.
ask("BEGIN")
ask("INSERT INTO lake.duck.pairs VALUES ('z', 3)")
ask("INSERT INTO lake.py.events VALUES ('duck', 10, NULL)")
ask("COMMIT")
ask("UPDATE lake.duck.pairs SET b = 5 WHERE a = 'x'")
ask("DELETE FROM lake.duck.pairs WHERE a = 'y'")
ask("ALTER TABLE lake.duck.pairs ADD COLUMN c INTEGER")
seen["pairs"] = ask("SELECT * FROM lake.duck.pairs ORDER BY a", attached(f"TOKEN '{key}'"))
ask("CREATE TABLE lake.duck.made AS SELECT 1 AS a")
seen["made"] = ask("SELECT * FROM lake.duck.made")
ask("DROP TABLE lake.duck.made")
seen["tables"] = sorted(row[2] for row in ask("SHOW ALL TABLES"))
print(json.dumps(seen))
