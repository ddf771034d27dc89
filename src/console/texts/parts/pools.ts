export const disksOf = (disks: string | number, name: string | number, part: string | number) =>
  `${disks} disks of ${name}${part}`;
export const allWell = ', all well';
export const notWell = (wrong: string | number) => `, not well: ${wrong}`;
