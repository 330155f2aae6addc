"""Lists the tables of a namespace of a catalog that wants signed requests."""
import json
import sys

from pyiceberg.catalog import load_catalog

uri, warehouse, name, key, secret, namespace = sys.argv[1:]
try:
    catalog = load_catalog(
        "aws",
        type="rest",
        uri=uri,
        warehouse=warehouse,
        **{
            "rest.sigv4-enabled": "true",
            "rest.signing-name": name,
            "rest.signing-region": "eu-north-1",
            "client.access-key-id": key,
            "client.secret-access-key": secret,
        },
    )
    print(json.dumps({"tables": catalog.list_tables(namespace)}))
except Exception as error:
    print(json.dumps({"error": str(error)}))
