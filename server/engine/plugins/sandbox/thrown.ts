/** Returns the text of what code has thrown, as a process reports it. */
export function thrownText(error: unknown): string {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  return JSON.stringify({
    name: name.slice(0, 200),
    message: message.slice(0, 4_000),
    stack: (stack ?? '').slice(0, 20_000),
    is_retry: false,
  });
}
