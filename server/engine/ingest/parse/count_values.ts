const [quote, backslash, comma, open_brace, open_bracket] = [0x22, 0x5c, 0x2c, 0x7b, 0x5b];

/**
 * Counts the names and values of a JSON text without parsing it: its commas and opening brackets
 * outside of strings.
 */
export function countValues(text: string): number {
  let values = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isInText) {
      if (code === backslash) at += 1;
      else if (code === quote) isInText = false;
    } else if (code === quote) isInText = true;
    else if (code === comma || code === open_brace || code === open_bracket) values += 1;
  }
  return values;
}
