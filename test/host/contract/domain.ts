import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Domain, DomainAccess, Joining } from '../../../src/host/ports/domain.ts';
import { type DomainUnderTest, finallyOf, type HostUnderTest } from '../../support/hosts.ts';
import { refused } from './support.ts';

const silent = () => {};

function accessTo({ name, administrator, server }: DomainUnderTest, more: Partial<DomainAccess> = {}): DomainAccess {
  return {
    domain: name,
    account: administrator,
    server,
    ticketServers: server === undefined ? [] : [server],
    site: undefined,
    protection: 'sign',
    authority: undefined,
    seconds: 60,
    dnsSeconds: 20,
    ...more,
  };
}

function joiningOf(domain: DomainUnderTest, more: Partial<Joining> = {}): Joining {
  return { ...accessTo(domain), workgroup: domain.workgroup, netbiosName: 'contract', dnsUpdates: false, ...more };
}

/** What the machine says of a domain that it is asked about: nothing of it has changed afterwards. */
async function objectionOf(domain: Domain, access: DomainAccess): Promise<string> {
  const before = await domain.membership();
  const inquiry = await domain.inquire(access);
  assert.deepEqual(await domain.membership(), before);
  if (inquiry.found) return 'none';
  assert.notEqual(inquiry.said, '');
  return inquiry.objection;
}

export function describeDomain(hosts: readonly HostUnderTest[]): void {
  for (const { title, start, domain: known } of hosts) {
    describe(`domains on the ${title} host`, () => {
      if (known === undefined) throw new Error(`There is no domain for the ${title} host.`);

      test('a domain is found with an account of it', async (t) => {
        const { domain } = await start(t);
        assert.deepEqual(await domain.inquire(accessTo(known)), {
          found: true,
          workgroup: known.workgroup,
          siteServers: [],
        });
      });

      test('what is wrong with an inquiry is named', async (t) => {
        const { domain } = await start(t);
        const { name, password } = known.administrator;
        const objections: readonly (readonly [Partial<DomainAccess>, string])[] = [
          [{ account: { name, password: `${password} not` } }, 'password'],
          [{ account: { name: 'nobody-of-it', password } }, 'account'],
          [{ site: 'no-such-site' }, 'site'],
          [{ domain: 'elsewhere.invalid', server: undefined, ticketServers: [], dnsSeconds: 5 }, 'unreachable'],
        ];
        for (const [more, objection] of objections)
          assert.equal(await objectionOf(domain, accessTo(known, more)), objection);
      });

      test('the machine joins and leaves', async (t) => {
        const { domain } = await start(t);
        assert.equal(await domain.membership(), undefined);
        const lines: string[] = [];
        finallyOf(t, () => domain.forget());
        await domain.join(joiningOf(known), (line) => lines.push(line));
        assert.deepEqual(await domain.membership(), { domain: known.name, machine: 'contract' });
        assert.ok(
          lines.some((line) => /joined/i.test(line)),
          lines.join('\n'),
        );
        await domain.leave(joiningOf(known), silent);
        assert.equal(await domain.membership(), undefined);
      });

      test('a machine that was refused is no member, and a member that was refused stays one', async (t) => {
        const { domain } = await start(t);
        const { name, password } = known.administrator;
        const wrong = joiningOf(known, { account: { name, password: `${password} not` } });
        await refused(domain.join(wrong, silent), /./);
        assert.equal(await domain.membership(), undefined);
        await domain.join(joiningOf(known), silent);
        finallyOf(t, () => domain.forget());
        await refused(domain.leave(wrong, silent), /./);
        assert.deepEqual(await domain.membership(), { domain: known.name, machine: 'contract' });
      });

      test('a membership is forgotten without the domain, and joined again', async (t) => {
        const { domain } = await start(t);
        finallyOf(t, () => domain.forget());
        await domain.join(joiningOf(known), silent);
        await domain.forget();
        assert.equal(await domain.membership(), undefined);
        await domain.forget();
        await domain.join(joiningOf(known), silent);
        assert.deepEqual(await domain.membership(), { domain: known.name, machine: 'contract' });
      });

      test('a port of a controller accepts a connection, and others do not', async (t) => {
        const { domain } = await start(t);
        const { controller } = known;
        assert.equal(await domain.answers({ host: controller, port: 389 }, 10), true);
        assert.equal(await domain.answers({ host: controller, port: 1 }, 10), false);
        assert.equal(await domain.answers({ host: 'nas.invalid', port: 389 }, 5), false);
      });
    });
  }
}
