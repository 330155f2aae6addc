/** Returns a text as a ClickHouse string literal. */
export function literal(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`).replaceAll('\0', String.raw`\0`)}'`;
}

/** Returns a name as a ClickHouse identifier. */
export function identifier(name: string): string {
  return `\`${name.replaceAll(/[\\`]/g, String.raw`\$&`)}\``;
}
