import { err, ok, type Result } from '../contract/index.ts';

/** A prompt file: what goes into the system and into the user message. */
export interface Template {
  readonly name: string;
  readonly system: string;
  readonly user: string;
}

const placeholder = /\{\{([a-z][A-Za-z0-9]*)\}\}/g;
const marker = /^=== (system|user) ===$/;

/** Names of the placeholders in a text, in order of first use. */
export function placeholdersOf(text: string): string[] {
  return [...new Set([...text.matchAll(placeholder)].map((m) => m[1] as string))];
}

/** Anything with double braces that is no placeholder is a typing mistake: `{{ code }}`, `{{Code}}`, `{{code}`. */
function strayBraces(text: string): string | null {
  const rest = text.replace(placeholder, '');
  const at = rest.search(/\{\{|\}\}/);
  return at < 0 ? null : rest.slice(at, at + 30);
}

/**
 * Reads a prompt file: a line `=== system ===`, its text, a line `=== user ===`, its text.
 * Errors: `format.invalid` naming the file and what is wrong with it.
 */
export function parseTemplate(name: string, text: string): Result<Template> {
  const bad = (what: string) =>
    err('format.invalid', `The prompt file ${name}.md is not usable: ${what}.`, {
      remedy: 'Mend the file, or restore the one that came with the program.',
    });
  const parts = new Map<string, string[]>();
  let current: string[] | null = null;
  for (const line of text.replaceAll('\r\n', '\n').split('\n')) {
    const section = marker.exec(line)?.[1];
    if (section !== undefined) {
      if (parts.has(section)) return bad(`the ${section} part is there twice`);
      current = [];
      parts.set(section, current);
    } else if (current !== null) current.push(line);
    else if (line.trim() !== '') return bad('text before the line "=== system ==="');
  }
  const system = parts.get('system')?.join('\n').trim();
  const user = parts.get('user')?.join('\n').trim();
  if (!system || !user) return bad('it needs a system and a user part, both with text');
  const stray = strayBraces(system) ?? strayBraces(user);
  if (stray !== null) return bad(`"${stray}" is no placeholder`);
  return ok({ name, system, user });
}

export type Values = Readonly<Record<string, string>>;

/**
 * Puts values into placeholders in one pass: values are never scanned again, so code with double braces is safe.
 * A line that holds only a placeholder with an empty value disappears, together with the blank line after it.
 * Errors: `format.invalid` for a placeholder without a value.
 */
export function fillText(name: string, text: string, values: Values): Result<string> {
  for (const key of placeholdersOf(text))
    if (values[key] === undefined)
      return err('format.invalid', `The prompt file ${name}.md asks for {{${key}}}, which does not exist there.`, {
        remedy: `Known there: ${Object.keys(values).sort().join(', ') || 'none'}.`,
      });
  const alone = /^\{\{([a-z][A-Za-z0-9]*)\}\}\n\n?/gm;
  const withoutEmpty = `${text}\n`.replace(alone, (line, key: string) => (values[key] === '' ? '' : line));
  return ok(withoutEmpty.replace(placeholder, (_, key: string) => values[key] ?? '').trimEnd());
}

/** Fills both parts. A value that neither part uses is an error too: a prompt must not lose information by a deletion unseen. */
export function fillTemplate(template: Template, values: Values): Result<{ system: string; user: string }> {
  const used = new Set([...placeholdersOf(template.system), ...placeholdersOf(template.user)]);
  const unused = Object.keys(values).filter((key) => !used.has(key));
  if (unused.length > 0)
    return err('format.invalid', `The prompt file ${template.name}.md lacks {{${unused.join('}}, {{')}}}.`, {
      remedy: 'Put the placeholder back: the agent needs what it stands for.',
    });
  const system = fillText(template.name, template.system, values);
  if (!system.ok) return system;
  const user = fillText(template.name, template.user, values);
  if (!user.ok) return user;
  return ok({ system: system.value, user: user.value });
}

/** A fenced block whose fence is longer than any run of backticks inside. */
export function fenced(tag: string, content: string): string {
  const longest = Math.max(2, ...[...content.matchAll(/`+/g)].map((m) => m[0].length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${tag}\n${content.replace(/\n+$/, '')}\n${fence}`;
}
