/** Cells of a record whose cells are all quoted, as ncu writes them; [] for other text. Pages have many rows, and raw rows
 * thousands of cells: no general CSV here. */
export function quotedCells(line: string): string[] {
  const out: string[] = [];
  let at = 0;
  while (at < line.length) {
    if (line[at] !== '"') return [];
    let end = line.indexOf('"', at + 1);
    while (end >= 0 && line[end + 1] === '"') end = line.indexOf('"', end + 2);
    if (end < 0) return [];
    out.push(line.slice(at + 1, end).replaceAll('""', '"'));
    at = end + 1;
    if (at >= line.length) return out;
    if (line[at] !== ',') return [];
    at++;
  }
  return [...out, '']; // a comma at the end, as after kernel names
}
