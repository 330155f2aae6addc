/** The URI as this server writes it. Java writes files of the machine as `file:/path`. */
export function sameUri(uri: string): string {
  return uri.replace(/^file:\/(?!\/)/, 'file:///');
}
