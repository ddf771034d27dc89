import type { Host } from '../../src/host/ports/index.ts';

/** The same host with each of its ports wrapped. */
export function withPorts(host: Host, wrap: <Port extends object>(name: string, port: Port) => Port): Host {
  return {
    kind: host.kind,
    accounts: wrap('accounts', host.accounts),
    bootEnvironments: wrap('bootEnvironments', host.bootEnvironments),
    commands: wrap('commands', host.commands),
    disks: wrap('disks', host.disks),
    domain: wrap('domain', host.domain),
    ...(host.faults && { faults: wrap('faults', host.faults) }),
    files: wrap('files', host.files),
    jails: wrap('jails', host.jails),
    lease: wrap('lease', host.lease),
    machine: wrap('machine', host.machine),
    network: wrap('network', host.network),
    packages: wrap('packages', host.packages),
    plugins: wrap('plugins', host.plugins),
    replication: wrap('replication', host.replication),
    services: wrap('services', host.services),
    statistics: wrap('statistics', host.statistics),
    targets: wrap('targets', host.targets),
    web: wrap('web', host.web),
    zfs: wrap('zfs', host.zfs),
    close: () => host.close(),
  };
}
