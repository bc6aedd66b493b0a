import type { AppError } from '../../contract/index.ts';
import type { Issue } from './check.ts';
import { type Fault, faultAt } from './draft-fault.ts';
import type { DeclaredParam } from './draft-source.ts';

/** Where in a draft the cause of an issue of its task.json lies: the text names the place in the file. */
function placeOf(text: string, params: readonly DeclaredParam[]): Pick<Fault, 'field' | 'name'> {
  const param = /\bwrapper\.params\[(\d+)\]\.(\w+)/.exec(text);
  const name = param ? (params[Number(param[1])]?.name ?? null) : null;
  if (param?.[2] === 'generator') return { field: 'ints', name };
  if (param?.[2] === 'count') return { field: 'counts', name };
  if (param?.[2] === 'value') return { field: 'values', name };
  if (param) return { field: 'source', name: null };
  if (/^flops\b|, flops\b/.test(text)) return { field: 'flops', name: null };
  const size = /\bsizes\.(?:published)\[(\d+)\]/.exec(text);
  if (size) return { field: 'sizes', name: size[1] as string };
  if (/^(?:dims|sizes\.published)\b/.test(text)) return { field: 'sizes', name: null };
  const line = /^(id|title|prompt)\b/.exec(text)?.[1] as 'id' | 'title' | 'prompt' | undefined;
  if (line !== undefined) return { field: line, name: null };
  return { field: 'task', name: null };
}

/** "task saxpy, wrapper.params[0].count at n=1: text" → "at n=1: text": the field says the rest. */
const shortened = (message: string): string => message.replace(/^task \w+, \S+ (?=at )/, '').replace(/\.$/, '');

function remedyFor(field: Fault['field']): string {
  if (field === 'task') return 'It comes from the fields together: look at dimensions, sizes and counts.';
  if (field === 'id' || field === 'title' || field === 'prompt') return 'Write it in another way.';
  return 'It must hold at every size, also at the small ones that are drawn for verification.';
}

/** Issues of a drafted task at the fields they come from, one for each field. `error`: told where there is no issue to place. */
export function placesOf(issues: readonly Issue[], params: readonly DeclaredParam[], error: AppError): Fault[] {
  const found = new Map<string, Fault>();
  for (const { path, message } of issues) {
    const { field, name } = placeOf(`${path} ${message}`, params);
    const key = `${field} ${name}`;
    const what = field === 'task' ? `${path}: ${shortened(message)}` : shortened(message);
    if (!found.has(key)) found.set(key, faultAt(field, name, what, remedyFor(field)));
  }
  if (found.size > 0) return [...found.values()];
  return [faultAt('task', null, error.message.replace(/\.$/, ''), error.remedy ?? '')];
}
