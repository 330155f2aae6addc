/** Returns true if nothing has the focus, for example after the focused button was removed. */
export function hasNoFocus(): boolean {
  const { activeElement: active } = document;
  return active === null || active === document.body;
}
