// oxlint-disable typescript/consistent-type-imports -- A declared module imports nothing by path.
/** A Tabler icon, which the build turns into a module (`scripts/package/icons.ts`). */
declare module 'icon:*' {
  const icon: import('./page/icon.tsx').Icon;
  export default icon;
}
