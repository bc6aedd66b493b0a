import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type AgentName, agentNames, err, ok, type Result } from '../contract/index.ts';
import { parseTemplate, type Template } from './template.ts';

export const knowledgeNames = ['rules', 'timing', 'gpu', 'precision-fp32', 'precision-bf16'] as const;
export type KnowledgeName = (typeof knowledgeNames)[number];

/** Every prompt file, read once per run. */
export interface PromptSet {
  readonly agents: Readonly<Record<AgentName, Template>>;
  readonly continuation: Template;
  readonly knowledge: Readonly<Record<KnowledgeName, string>>;
}

async function read(dir: string, name: string): Promise<Result<string>> {
  const path = join(dir, `${name}.md`);
  try {
    return ok((await readFile(path, 'utf8')).replaceAll('\r\n', '\n'));
  } catch (fault) {
    return err('input.file', `The prompt file ${path} cannot be read.`, {
      remedy: 'Restore the prompts folder that came with the program.',
      detail: fault instanceof Error ? fault.message : String(fault),
    });
  }
}

async function readTemplate(dir: string, name: string): Promise<Result<Template>> {
  const text = await read(dir, name);
  return text.ok ? parseTemplate(name, text.value) : text;
}

/**
 * Reads `<dir>/{planner,coder,compiler,debug,continue}.md` and `<dir>/knowledge/*.md`; `dir` is `prompts/` under resourceRoot().
 * Errors: `input.file` (missing), `format.invalid` (not a prompt file).
 */
export async function loadPrompts(dir: string): Promise<Result<PromptSet>> {
  const agents: Partial<Record<AgentName, Template>> = {};
  for (const name of agentNames) {
    const template = await readTemplate(dir, name);
    if (!template.ok) return template;
    agents[name] = template.value;
  }
  const continuation = await readTemplate(dir, 'continue');
  if (!continuation.ok) return continuation;
  const knowledge: Partial<Record<KnowledgeName, string>> = {};
  for (const name of knowledgeNames) {
    const text = await read(join(dir, 'knowledge'), name);
    if (!text.ok) return text;
    knowledge[name] = text.value.trim();
  }
  return ok({
    agents: agents as Record<AgentName, Template>,
    continuation: continuation.value,
    knowledge: knowledge as Record<KnowledgeName, string>,
  });
}
