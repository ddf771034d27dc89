import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { LinuxCommands } from '../../../src/host/linux/commands.ts';
import { expectSuccess, HelperRunner, systemPath } from '../../../src/host/linux/runner.ts';
import { HostError } from '../../../src/host/ports/index.ts';
import { finallyOf, scratchFolder } from '../../support/hosts.ts';
import { refused } from '../contract/support.ts';

function runnerFor(t: TestContext): HelperRunner {
  const runner = new HelperRunner();
  finallyOf(t, () => runner.close());
  return runner;
}

/** Whether a process with this pid runs; one that has ended may be a zombie. */
function lives(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

describe('the runner', () => {
  test('a program gets its arguments, and no shell reads them', async (t) => {
    const outcome = await runnerFor(t).run(['printf', '%s\n', '$HOME', 'a b', '*', 'ü€']);
    assert.deepEqual(outcome, { status: 0, stdout: '$HOME\na b\n*\nü€\n', stderr: '' });
  });

  test('a status other than zero is an answer, and so is a signal', async (t) => {
    const runner = runnerFor(t);
    assert.deepEqual(await runner.run(['sh', '-c', 'echo no >&2; exit 3']), { status: 3, stdout: '', stderr: 'no\n' });
    assert.equal((await runner.run(['sh', '-c', 'kill -KILL $$'])).status, 137);
  });

  test('a program sees a clean environment', async (t) => {
    process.env['SECRET_OF_THE_DAEMON'] = 'x';
    const { stdout } = await runnerFor(t).run(['env'], { environment: { MORE: '1' } });
    assert.deepEqual(stdout.trim().split('\n').toSorted(), [
      'LANG=C.UTF-8',
      'MORE=1',
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    ]);
  });

  test('a program reads its input on standard input', async (t) => {
    const runner = runnerFor(t);
    const long = 'ä'.repeat(300_000);
    assert.equal((await runner.run(['cat'], { input: long })).stdout, long);
    assert.equal((await runner.run(['cat'])).stdout, '');
    assert.equal((await runner.run(['true'], { input: long })).status, 0);
  });

  test('a missing program is a failure that names it', async (t) => {
    await refused(
      runnerFor(t).run(['hf-no-such-program', 'x y']),
      /cannot run hf-no-such-program "x y": this machine has no such program/,
    );
  });

  test('a program that takes too long is stopped with its children, and its output is reported', async (t) => {
    const runner = runnerFor(t);
    const begun = Date.now();
    await refused(
      runner.run(['sh', '-c', 'sleep 60 & echo $!; wait'], { timeout: 300 }),
      /did not end within 0.3 s and was stopped; it said: \d+/,
    );
    assert.ok(Date.now() - begun < 3000);
  });

  test('a program that is aborted ends with its children', async (t) => {
    const runner = runnerFor(t);
    const abort = new AbortController();
    const running = runner.run(['sh', '-c', 'sleep 60 & echo $!; wait'], { signal: abort.signal, keep: 100 });
    await wait(300);
    abort.abort();
    const { status, stdout } = await running;
    assert.equal(status, 143);
    await wait(50);
    assert.ok(!lives(Number(stdout)));
    assert.equal((await runner.run(['true'], { signal: abort.signal })).status, 143);
  });

  test('a program that ignores SIGTERM is killed', async (t) => {
    await refused(
      runnerFor(t).run(['sh', '-c', 'trap "" TERM; while :; do sleep 0.1; done'], { timeout: 200 }),
      /was stopped/,
    );
  });

  test('with `keep` only the last bytes are kept, and no partial characters', async (t) => {
    const runner = runnerFor(t);
    assert.equal((await runner.run(['sh', '-c', 'seq 100000; echo €€€'], { keep: 9 })).stdout, '€€\n');
    assert.equal((await runner.run(['echo', 'abc'], { keep: 4 })).stdout, 'abc\n');
  });

  test('a long output is whole, with the characters that its pieces divide', async (t) => {
    const runner = runnerFor(t);
    const long = '0€'.repeat(1_000_000);
    const { stdout } = await runner.run(['cat'], { input: long });
    assert.ok(stdout === long, `${stdout.length} characters instead of ${long.length}`);
    const { stderr } = await runner.run(['sh', '-c', 'cat >&2'], { input: long });
    assert.ok(stderr === long, `${stderr.length} characters instead of ${long.length}`);
    await refused(
      runner.run(['sh', '-c', 'seq 100000; exec sleep 60'], { timeout: 1000 }),
      /was stopped; it said: [\s\S]*\n100000$/,
    );
  });

  test('a long output is whole, although the daemon does not read it for a while', async (t) => {
    // The program ends while the helper waits for the daemon: most of these lines fit into the channel.
    const running = runnerFor(t).run(['sh', '-c', 'sleep 0.5; seq 55000']);
    await wait(200);
    const until = Date.now() + 2500;
    while (Date.now() < until);
    assert.match((await running).stdout, /\n55000\n$/);
  });

  test('the helper is no larger after long outputs', async (t) => {
    const runner = runnerFor(t);
    const pid = Number((await runner.run(['sh', '-c', 'echo $PPID'])).stdout);
    const size = () => Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    const before = size();
    for (let round = 0; round < 6; round += 1) await runner.run(['head', '--bytes=10000000', '/dev/zero']);
    assert.ok(size() < before + 8 * 1024, `${before} kB have become ${size()} kB`);
  });

  test('a program that prints without end is stopped', async (t) => {
    await refused(runnerFor(t).run(['yes'], { timeout: 20_000 }), /printed more than 64 MiB/);
  });

  test('a background program that keeps the output open does not delay the outcome', async (t) => {
    const begun = Date.now();
    const { stdout } = await runnerFor(t).run(['sh', '-c', 'echo done; sleep 20 & exit 0']);
    assert.equal(stdout, 'done\n');
    assert.ok(Date.now() - begun < 5000);
  });

  test('many programs run at the same time', async (t) => {
    const runner = runnerFor(t);
    const outcomes = await Promise.all(Array.from({ length: 40 }, (_, index) => runner.run(['echo', String(index)])));
    assert.deepEqual(
      outcomes.map((outcome) => outcome.stdout.trim()),
      Array.from({ length: 40 }, (_, index) => String(index)),
    );
  });

  test('when the helper is killed, its programs fail and another helper is started', async (t) => {
    const runner = runnerFor(t);
    const { stdout } = await runner.run(['sh', '-c', 'echo $PPID']);
    const running = runner.run(['sleep', '30']);
    const failing = refused(running, /the helper process ended/);
    await wait(100);
    process.kill(Number(stdout), 'SIGKILL');
    await failing;
    assert.equal((await runner.run(['echo', 'again'])).stdout, 'again\n');
  });

  test('a followed program is reported line by line until it is ended', async (t) => {
    const runner = runnerFor(t);
    const lines: string[] = [];
    const stop = runner.follow(['sh', '-c', 'for i in 1 2 3; do echo $i; done; exec sleep 60'], {
      line: (line) => lines.push(line),
      ended: () => assert.fail('it ended'),
    });
    while (lines.length < 3) await wait(20);
    stop();
    await wait(100);
    assert.deepEqual(lines, ['1', '2', '3']);
  });

  test('a followed program that ends by itself is reported with the reason', async (t) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    runnerFor(t).follow(['sh', '-c', 'echo bad >&2; exit 4'], { line: () => {}, ended: resolve });
    assert.match(await promise, /ended with the status 4; it said: bad/);
  });

  test('closing ends followed programs, and nothing runs afterwards', async (t) => {
    const runner = runnerFor(t);
    const lines: string[] = [];
    runner.follow(['sh', '-c', 'echo $$; exec sleep 60'], { line: (line) => lines.push(line), ended: () => {} });
    while (lines.length < 1) await wait(20);
    await runner.close();
    await wait(100);
    assert.ok(!lives(Number(lines[0])));
    await refused(runner.run(['true']), /the host is closed/);
  });

  test('closing ends a program that prints without end, also in the middle of a message', {
    timeout: 30_000,
  }, async () => {
    for (let round = 0; round < 5; round += 1) {
      const runner = new HelperRunner();
      await new Promise<void>((resolve) => {
        runner.follow(['yes', `a line of round ${round}`], { line: () => resolve(), ended: () => {} });
      });
      await wait(10 * round);
      await runner.close();
    }
  });

  test('a failure has the program’s own message, and the whole output as its cause', () => {
    const outcome = { status: 1, stdout: '', stderr: "cannot create 'tank': pool already exists\n" };
    assert.throws(
      () => expectSuccess(outcome, ['zpool', 'create', 'tank']),
      (error) => {
        assert.ok(error instanceof HostError && error.cause instanceof Error);
        assert.equal(error.message, "cannot create 'tank': pool already exists");
        assert.match(error.cause.message, /^zpool create tank ended with the status 1; it said: cannot create/);
        return true;
      },
    );
    assert.throws(
      () => expectSuccess({ status: 1, stdout: '', stderr: '' }, ['false']),
      /^HostError: false ended with the status 1$/,
    );
  });
});

const isRoot = process.getuid?.() === 0;

describe('a user’s command', { skip: isRoot ? false : 'only root can become another user' }, () => {
  const run = (t: TestContext, line: string, user = 'nobody', signal = new AbortController().signal) =>
    new LinuxCommands({ runner: runnerFor(t) }).run({ user, line, signal, keep: 1000 });

  test('runs as that user, with the environment of a line of the cron table', async (t) => {
    const { stdout } = await run(t, 'id -un; id -gn; echo "$HOME $SHELL $PATH $LOGNAME"; pwd; cat');
    assert.deepEqual(stdout.split('\n').slice(0, 4), [
      'nobody',
      'nogroup',
      `/nonexistent /bin/sh ${systemPath} nobody`,
      '/',
    ]);
  });

  test('runs in the home folder, with all groups of the name', async (t) => {
    const { stdout } = await run(t, 'pwd; id -G', 'root');
    assert.deepEqual(stdout.split('\n')[0], '/root');
  });

  test('as a program it gets its arguments unchanged, and reports its lines as they come', async (t) => {
    const heard: string[] = [];
    const argv = ['printf', '%s\\r%s\\n%s', '$HOME', 'b c', 'end'];
    const program = {
      user: 'nobody',
      argv,
      signal: new AbortController().signal,
      keep: 1000,
      heard: (line: string) => void heard.push(line),
    };
    assert.deepEqual(await new LinuxCommands({ runner: runnerFor(t) }).runProgram(program), {
      status: 0,
      stdout: '$HOME\rb c\nend',
      stderr: '',
    });
    assert.deepEqual(heard, ['$HOME', 'b c', 'end']);
  });

  test('that prints without end keeps no other program waiting, and is heard by the lines that count', async (t) => {
    const runner = runnerFor(t);
    let heard = 0;
    const stop = runner.follow(['yes', 'a line that nobody needs\na line that counts'], {
      only: /counts$/,
      line: (text) => {
        assert.equal(text, 'a line that counts');
        heard += 1;
      },
      ended: () => {},
    });
    t.after(stop);
    while (heard < 100_000) await wait(20);
    const signal = AbortSignal.timeout(50);
    assert.equal((await runner.run(['sleep', '60'], { signal, timeout: 5000 })).status, 143);
    assert.equal((await runner.run(['echo', 'here'], { timeout: 5000 })).stdout, 'here\n');
  });

  test('makes files that others may read, whatever the umask of the daemon', async (t) => {
    assert.equal((await run(t, 'umask')).stdout, '0022\n');
  });

  test('is read by the shell unchanged, and any exit status is an answer', async (t) => {
    assert.deepEqual(await run(t, 'echo "it\'s $((1+2))" | tr a-z A-Z; exit 5'), {
      status: 5,
      stdout: "IT'S 3\n",
      stderr: '',
    });
  });

  test('has none of the rights of root', async (t) => {
    const folder = scratchFolder(t);
    assert.notEqual((await run(t, `touch ${folder}/x`)).status, 0);
    assert.equal((await run(t, 'grep CapEff /proc/self/status')).stdout, 'CapEff:\t0000000000000000\n');
  });

  test('ends early when it is aborted', async (t) => {
    const abort = new AbortController();
    const program = {
      user: 'nobody',
      argv: ['sh', '-c', 'echo begun; sleep 60'],
      signal: abort.signal,
      keep: 1000,
      heard: () => abort.abort(),
    };
    assert.deepEqual(await new LinuxCommands({ runner: runnerFor(t) }).runProgram(program), {
      status: 143,
      stdout: 'begun\n',
      stderr: '',
    });
  });

  test('of an unknown account is refused', async (t) => {
    await refused(run(t, 'true', 'hf-no-such-user'), /no account is called hf-no-such-user/);
    await refused(run(t, 'true', '0'), /no account is called 0/);
  });
});
