import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostsFile, resolvConf, resolvedConf } from '../../../src/subsystems/names/names.ts';
import { proxyApt, proxyEnvironment, proxyProfile } from '../../../src/subsystems/names/proxy.ts';

const settings = {
  id: 1,
  gc_hostname: 'nas',
  gc_domain: 'example.com',
  gc_domains: 'a.example.com b.example.com',
  gc_ipv4gateway: '',
  gc_ipv6gateway: '',
  gc_nameserver1: '192.0.2.3',
  gc_nameserver2: '2001:db8::3',
  gc_nameserver3: '',
  gc_netwait_enabled: false,
  gc_netwait_ip: '',
  gc_hosts: '192.0.2.7 printer',
  gc_httpproxy: '',
};

test('/etc/hosts has the common entries, the own names, and the configured lines', () => {
  assert.equal(
    hostsFile(settings),
    `# Written by Holdfast.
127.0.0.1 localhost
127.0.1.1 nas.example.com nas
::1 localhost ip6-localhost ip6-loopback
ff02::1 ip6-allnodes
ff02::2 ip6-allrouters
192.0.2.7 printer
`,
  );
  assert.match(hostsFile({ ...settings, gc_hostname: 'nas.other.org' }), /^127\.0\.1\.1 nas\.other\.org nas$/m);
});

test('configured name servers answer all queries', () => {
  assert.equal(
    resolvedConf(settings),
    '# Written by Holdfast.\n[Resolve]\nDNS=192.0.2.3 2001:db8::3\nDomains=example.com a.example.com b.example.com ~.\nLLMNR=no\n',
  );
  assert.equal(
    resolvedConf({ ...settings, gc_nameserver1: '', gc_nameserver2: '', gc_domains: '' }),
    '# Written by Holdfast.\n[Resolve]\nDomains=example.com\nLLMNR=no\n',
  );
  assert.match(
    resolvConf(settings),
    /^nameserver 127\.0\.0\.53$.*^search example\.com a\.example\.com b\.example\.com$/ms,
  );
});

test('login shells, services and apt get the proxy', () => {
  assert.match(proxyProfile('192.0.2.9:3128'), /^export http_proxy='http:\/\/192\.0\.2\.9:3128\/' /m);
  assert.match(
    proxyEnvironment('http://proxy.example.com:3128'),
    /^DefaultEnvironment="http_proxy=http:\/\/proxy\.example\.com:3128\/" /m,
  );
  assert.equal(
    proxyApt('[2001:db8::9]:3128'),
    '// Written by Holdfast.\nAcquire::http::Proxy "http://[2001:db8::9]:3128/";\nAcquire::https::Proxy "http://[2001:db8::9]:3128/";\n',
  );
});
