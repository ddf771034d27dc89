import type { Api } from './api.ts';

/** The fields of a new certificate or authority except its name. */
export const certificateRequest = {
  cert_common: 'nas.example.com',
  cert_city: 'Nashville',
  cert_state: 'Tennessee',
  cert_country: 'US',
  cert_email: 'admin@example.com',
  cert_organization: 'Example',
  cert_digest_algorithm: 'SHA256',
  cert_key_length: 2048,
  cert_lifetime: 3650,
} as const;

/** A self-signed certificate that may sign others, created with openssl, and its key. It protects nothing. */
export const exampleCertificate = `-----BEGIN CERTIFICATE-----
MIID0DCCArigAwIBAgIUbJ4E3CSMfMv5cSTizknZis92A+EwDQYJKoZIhvcNAQEL
BQAwZjELMAkGA1UEBhMCVVMxEjAQBgNVBAgMCVRlbm5lc3NlZTESMBAGA1UEBwwJ
TmFzaHZpbGxlMRAwDgYDVQQKDAdFeGFtcGxlMR0wGwYDVQQDDBRpbXBvcnRlZC5l
eGFtcGxlLmNvbTAgFw0yNjExMjEwOTMxMzdaGA8yMTI2MTAyODA5MzEzN1owZjEL
MAkGA1UEBhMCVVMxEjAQBgNVBAgMCVRlbm5lc3NlZTESMBAGA1UEBwwJTmFzaHZp
bGxlMRAwDgYDVQQKDAdFeGFtcGxlMR0wGwYDVQQDDBRpbXBvcnRlZC5leGFtcGxl
LmNvbTCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEBAMHGgSoAQzk8OfE6
aETnG0HJ7ggG6RZYFM4ilnJqj/f3vKcg92Umg8b33Lz1ONwQ83zDvhdsrlwcmp0j
Ou1uOpjDzdPOxG304bqk+GHYbwyq/Mo8hiOcIoe3nUQmWfvZQ6/7t2nb0+Enp4UG
5Y/utbxPTIYat+gGO5S4JRIC/4c1QyRs/TuFV0T8y7iBBH535Lj5d0KXxnjAaJ54
de/xJPeC/GD/ytmKTUFT7bhjC3xqEEsmuX1y2BRf/HNlqW0Q98E4TL3SvAYFSYJD
qqAa1G8N+hE0ciV0XZHIV9nq7XLXLa8JdSIr+VwovestsJ+E76TQwKPPewonigxR
B4cD1DMCAwEAAaN0MHIwHQYDVR0OBBYEFGwO1xeshCc2avtmkrVwfXWT/PIAMB8G
A1UdIwQYMBaAFGwO1xeshCc2avtmkrVwfXWT/PIAMA8GA1UdEwEB/wQFMAMBAf8w
HwYDVR0RBBgwFoIUaW1wb3J0ZWQuZXhhbXBsZS5jb20wDQYJKoZIhvcNAQELBQAD
ggEBAL4w2MzJNT95GBuq1jOE9SaQl/Z/4GyqvXvwzZ8BNsAYpRW2xv61pg3XK2px
0Y+ibR57/LJNqzuJzh4mVRdUu2pZ1kAVMyBR+nvZr+AFRFu7vk7N+qTARqj9nRZN
o9rp7Y9/YUFifNJPUqqtcmeupNR0mkR7UeGw0YAT0PLku1kGbnVYZRaXKpJD8eGP
AFifRlaia69+pZ0g8aGY3PiLKZtNHazud1ylVDpFljUtg+Zenyj4toHuRW5XzXqi
dJnRL1z3Ve3sSt24BtGW4abGyhElao8DbfZdjfdKWrPWbr8CvSutijOPLKFoIzOt
mz3cTPvPoixW7Wc7BE0W7nh1cEM=
-----END CERTIFICATE-----
`;

export const exampleKey = `-----BEGIN PRIVATE KEY-----
MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQDBxoEqAEM5PDnx
OmhE5xtBye4IBukWWBTOIpZyao/397ynIPdlJoPG99y89TjcEPN8w74XbK5cHJqd
IzrtbjqYw83TzsRt9OG6pPhh2G8MqvzKPIYjnCKHt51EJln72UOv+7dp29PhJ6eF
BuWP7rW8T0yGGrfoBjuUuCUSAv+HNUMkbP07hVdE/Mu4gQR+d+S4+XdCl8Z4wGie
eHXv8ST3gvxg/8rZik1BU+24Ywt8ahBLJrl9ctgUX/xzZaltEPfBOEy90rwGBUmC
Q6qgGtRvDfoRNHIldF2RyFfZ6u1y1y2vCXUiK/lcKL3rLbCfhO+k0MCjz3sKJ4oM
UQeHA9QzAgMBAAECggEAVRZeujwySIwnH0NX7MWUZO+P64tpR2v2+ssaR/R98lMg
zjx+FbbzT2egUILXbF6vJD5plqyc5YqT4+NH6WEpLtJv641UGLpaclQlUwWwQZ5F
cWJhPnq9eN3KG1ZB1gKBo+GCmOOz5p68gv/Txr95os4pWouZ7LLr77JqaL3TSaF4
YhCKOeSW+cHJ2prahutTZghRF2kuj2SS598Cg6gu6Xs8V0CFQkz9hIs1AAlnwmKQ
yooqnec2eCFpHuVcDggAEgPLaKZwtvd62ssTxX5xuZZn/qI6P9JRA43A1FZR+lhA
exGLabFZdEaiDl0nAQldJizkzu0BHbyiQxJVljScXQKBgQDpRHE7OZdg9987T0us
h59xkt39tG9QCinbdJX9X6DuIFvHsKb/yntFnmUZeWtWag33leQ9mJO9BbnoF1+n
ExbnxqfYq2OKcy9iYx+D8Zt11YgL91smyzwZNQgVxHp0Y3E9+wms1V5YTnnfnNcO
0urKprQLlxPdAPZT1hlN1JdKTQKBgQDUqNEKuQQ1E3ocaQGhhF3Ds7IuvUEwWZMu
gysiGD1wXk1G8pqyqwOOSbt7XrMs8w+xauLsaHFGPAy7F2j4rHw3boJnMh5D1CNf
sqcSEcA9kJF+cu4Eq4uC5ZIyT4TZt2coGG7Vc01WItLBdPLtu4BE8RIJbIZiXo8V
ygDeJtnYfwKBgCcRL2Wb35595QUp4qKilDGRR1yWO45MJXZ7sCMfQPSgtr5a950f
bEXcoVIC49c1K+GrWO53/0ZJDzmvsHVq3Qs0WigPjDxDzkvMDhsq+75gZMicRMfa
gdY264O5xEh53x1iTdyEX6iqe/7XZa015dzKzpyiUNFSt+6SjOpcEHqBAoGAK5NQ
CmdxAkM0cV/e8q7B29kVeNhU5EhmjVBZZUocRMs+AHyz0EqUlvJq1VPJWTuRCqTB
TPn1xBOH9EpOuy304hLl66lsZC+y8+gSrfQvNS5LceKw/Qn9s1vBQkfjDA21uJSR
GXHf9fd6wiNpp+cU2IuhS4cOXlfL8AYNeXfyiZcCgYBlWzEedC9vnts7Ikaif2w4
JCVW5merscF0g7/ie9ay7UDg+MEY27xsHhq6U27/0GUpomqLWYOP6kYbbP7ioBB0
FEH3U4OhIylIHR7wEVn+nlIuGWoRziKsnahhPwP0HYUoZoIUzJt+iT8JB+19lS4C
m4+NFuiQz2WLjLM3DFjQzQ==
-----END PRIVATE KEY-----
`;

/**
 * Creates the certificate `nas` with the id 1, signed by an intermediate authority of a new root, on a machine without
 * authorities. Returns the root's certificate, which clients trust.
 */
export async function certificateOfNewRoot(api: Api): Promise<string> {
  await api.expect(201, 'POST', 'system/certificateauthority/internal/', {
    ...certificateRequest,
    cert_name: 'root',
    cert_common: 'Root',
  });
  await api.expect(201, 'POST', 'system/certificateauthority/intermediate/', {
    ...certificateRequest,
    cert_name: 'middle',
    cert_common: 'Middle',
    cert_signedby: 1,
  });
  await api.expect(201, 'POST', 'system/certificate/internal/', {
    ...certificateRequest,
    cert_name: 'nas',
    cert_signedby: 2,
  });
  const root = (await api.list('system/certificateauthority/')).find((one) => one['cert_name'] === 'root');
  return String(root?.['cert_certificate']);
}
