/**
 * Returns text for a terminal, with control characters escaped as `\u001b`; line ends and tabs
 * stay. JSON keeps its meaning: there, they only occur within texts.
 */
export function terminalText(text: string): string {
  return text.replaceAll(
    /(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
