import { type Command, InvalidArgumentError } from 'commander';
import { type PriceAnswer, providerNames } from '../app/index.ts';
import type { ModelState, ProviderState, RemoteDisclosure, Spend, SpendSum } from '../contract/index.ts';
import { answer, contextOf, type Session } from './answers.ts';
import { askYes } from './ask.ts';
import { type Paint, printable, table, wrap } from './output.ts';

type Finish = (code: number) => void;
type Answered<T> = Parameters<typeof answer<T>>[1];

/** `--json` may stand behind any command of the program, those of a group included. */
const json = (command: Command): Command =>
  command.option('--json', 'JSON Lines on stdout, the last line is the result').exitOverride();

/** Commands about models: where they are, what they cost, what was spent. */
export function modelCommands(program: Command, open: () => Session, finish: Finish): void {
  const tell = <T>(
    s: Session,
    result: Answered<T>,
    value: (v: T) => unknown,
    lines: (v: T, paint: Paint) => string[],
  ) =>
    finish(
      answer(
        s,
        result,
        value,
        (v) => lines(v, s.printer.paint),
        () => 0,
      ),
    );
  providerCommands(program, open, tell);
  priceCommands(program, open, tell);
  program
    .command('spend')
    .description('what models cost: by month, task, model and run; unknown costs are counted, not taken as zero')
    .action(async () => {
      const s = open();
      tell(s, await s.host.services.spend({}, contextOf(s)), (v) => v, spendLines);
    });
}

type Tell = <T>(
  s: Session,
  result: Answered<T>,
  value: (v: T) => unknown,
  lines: (v: T, paint: Paint) => string[],
) => void;

function providerCommands(program: Command, open: () => Session, tell: Tell): void {
  const providers = program
    .command('providers')
    .description('list where models can be asked; servers on this machine are looked for')
    .action(async () => {
      const s = open();
      tell(s, await s.host.services.providers({}, contextOf(s)), (v) => ({ providers: v }), providerLines);
    });
  json(
    providers
      .command('add <name>')
      .description('enter a provider of your own')
      .requiredOption('--base-url <url>', 'its address, e.g. http://127.0.0.1:8000/v1')
      .option('--key-env <name>', 'environment variable that holds the key (its name, not the key)')
      .option('--title <text>', 'how it is shown'),
  ).action(async (name, o) => {
    const s = open();
    tell(s, await s.host.services.endpoint({ name, ...o }, contextOf(s)), (v) => ({ providers: v }), providerLines);
  });
  json(providers.command('remove <name>').description('remove a provider of your own')).action(async (name) => {
    const s = open();
    tell(s, await s.host.services.endpoint({ name }, contextOf(s)), (v) => ({ providers: v }), providerLines);
  });
  program
    .command('models')
    .description('list the models of a provider, with their context lengths where it tells them')
    .requiredOption(
      '--provider <name>',
      `which: ${providerNames.filter((n) => n !== 'manual').join(', ')}, or one of your own`,
    )
    .option('--base-url <url>', 'address of a compatible server')
    .option('--key-env <name>', 'environment variable that holds the key (its name, not the key)')
    .option('--local-only', 'refuse every connection to another machine')
    .option('--yes-remote', 'agree that the remote host is asked, and that prompts may go there (kept in the settings)')
    .action(async (o) => {
      const s = open();
      const ctx = { ...contextOf(s), confirm: askConsent(s) };
      tell(s, await s.host.services.models(o, ctx), (v) => ({ models: v }), modelLines);
    });
  program
    .command('consent [host]')
    .description('list the remote hosts to which prompts may go; with a host: agree to it')
    .option('--revoke <host>', 'take it back')
    .action(async (host, o) => {
      const s = open();
      const params = { give: host, revoke: o.revoke };
      tell(
        s,
        await s.host.services.consent(params, contextOf(s)),
        (v) => v,
        ({ hosts }) =>
          hosts.length === 0 ? ['Prompts may go to no remote host.'] : hosts.map((h) => `prompts may go to ${h}`),
      );
    });
}

const price = (text: string): number => {
  const n = Number(text);
  if (text.trim() === '' || !Number.isFinite(n) || n < 0) throw new InvalidArgumentError('An amount is needed.');
  return n;
};

function priceCommands(program: Command, open: () => Session, tell: Tell): void {
  const prices = program
    .command('prices')
    .description('list the prices you entered; the program ships none')
    .action(async () => {
      const s = open();
      tell(s, await s.host.services.prices({}, contextOf(s)), (v) => v, priceLines);
    });
  json(
    prices
      .command('set <model>')
      .description('enter or change a price, US dollars per million tokens')
      .requiredOption('--input <amount>', 'of the prompt', price)
      .requiredOption('--output <amount>', 'of the answer', price)
      .requiredOption('--source <text>', 'where it can be checked: the page, or the contract')
      .option('--as-of <day>', 'day on which it was read there, 2026-01-31; default today')
      .option('--address <host>', 'only for this host'),
  ).action(async (model, o) => {
    const s = open();
    tell(s, await s.host.services.setPrice({ model, ...o }, contextOf(s)), (v) => v, priceLines);
  });
  json(
    prices
      .command('remove <model>')
      .description('remove a price')
      .option('--address <host>', 'the entry for this host'),
  ).action(async (model, o) => {
    const s = open();
    tell(s, await s.host.services.removePrice({ model, ...o }, contextOf(s)), (v) => v, priceLines);
  });
}

function stateOf(p: ProviderState): string {
  if (p.blocked) return 'forbidden by "local only"';
  if (p.running !== null) {
    if (!p.running) return p.note ?? 'not running';
    return `running${p.models === null ? '' : `, ${p.models} models`}${p.note ? ` (${p.note})` : ''}`;
  }
  if (p.remote === null) return '';
  return p.consented ? 'remote, agreed' : 'remote, asks before the first prompt';
}

const keyText = (p: ProviderState): string =>
  p.keyEnv === null ? '' : `${p.keyEnv} ${p.keySet ? 'is set' : 'is not set'}`;

function providerLines(providers: readonly ProviderState[], paint: Paint): string[] {
  const rows = providers.map((p) => [p.name, p.title, p.baseUrl ?? '', keyText(p), stateOf(p)].map(printable));
  const quirks = providers.flatMap((p) => p.quirks.flatMap((q) => wrap(`${p.name}: ${printable(q)}`, 110, '  ')));
  return [
    ...table([['provider', 'name', 'address', 'key', 'state'], ...rows]),
    '',
    paint('bold', 'Worth knowing'),
    ...quirks,
  ];
}

function modelLines(models: readonly ModelState[]): string[] {
  if (models.length === 0) return ['The server offers no model.'];
  const rows = models.map((m) =>
    [
      m.id,
      m.contextTokens === null ? 'unknown' : String(m.contextTokens),
      m.price === null ? 'unknown' : `$${m.price.input} / $${m.price.output} (${m.price.asOf})`,
    ].map(printable),
  );
  return table([['model', 'context', 'price per million tokens, in / out'], ...rows], [1]);
}

function priceLines(prices: PriceAnswer): string[] {
  const rows = prices.models.map((m) =>
    [m.model, m.address ?? 'any', String(m.input), String(m.output), m.asOf, m.source].map(printable),
  );
  const head = ['model', 'host', 'input', 'output', 'read on', 'source'];
  const lines = rows.length === 0 ? ['No price is entered: costs are unknown.'] : table([head, ...rows], [2, 3]);
  return [...lines, `file: ${prices.file} (US dollars per million tokens)`];
}

/** "$1.2300 and 2 of unknown cost"; unknown is said, never shown as $0. */
export function costText(s: Pick<SpendSum, 'replies' | 'usd' | 'unknown'>): string {
  if (s.replies === 0) return '$0 (no replies)';
  if (s.usd === null) return 'unknown';
  return `$${s.usd.toFixed(4)}${s.unknown > 0 ? ` and ${s.unknown} of unknown cost` : ''}`;
}

const tokenText = (n: number | null): string => (n === null ? 'unknown' : String(n));

function spendLines(spend: Spend, paint: Paint): string[] {
  const row = (key: string, s: SpendSum) =>
    [key, String(s.replies), costText(s), tokenText(s.promptTokens), tokenText(s.completionTokens)].map(printable);
  const head = (name: string) => [name, 'replies', 'cost', 'prompt tokens', 'answer tokens'];
  const part = (name: string, sums: readonly (SpendSum & { key: string })[]) =>
    sums.length === 0 ? [] : ['', ...table([head(name), ...sums.map((s) => row(s.key, s))], [1, 3, 4])];
  const unknown = spend.total.unknownTokens;
  return [
    paint('bold', `Total: ${costText(spend.total)}, ${spend.total.replies} replies`),
    ...(unknown > 0 ? [`${unknown} replies of unknown length are in no sum of tokens.`] : []),
    ...part('month (UTC)', spend.month),
    ...part('task', spend.task),
    ...part('model', spend.model),
    ...part('run', spend.run.slice(0, 30)),
  ];
}

/** Asks the person at the terminal; absent where nobody can be asked, or where only JSON may be written. */
export function askConsent(
  session: Pick<Session, 'printer' | 'json' | 'signal'>,
): ((place: RemoteDisclosure) => Promise<boolean>) | undefined {
  const ask = askYes(session, 'Agree? [y/N] ');
  return ask && ((place) => ask(wrap(printable(place.text), 100, '')));
}
