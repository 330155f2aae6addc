/** Returns a text that says how to check a receipt, for people without Sluice. */
export function readmeOf(range: {
  id: string;
  name: string;
  start_at: string | null;
  end_at: string | null;
}): string {
  const { id, name, start_at, end_at } = range;
  const from = start_at === null ? 'the first delivery' : start_at;
  const to = end_at === null ? 'the newest delivery' : end_at;
  return `Receipts of the batch export ${JSON.stringify(name)} (${id}), from ${from} to ${to}.

Each file in receipts/ is the newest receipt of one delivery to the present destination, named by
the start of its data interval (UTC) and the id of the delivery. It says which rows were selected,
how many there were at the source, and each file or slice with its rows, bytes and SHA-256.

Check a signature
-----------------
A receipt is JSON. Its last key, \`signature\`, has an Ed25519 signature over the text before it:
the receipt without \`,"signature":{...}\`, closed with \`}\`. public_key.txt has the public key of
the server as base64 (SPKI, DER). Compare it with the key that the operator of the server gave you:
a key from the same archive proves only that all receipts come from one server.

With Python and the package \`cryptography\`:

  import base64, json, sys
  from cryptography.hazmat.primitives.serialization import load_der_public_key
  text = open(sys.argv[1], encoding="utf-8").read()
  signature = json.loads(text)["signature"]["value"]
  signed = text[: text.rindex(',"signature":')] + "}"
  key = load_der_public_key(base64.b64decode(open("public_key.txt").read()))
  key.verify(base64.b64decode(signature), signed.encode("utf-8"))
  print("The signature is valid.")

Check a file
------------
\`sha256sum <file>\` of a delivered file must be the \`sha256\` of its slice in the receipt.
\`sluice verify\`, and the page Proof of the export, compare everything with the destination.
`;
}
