/**
 * The keywords of sshd_config of OpenSSH 10.0 in Debian 13, from sshd_config(5) and `sshd -T`, by how `sshd -G` checks their
 * values.
 */

/** Keywords whose value is yes or no. */
export const switchKeywords = `
DisableForwarding ExposeAuthInfo GSSAPIAuthentication GSSAPICleanupCredentials GSSAPIKeyExchange
GSSAPIStoreCredentialsOnRekey GSSAPIStrictAcceptorCheck HostbasedAuthentication HostbasedUsesNameFromPacketOnly
IgnoreUserKnownHosts KbdInteractiveAuthentication KerberosAuthentication KerberosOrLocalPasswd KerberosTicketCleanup
PasswordAuthentication PermitEmptyPasswords PermitTTY PermitUserRC PrintLastLog PrintMotd PubkeyAuthentication
StreamLocalBindUnlink StrictModes TCPKeepAlive UseDNS UsePAM X11Forwarding X11UseLocalhost
`;

/** Keywords whose value is a number. */
export const numberKeywords = `
ClientAliveCountMax MaxAuthTries MaxSessions Port RequiredRSASize X11DisplayOffset
`;

/** Keywords whose values the model does not check. */
export const otherKeywords = `
AcceptEnv AddressFamily AllowAgentForwarding AllowGroups AllowStreamLocalForwarding AllowTcpForwarding AllowUsers
AuthenticationMethods AuthorizedKeysCommand AuthorizedKeysCommandUser AuthorizedKeysFile AuthorizedPrincipalsCommand
AuthorizedPrincipalsCommandUser AuthorizedPrincipalsFile Banner CASignatureAlgorithms ChannelTimeout ChrootDirectory
Ciphers ClientAliveInterval Compression DebianBanner DenyGroups DenyUsers FingerprintHash ForceCommand
GatewayPorts GSSAPIKexAlgorithms HostbasedAcceptedAlgorithms HostCertificate HostKey HostKeyAgent HostKeyAlgorithms IgnoreRhosts Include IPQoS
KexAlgorithms ListenAddress LoginGraceTime LogLevel LogVerbose Macs Match MaxStartups ModuliFile PAMServiceName
PermitListen PermitOpen PermitRootLogin PermitTunnel PermitUserEnvironment PerSourceMaxStartups
PerSourceNetBlockSize PerSourcePenalties PerSourcePenaltyExemptList PidFile PubkeyAcceptedAlgorithms
PubkeyAuthOptions RDomain RefuseConnection RekeyLimit RevokedKeys SecurityKeyProvider SetEnv SshdAuthPath
SshdSessionPath StreamLocalBindMask Subsystem SyslogFacility TrustedUserCAKeys UnusedConnectionTimeout
VersionAddendum XAuthLocation
`;
