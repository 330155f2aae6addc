"""Checks receipts of Sluice, and the files that they name, without Sluice.

    python3 verify.py receipts.zip [folder] [--key BASE64]
    python3 verify.py statement.json [--key BASE64]

`receipts.zip` is what the page Proof of an export downloads, or a folder with receipts. `folder` is
where the delivered files lie: the names in a receipt are paths in it. `--key` is the public key
that the operator of the server gave you. Needs Python 3.9 and nothing else. Ends with 0 if everything is
as the receipts say, with 1 if something differs, and with 2 if it cannot be checked.
"""

import argparse
import base64
import gzip
import hashlib
import json
import pathlib
import sys
import zipfile

# Ed25519 as in RFC 8032, section 5.1: points of the curve -x^2 + y^2 = 1 + d x^2 y^2 over the
# integers modulo p, in extended coordinates (X, Y, Z, T) with x = X/Z, y = Y/Z, x y = T/Z.
p = 2**255 - 19
order = 2**252 + 27742317777372353535851937790883648493
d = -121665 * pow(121666, -1, p) % p
sqrt_of_minus_1 = pow(2, (p - 1) // 4, p)

INFINITY = float("inf")


def add(one, other):
    a = (one[1] - one[0]) * (other[1] - other[0]) % p
    b = (one[1] + one[0]) * (other[1] + other[0]) % p
    c = 2 * one[3] * other[3] * d % p
    e = 2 * one[2] * other[2] % p
    f, g, h = e - c, e + c, b + a
    return ((b - a) * f % p, g * h % p, f * g % p, (b - a) * h % p)


def multiply(factor, point):
    result = (0, 1, 1, 0)
    while factor > 0:
        if factor & 1:
            result = add(result, point)
        point = add(point, point)
        factor >>= 1
    return result


def is_same(one, other):
    return (one[0] * other[2] - other[0] * one[2]) % p == 0 and (
        one[1] * other[2] - other[1] * one[2]
    ) % p == 0


def point_of(encoded):
    """Reads a point from its 32 bytes; None if there is no such point."""
    y = int.from_bytes(encoded, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    if y >= p:
        return None
    square = (y * y - 1) * pow(d * y * y + 1, -1, p) % p
    x = pow(square, (p + 3) // 8, p)
    if (x * x - square) % p != 0:
        x = x * sqrt_of_minus_1 % p
    if (x * x - square) % p != 0 or (x == 0 and sign == 1):
        return None
    if x & 1 != sign:
        x = p - x
    return (x, y, 1, x * y % p)


base = point_of((4 * pow(5, -1, p) % p).to_bytes(32, "little"))


def is_signed(message, signature, key):
    """Returns True if the 64 bytes are a signature of the message by the key's owner."""
    if len(signature) != 64 or len(key) != 32:
        return False
    owner, drawn = point_of(key), point_of(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if owner is None or drawn is None or scalar >= order:
        return False
    digest = hashlib.sha512(signature[:32] + key + message).digest()
    hashed = int.from_bytes(digest, "little") % order
    return is_same(multiply(scalar, base), add(drawn, multiply(hashed, owner)))


def raw_key(text):
    """Returns the 32 bytes of a public key in base64 (SPKI, DER)."""
    try:
        der = base64.b64decode(text.strip(), validate=True)
    except ValueError:
        der = b""
    if len(der) != 44 or der[:12] != bytes.fromhex("302a300506032b6570032100"):
        raise ValueError("the key is no Ed25519 key: it begins with MCowBQYDK2VwAyEA")
    return der[12:]


def read_receipts(place):
    """Yields the name and the text of each receipt, and the public key that lies beside them."""
    path = pathlib.Path(place)
    if path.is_file() and not zipfile.is_zipfile(path):
        raise ValueError(f"{place} is no zip file of receipts. A statement ends with .json")
    if path.is_dir():
        found = sorted(path.rglob("*.receipt.json"))
        return [(str(one), one.read_text("utf-8")) for one in found], None
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".receipt.json")]
        texts = [(name, archive.read(name).decode("utf-8")) for name in names]
        return texts, archive.read("public_key.txt").decode("ascii")


def has_signature(text, key):
    """Returns True if the last key of the JSON text is a signature of the rest by the key."""
    record = json.loads(text)
    signature = record.get("signature", {})
    signed = text[: text.rindex(',"signature":')] + "}" if "signature" in record else text
    return signature.get("algorithm") == "Ed25519" and is_signed(
        signed.encode("utf-8"), base64.b64decode(signature.get("value", "")), key
    )


def check_statement(text, given):
    """Checks a statement and prints what it says; returns the code to end with."""
    statement = json.loads(text)
    known = given or statement["signature"]["public_key"]
    if given is None:
        print("The key comes from the statement: compare it with the one of your operator.")
        print(f"key {known}")
    if not has_signature(text, raw_key(known)):
        print("STATEMENT  the signature is not valid: it was changed, or another server signed it")
        return 1
    of, where = statement["batch_export"], statement["destination"]
    print(f"{of['name']} ({of['id']}) to {where['type']} {where['place']}")
    for word in ("verified", "read"):
        part = statement[word]
        print(f"{word}: {part['deliveries']} deliveries with {part['records']} rows")
    print(f"delivered: {statement['deliveries']} deliveries with {statement['records']} rows")
    through = statement["verified_through"] or "no instant yet"
    print(f"verified through {through}, as of {statement['created_at']}")
    for one in statement["findings"]:
        because = f" by {one['accepted_by']}: {one['accepted_reason']}" if one["accepted_at"] else ""
        print(f"{one['state']:10} {one['detail']}{because}")
    print("The signature is valid.")
    return 1 if any(one["state"] == "open" for one in statement["findings"]) else 0


def faults_of_receipt(text, key):
    """Yields what is wrong within a receipt."""
    receipt = json.loads(text)
    if not has_signature(text, key):
        yield "the signature is not valid: the receipt was changed, or another server signed it"
    slices = receipt["slices"]
    for field in ("records", "bytes"):
        if sum(one[field] for one in slices) != receipt[field]:
            yield f"its slices do not add up to its {field}"
    if receipt["records"] + receipt.get("rejected_records", 0) != receipt["source_records"]:
        yield f"{receipt['source_records']} rows were selected, {receipt['records']} delivered"


def faults_of_file(path, entry):
    """Yields how a file differs from its slice in the receipt."""
    if not path.is_file():
        yield "missing"
        return
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    if digest.hexdigest() != entry["sha256"]:
        size = path.stat().st_size
        how = f"{size} bytes in place of {entry['bytes']}"
        yield f"changed: {how if size != entry['bytes'] else 'other bytes'}"
    elif path.name.endswith((".jsonl", ".jsonl.gz")):
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as lines:
            rows = sum(1 for _ in lines)
        if rows != entry["records"]:
            yield f"has {rows} rows in place of {entry['records']}"


def bound(side, otherwise):
    return otherwise if side is None else side


def doubled(receipts):
    """Yields pairs of deliveries of one export that selected the same rows.

    A selection is a set of rectangles over insertion time and event time, in milliseconds. A
    receipt with a generation is the whole table, in place of the one before.
    """
    parts = []
    for receipt in receipts:
        for part in receipt["selection"] if "generation" not in receipt else []:
            low = [bound(part[of], -INFINITY) for of in ("inserted_from", "event_from")]
            high = [bound(part[of], INFINITY) for of in ("inserted_to", "event_to")]
            parts.append((receipt["batch_export_id"], low, high, receipt["delivery_id"]))
    parts.sort()
    begun = []
    for export, low, high, delivery in parts:
        begun = [one for one in begun if one[0] == export and one[2][0] > low[0]]
        for _, other_low, other_high, other in begun:
            if other != delivery and other_low[1] < high[1] and low[1] < other_high[1]:
                yield other, delivery
        begun.append((export, low, high, delivery))


def main():
    asked = argparse.ArgumentParser(description="Checks receipts of Sluice without Sluice.")
    what = "the zip file of the page Proof, a folder with receipts, or a statement (.json)"
    asked.add_argument("receipts", help=what)
    asked.add_argument("folder", nargs="?", help="the folder of the delivered files")
    asked.add_argument("--key", help="the public key of the server, as base64")
    given = asked.parse_args()
    try:
        if given.folder is not None and not pathlib.Path(given.folder).is_dir():
            raise ValueError(f"there is no folder {given.folder}")
        if given.receipts.endswith(".json"):
            return check_statement(pathlib.Path(given.receipts).read_text("utf-8"), given.key)
        texts, beside = read_receipts(given.receipts)
        known = given.key or beside
        if known is None:
            raise ValueError("a folder of receipts has no key: pass --key")
        key = raw_key(known)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        print(f"Cannot be checked: {error}", file=sys.stderr)
        return 2
    if given.key is None:
        print("The key comes from the archive: compare it with the one of your operator.")
        print(f"key {known.strip()}")
    faults, newest = 0, {}

    def tell(kind, place, fault):
        nonlocal faults
        faults += 1
        print(f"{kind:10} {place}: {fault}")

    for name, text in texts:
        try:
            for fault in faults_of_receipt(text, key):
                tell("RECEIPT", name, fault)
            receipt = json.loads(text)
            before = newest.get(receipt["delivery_id"])
            if before is None or before["created_at"] < receipt["created_at"]:
                newest[receipt["delivery_id"]] = receipt
        except (ValueError, KeyError, TypeError) as error:
            tell("RECEIPT", name, f"cannot be read ({error!r})")
    receipts, files = list(newest.values()), 0
    for one, other in doubled(receipts):
        tell("DOUBLED", other, f"selected rows that delivery {one} has delivered too")
    for receipt in receipts if given.folder is not None else []:
        for entry in receipt["slices"]:
            place = pathlib.Path(given.folder, entry["name"])
            files += place.is_file()
            for fault in faults_of_file(place, entry):
                tell("FILE", entry["name"], fault)
    rows = sum(receipt["records"] for receipt in receipts)
    print(f"{len(receipts)} deliveries with {rows} rows, {files} files read. Faults: {faults}.")
    return 1 if faults > 0 or not receipts else 0


if __name__ == "__main__":
    sys.exit(main())
