/** Returns the URI in the form that this server writes. Java writes local files as `file:/path`. */
export function sameUri(uri: string): string {
  return uri.replace(/^file:\/(?!\/)/, 'file:///');
}
