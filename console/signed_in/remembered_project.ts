const name = 'sluice_project';

/** Returns the id of the last project in this browser. */
export function rememberedProject(): number | undefined {
  const id = Number(localStorage.getItem(name));
  return Number.isInteger(id) && id > 0 ? id : undefined;
}

/** Stores the last project. */
export function rememberProject(id: number): void {
  localStorage.setItem(name, String(id));
}
