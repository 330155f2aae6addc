/**
 * Returns true if a header such as `Accept` or `Accept-Encoding` names one of `wanted` and does not
 * refuse it with `q=0`.
 */
export function takes(header: string | undefined, wanted: readonly string[]): boolean {
  return (header ?? '').split(',').some((part) => {
    const [name = '', ...parameters] = part.split(';').map((one) => one.trim().toLowerCase());
    return wanted.includes(name) && !parameters.some((one) => /^q=0(\.0*)?$/.test(one));
  });
}
