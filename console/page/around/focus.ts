/** True when nothing has the focus, such as after the button that had it is gone. */
export function hasNoFocus(): boolean {
  const { activeElement: active } = document;
  return active === null || active === document.body;
}
