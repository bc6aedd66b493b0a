const closeTag = /<\/(think|thinking|thought|reasoning)>/gi;
const openAtStart = /^\s*<(think|thinking|thought|reasoning)>/i;

/**
 * The part of a reply that is meant as the answer. Thinking ends with the last closing tag, whether an opening one was sent
 * or not, and whatever was quoted inside. An opening tag at the start that is never closed: all is thinking, no answer.
 */
export function stripThinking(text: string): { answer: string; thinking: string } {
  let end = -1;
  for (const match of text.matchAll(closeTag)) end = match.index + match[0].length;
  if (end >= 0) return { answer: text.slice(end).trimStart(), thinking: text.slice(0, end) };
  if (openAtStart.test(text)) return { answer: '', thinking: text };
  return { answer: text, thinking: '' };
}
