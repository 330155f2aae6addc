const name = 'sluice_project';

/** The project that this browser looked at last, by its id. */
export function rememberedProject(): number | undefined {
  const id = Number(localStorage.getItem(name));
  return Number.isInteger(id) && id > 0 ? id : undefined;
}

/** Keeps which project was looked at. */
export function rememberProject(id: number): void {
  localStorage.setItem(name, String(id));
}
