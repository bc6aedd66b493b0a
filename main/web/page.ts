/** A small page of the server itself: for people who are not let in, or whose build has no screens. */
export const page = (title: string, lines: readonly string[], head = ''): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – CUDAMaster</title>
${head}<h1>${title}</h1>
${lines.map((line) => `<p>${line}</p>`).join('\n')}
</html>
`;

export const pages = {
  again: page('One moment', ['<a href="/">Go on</a>'], '<meta http-equiv="refresh" content="0;url=/">\n'),
  locked: page('A link is needed', [
    'Open the address that <code>cudamaster serve</code> printed when it started: it holds a key that works once.',
    'To get a new one, press Enter in the terminal where the server runs, or start it again.',
  ]),
  wrong: page('This link does not fit', [
    'It belongs to another start of the server, or is not complete. Copy the whole address.',
  ]),
  used: page('This link was used already', [
    'A link works once. In the browser that used it, open the address without the part after the slash.',
    'For another browser, press Enter in the terminal where the server runs: it prints a new link.',
  ]),
  slow: page('Too many wrong links', ['Wait a minute, then open the address that the server printed.']),
  missing: page('The screens are not built', [
    'This copy of CUDAMaster has no <code>dist/renderer</code>. The command line works without it.',
    'In a clone of the repository: <code>npm run build</code>, then load this page again.',
  ]),
} as const;
