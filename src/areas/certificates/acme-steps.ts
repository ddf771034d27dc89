import { actOnce, type StepKind, type Texts } from '../../engine/plan/steps.ts';
import { type Host, HostError } from '../../host/ports/index.ts';
import { type AcmeAccount, type AcmeOrder, orderCertificate, type Proof } from './acme-client.ts';

interface Ordering extends Texts<'name'> {
  readonly account: AcmeAccount;
  readonly order: Pick<AcmeOrder, 'names' | 'csr' | 'challenge'>;
  /** The argv of the program that sets and removes TXT records; empty for HTTP. */
  readonly hook: readonly string[];
  /** The port at which the requests of the authority arrive. */
  readonly port: number;
  readonly trust: string;
}

/** Milliseconds for a program that waits until all name servers have its record. */
const hookTime = 10 * 60_000;

/** Nothing of an order that was cut short is left: the next one begins again. */
export const orderByAcme = actOnce<'name', Ordering, string>({
  kind: 'order certificate',
  keeps: ['name'],
  title: ({ name, account }) => `order the certificate ${name} from ${new URL(account.directory).host}`,
  claims: [],
  decides: true,
  perform: (host, { account, order, hook, port, trust }, { signal, progress }) => {
    const prove = (proof: Proof) =>
      order.challenge === 'http-01' ? proveByHttp(host, proof, port) : proveByDns(host, proof, hook);
    return orderCertificate(account, { ...order, prove }, { trust, signal, progress });
  },
});

export const certificateStepKinds: readonly StepKind[] = [orderByAcme.stepKind];

async function proveByHttp({ web }: Host, { token, answer }: Proof, port: number): Promise<() => Promise<void>> {
  await web.beginChallenge({ token, answer, port });
  return () => web.endChallenge(token);
}

async function proveByDns(host: Host, { name, record }: Proof, hook: readonly string[]): Promise<() => Promise<void>> {
  const run = async (what: 'set' | 'remove') => {
    const argv = [...hook, what, `_acme-challenge.${name}`, record];
    // Not the signal of the job: a record that was set is removed also when the job is aborted.
    const signal = AbortSignal.timeout(hookTime);
    const program = { user: 'root', argv, signal, keep: 4096, timeout: hookTime };
    const { status, stdout, stderr } = await host.commands.runProgram(program);
    if (status !== 0)
      throw new HostError(
        `${argv.join(' ')} ended with status ${status}: ${(stderr || stdout).trim().split('\n').at(-1)}`,
      );
  };
  await run('set');
  return () => run('remove');
}
