"""Checks a release by software of others: the signature of its DSSE envelope (securesystemslib),
the statement inside (in-toto-attestation), and both documents of CycloneDX by their JSON schema.
python3 check.py <folder> <release>"""
import hashlib
import json
import pathlib
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from google.protobuf import json_format
from in_toto_attestation.v1.statement import Statement
import in_toto_attestation.v1.statement_pb2 as statement_pb2
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

folder, release = pathlib.Path(sys.argv[1]), sys.argv[2]
envelope = Envelope.from_dict(json.loads((folder / f"sluice-{release}.intoto.jsonl").read_text()))
public = load_pem_public_key((folder / "release_key.pem").read_bytes())
key = SSlibKey.from_crypto(public, keyid=next(iter(envelope.signatures)))
envelope.verify([key], 1)
told = json.loads(envelope.payload)
parsed = json_format.ParseDict(told, statement_pb2.Statement())
Statement.copy_from_pb(parsed).validate()
for subject in told["subject"]:
    found = hashlib.sha256((folder / subject["name"]).read_bytes()).hexdigest()
    assert found == subject["digest"]["sha256"], subject["name"]
envelope.payload += b" "
try:
    envelope.verify([key], 1)
except Exception:
    pass
else:
    sys.exit("A changed statement was accepted.")
for ending in ["cdx.json", "vex.cdx.json"]:
    fault = JsonStrictValidator(SchemaVersion.V1_5).validate_str(
        (folder / f"sluice-{release}.{ending}").read_text()
    )
    if fault is not None:
        sys.exit(f"sluice-{release}.{ending}: {str(fault)[:2000]}")
print("provenance, bill and VEX are right by securesystemslib, in-toto and CycloneDX's schema")
