/** Says which key a reader of the catalog needs. */
export function KeyNote() {
  return (
    <>
      Replace <code>API_KEY</code> with a key that has the scope <code>lake:read</code>.
    </>
  );
}
