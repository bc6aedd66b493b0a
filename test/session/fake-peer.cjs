// A runner or judge that speaks the harness protocol without GPU, reference or candidate, and misbehaves on demand. Started as a real process:
// the tests write a small executable that requires this file. Every request is appended to trace.log in the working directory.
const net = require('node:net');
const fs = require('node:fs');

const elementBytes = { f32: 4, bf16: 2, i32: 4 };

function frame(text, blob) {
  const body = Buffer.from(text);
  const head = Buffer.alloc(8);
  head.writeUInt32LE(body.length, 0);
  head.writeUInt32LE(blob ? blob.length : 0, 4);
  return Buffer.concat(blob ? [head, body, blob] : [head, body]);
}

function serve(role, answer) {
  const socket = net.connect(process.argv[2]);
  let held = Buffer.alloc(0);
  let busy = Promise.resolve();
  const peek = () => held;
  socket.on('data', (chunk) => {
    held = Buffer.concat([held, chunk]);
    busy = busy.then(drain);
  });
  socket.on('error', () => process.exit(1));
  socket.on('close', () => process.exit(0));
  async function drain() {
    while (held.length >= 8) {
      const text = held.readUInt32LE(0);
      const size = 8 + text + held.readUInt32LE(4);
      if (held.length < size) return;
      const request = {
        lines: held.toString('utf8', 8, 8 + text).split('\n'),
        blob: held.subarray(8 + text, size),
      };
      held = held.subarray(size);
      request.words = request.lines[0].split(' ');
      const [command, nonce, ...args] = request.words;
      fs.appendFileSync('trace.log', `${role} ${process.pid} ${command} ${args.join(' ')}\n`);
      const reply = await answer(command, args, request, { peek, socket });
      if (reply === 'silent') return;
      const { blob, raw, ...json } = reply ?? {};
      socket.write(raw ?? frame(JSON.stringify({ ok: true, nonce, ...json }), blob));
      if (command === 'quit') {
        socket.end();
        setTimeout(() => process.exit(0), 5);
      }
    }
  }
}

/**
 * Behaviour: { wrapperNs: {arm: ns}, spanNs: {arm: ns}, act(context) → replacement reply, … } as plain data:
 * `arch`: what the GPU is; a library that was built for another ("-arch=…" in its text) is refused when it is called.
 * `on` maps "command" or "command ARM" to { at: n-th such request (1 = first), do: 'crash'|'exit'|'hang'|'stall'|'garbage'|'nonce'|'twice', reply: {…},
 * under: only under such a replay of the fake ncu }.
 */
exports.runner = (behaviour) => {
  let buffers = [];
  const seen = {};
  let calls = 0;
  const loaded = {};
  const value = (table, arm) => (table?.[arm] ?? 10_000) + (calls % 7) * 32;
  serve('runner', async (command, args, request, { peek, socket }) => {
    for (const key of [command, `${command} ${args[0]}`]) {
      seen[key] = (seen[key] ?? 0) + 1;
      const rule = behaviour.on?.[key];
      if (!rule || (rule.at !== undefined && rule.at !== seen[key])) continue;
      const done = await misbehave(rule, request, socket);
      if (done) return done;
    }
    switch (command) {
      case 'hello':
        return { gpu: null, pid: process.pid };
      case 'problem':
        buffers = request.lines
          .filter((line) => line.startsWith('buf '))
          .map((line) => ({ elem: line.split(' ')[3], count: Number(line.split(' ')[4]) }));
        return { bytes: 0 };
      case 'cupti':
        return { step: 32 };
      case 'load':
        if (behaviour.arch) loaded[args[0]] = fs.readFileSync(args[1], 'utf8');
        return {};
      case 'call': {
        calls++;
        if (behaviour.arch && !loaded[args[0]]?.includes(`-arch=${behaviour.arch}`))
          return misbehave({ do: 'reply', reply: { cuda: 'cudaErrorNoKernelImageForDevice: no kernel image is available for execution on the device' } }, request, socket);
        if (behaviour.peekAfterCall) {
          await new Promise((resolve) => setTimeout(resolve, 3));
          if (peek().length > 0) fs.appendFileSync('trace.log', `runner ${process.pid} early\n`);
        }
        const [arm, quantity] = args;
        return {
          wrapperNs: value(behaviour.wrapperNs, arm),
          spanNs: ['span', 'gated'].includes(quantity) ? value(behaviour.spanNs, arm) - 5_000 : null,
          eventNs: quantity === 'event' ? 9_000 : null,
          late: 0,
          early: 0,
          unjoined: 0,
          dropped: 0,
          stragglers: 0,
          acts: ['span', 'gated'].includes(quantity) ? [{ kind: 'kernel', name: `k_${arm}`, n: 2, ns: 4_000, grid: [1, 1, 1], block: [32, 1, 1], regs: 16, shs: 0, shd: 0 }] : undefined,
          threads: [3, 3],
          newThreads: [],
          cuda: null,
        };
      }
      case 'gather': {
        const n = request.blob.length / 8;
        return { blob: Buffer.alloc(n * elementBytes[buffers[Number(args[0])].elem]) };
      }
      case 'dump': {
        const b = buffers[Number(args[0])];
        fs.writeFileSync(args[1], Buffer.alloc(b.count * elementBytes[b.elem]));
        return { bytes: b.count * elementBytes[b.elem] };
      }
      case 'check':
        return { guards: [], inputs: [] };
      case 'burst':
        return { totalMs: 1.5, cuda: null };
      case 'clocks':
        return { smMHz: 1980, memMHz: 3201, foreign: [] };
      default:
        return {};
    }
  });
};

async function misbehave(rule, request, socket) {
  if (rule.under && rule.under !== process.env.CM_FAKE_REPLAY) return null;
  if (rule.print) process.stdout.write(rule.print);
  if (rule.stderr) process.stderr.write(rule.stderr);
  switch (rule.do) {
    case 'crash':
      process.kill(process.pid, 'SIGSEGV');
      return 'silent';
    case 'kill':
      process.kill(process.pid, 'SIGKILL');
      return 'silent';
    case 'exit':
      process.exit(0);
      return 'silent';
    case 'hang':
      for (;;) {}
    case 'stall':
      return new Promise(() => undefined);
    case 'garbage':
      return { raw: Buffer.from('{"ok":true,"spanNs":1}\nresult: all correct\n') };
    case 'nonce':
      return { raw: frame('{"ok":true,"nonce":"0000000000000000","wrapperNs":1}') };
    case 'nojson':
      return { raw: frame('all correct') };
    case 'twice':
      socket.write(frame(JSON.stringify({ ok: true, nonce: request.words[1], wrapperNs: 1, spanNs: 1 })));
      return { raw: frame(JSON.stringify({ ok: true, nonce: request.words[1], wrapperNs: 1, spanNs: 1 })) };
    case 'refuse':
      return { ok: false, ...rule.reply };
    case 'reply':
      return { threads: [3, 3], newThreads: [], cuda: null, wrapperNs: 9_000, spanNs: null, late: 0, early: 0, unjoined: 0, dropped: 0, stragglers: 0, acts: [], ...rule.reply };
    default:
      return null;
  }
}

/** Judge: everything is right unless `wrongAt` / `wrongAll` name the n-th such request. */
exports.judge = (behaviour) => {
  let at = 0;
  let all = 0;
  serve('judge', async (command, _args, request, { socket }) => {
    const rule = behaviour.on?.[command];
    if (rule) {
      const done = await misbehave(rule, request, socket);
      if (done) return done;
    }
    if (command === 'at') {
      at++;
      const bad = behaviour.wrongAt?.includes(at) ? 1 : 0;
      return {
        compared: Math.max(1, Math.round(request.blob.length / 12)),
        bad,
        nonFinite: 0,
        worst: bad ? 1e6 : 0.1,
        first: bad ? [{ index: 5, got: 0, want: 1, limit: 1e-6 }] : [],
      };
    }
    if (command === 'all') {
      all++;
      const exists = fs.existsSync(request.words[4]);
      const bad = behaviour.wrongAll?.includes(all) ? 3 : 0;
      return {
        comparison: {
          output: exists ? 'y' : 'no file',
          compared: 64,
          bad,
          nonFinite: 0,
          worst: bad ? 1e6 : 0.2,
          rms: 0.1,
          maxUlp: 0.5,
          rmsUlp: 0.1,
          allZero: false,
          poisonLeft: 0,
          first: bad ? [{ index: 5, got: 'nan', want: 1, limit: 1e-6 }] : [],
          lastBad: bad ? 9 : null,
          stride: bad ? 2 : null,
        },
      };
    }
    return { task: 'fake', threads: 1 };
  });
};
