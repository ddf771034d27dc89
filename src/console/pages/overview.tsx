import { entryOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { now } from '../base/contact.ts';
import { bytes, when } from '../base/format.ts';
import { useLive } from '../base/live.ts';
import { undo } from '../base/notices.ts';
import { readRevisions } from '../base/revisions.ts';
import { link } from '../base/route.ts';
import { Card, Scroller, SpaceBar, SpaceKey, Waiting } from '../parts/common.tsx';
import { JobLine } from '../parts/job.tsx';
import { MeasuredCharts } from '../parts/measured.tsx';
import { Named } from '../parts/named.tsx';
import { DiskRow, type Pool, PoolState, readPools } from '../parts/pools.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';
import { taskNames } from '../parts/task-names.ts';
import * as t from '../texts/pages/overview.ts';

/** One screen: is everything well, and if not, what ends it. */
export default function Overview() {
  const problems = useLive('problems', ['problems'], () => client.get('/api/holdfast/v1/problems'));
  const open = problems.value?.filter(({ dismissed }) => !dismissed) ?? [];
  return (
    <>
      <h1 class="unseen">{t.overview}</h1>
      <div class="notes">
        {problems.value === undefined ? (
          <Waiting refused={problems.refused} what={t.theProblems} />
        ) : open.length === 0 ? (
          <p class="well">
            <span class="dot ok">{t.everythingIsWell}</span>
          </p>
        ) : (
          open.map((one) => <ProblemNote key={one.id} problem={one} />)
        )}
      </div>
      <div class="cards two">
        <div class="cards">
          <Pools />
          <MeasuredCharts />
          <Changes />
        </div>
        <div class="cards">
          <Running />
          <Next />
          <Services />
        </div>
      </div>
    </>
  );
}

function Pools() {
  const pools = useLive('pools', ['machine', 'record:storage/volume'], readPools);
  return (
    <Card title={t.pools} beside={<a href={link('storage', 'new-pool')}>{t.newPool}</a>}>
      {pools.value === undefined ? (
        <Waiting refused={pools.refused} what={t.thePools} />
      ) : pools.value.length === 0 ? (
        <div class="welcome">
          <p>{t.thereIsNoPoolYetA}</p>
          <a class="btn primary" href={link('overview', 'first-hour')}>
            {t.setThisMachineUp}
          </a>
          <p class="soft">{t.sevenStepsFromThePasswordTo}</p>
        </div>
      ) : (
        <>
          <Scroller label={t.pools}>
            <table>
              <thead>
                <tr>
                  <th>{t.pool}</th>
                  <th>{t.state}</th>
                  <th>{t.disks}</th>
                  <th class="space">{t.space}</th>
                  <th class="num">{t.free}</th>
                </tr>
              </thead>
              <tbody>
                {pools.value.map((pool) => (
                  <PoolRow key={pool.name} pool={pool} />
                ))}
              </tbody>
            </table>
          </Scroller>
          <SpaceKey data={t.data} further={t.snapshotsAndReserved} />
        </>
      )}
    </Card>
  );
}

function PoolRow({ pool }: { pool: Pool }) {
  const { name, data, further, free, total, isLocked } = pool;
  return (
    <tr>
      <td>
        <a href={link('storage', 'pool', { name })}>{name}</a>
      </td>
      <td>
        <PoolState pool={pool} />
      </td>
      <td>
        <DiskRow pool={pool} />
      </td>
      <td>
        {isLocked ? (
          <span class="soft">{t.unlockToSee}</span>
        ) : (
          <SpaceBar
            total={total}
            label={t.dataSnapshotsAndReservedFree(bytes(data), bytes(further), bytes(free))}
            parts={[
              { kind: 'd', size: data },
              { kind: 's', size: further },
            ]}
          />
        )}
      </td>
      <td class="num">
        {isLocked ? (
          <a href={link('storage', 'command', { of: 'storage/volume', key: name, verb: 'unlock' })}>{t.unlockDots}</a>
        ) : (
          bytes(free)
        )}
      </td>
    </tr>
  );
}

function Changes() {
  const changes = useLive('changes', ['revisions'], () => readRevisions(6));
  return (
    <Card title={t.lastChanges} beside={<a href={link('activity')}>{t.allChanges}</a>}>
      {changes.value === undefined ? (
        <Waiting refused={changes.refused} what={t.theChanges} />
      ) : (
        <Scroller label={t.lastChanges}>
          <table>
            <tbody>
              {changes.value.map(({ number, at, actor, title, comment, revertible }) => (
                <tr key={number}>
                  <td>{when(at, now.value)}</td>
                  <td>{actor}</td>
                  <td class="wrap">
                    {title} {comment != null && <small>{comment}</small>}
                  </td>
                  <td class="num">
                    <a
                      href={link('activity', 'revision', { number: String(number) })}
                      aria-label={t.diffOfChange(number, title)}
                    >
                      {t.diff}
                    </a>{' '}
                    <button
                      type="button"
                      class="quiet"
                      aria-label={t.undoChange(number, title)}
                      disabled={!revertible}
                      onClick={() => void undo(number)}
                    >
                      {t.undo}
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroller>
      )}
    </Card>
  );
}

function Running() {
  const jobs = useLive('running', ['jobs'], () =>
    client.get('/api/holdfast/v1/jobs', { query: { filter: ['state=running'] } }),
  );
  return (
    <Card title={t.running} beside={<a href={link('activity')}>{t.allJobs}</a>}>
      {jobs.value === undefined ? (
        <Waiting refused={jobs.refused} what={t.theJobs} />
      ) : jobs.value.length === 0 ? (
        <p class="soft">{t.nothingIsRunning}</p>
      ) : (
        jobs.value.map((job) => <JobLine key={job.id} job={job} />)
      )}
    </Card>
  );
}

function Next() {
  const next = useLive('next', ['revisions'], () => client.get('/api/holdfast/v1/schedules', { query: { limit: 5 } }));
  const due = next.value?.filter(({ next: at }) => at != null) ?? [];
  return (
    <Card title={t.next} beside={<a href={link('protection')}>{t.tasks}</a>}>
      {next.value === undefined ? (
        <Waiting refused={next.refused} what={t.theSchedules} />
      ) : due.length === 0 ? (
        <p class="soft">{t.noTaskHasAScheduleYet}</p>
      ) : (
        <table>
          <tbody>
            {due.map(({ resource, id, next: at }) => (
              <tr key={`${resource} ${id}`}>
                <td>{at == null ? '' : when(at, now.value)}</td>
                <td>
                  <a href={link(entryOf(resource), 'record', { of: resource, key: String(id) })}>
                    {taskNames[resource] ?? resource} <Named path={resource} value={id} />
                  </a>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

const serviceNames: Readonly<Record<string, string>> = {
  ...{ afp: 'AFP', cifs: 'SMB', domaincontroller: t.domainController, dynamicdns: t.dynamicDns, ftp: 'FTP' },
  ...{ iscsitarget: 'iSCSI', lldp: 'LLDP', netdata: t.netdata, nfs: 'NFS', s3: 'S3', smartd: 'SMART' },
  ...{ snmp: 'SNMP', ssh: 'SSH', tftp: 'TFTP', ups: 'UPS', webdav: t.webDav },
};

function Services() {
  const services = useLive('services', ['record:services/services', 'machine', 'problems'], () =>
    client.get('/api/v1.0/services/services/', { query: { limit: 0 } }),
  );
  const on = services.value?.filter((one) => one.srv_enable) ?? [];
  const off = services.value?.filter((one) => !one.srv_enable) ?? [];
  return (
    <Card title={t.services} beside={<a href={link('system', 'list', { of: 'services/services' })}>{t.settings}</a>}>
      {services.value === undefined ? (
        <Waiting refused={services.refused} what={t.theServices} />
      ) : (
        <table>
          <tbody>
            {on.map(({ id, srv_service: name, srv_state: state }) => (
              <tr key={id}>
                <td>
                  <span class={`dot ${state === 'RUNNING' ? 'ok' : 'warn'}`}> {serviceNames[name] ?? name}</span>
                </td>
                <td class="num soft">
                  {state === 'RUNNING' ? (
                    t.runs
                  ) : (
                    <a href={link('system', 'record', { of: 'services/services', key: String(id) })}>{t.doesNotRun}</a>
                  )}
                </td>
              </tr>
            ))}
            <tr>
              <td class="wrap">
                <span class="dot off">
                  {' '}
                  {off.map(({ srv_service: name }) => serviceNames[name] ?? name).join(', ')}
                </span>
              </td>
              <td class="num soft">{t.off}</td>
            </tr>
          </tbody>
        </table>
      )}
    </Card>
  );
}
