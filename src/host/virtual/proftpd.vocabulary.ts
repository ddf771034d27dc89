/**
 * The directives of ProFTPD 1.3.8c in Debian 13, by module, determined by running `proftpd -t -c FILE` on a file for each
 * name that `grep -aoE '[A-Z][A-Za-z0-9]+'` finds in `/usr/sbin/proftpd` and its modules.
 */

const words = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '');

/** Modules that are compiled in. */
export const builtInModules = words(
  'mod_core.c mod_rlimit.c mod_auth_unix.c mod_auth_file.c mod_auth.c mod_log.c mod_site.c mod_facts.c mod_dso.c mod_auth_pam.c mod_cap.c mod_ctrls.c mod_lang.c',
);

export const builtInDirectives = words(`
  <Anonymous> <Class> <Directory> <Global> <IfDefine> <IfModule> <Limit> <VirtualHost> AccessDenyMsg AccessGrantMsg Allow AllowAll AllowChrootSymlinks
  AllowClass AllowEmptyPasswords AllowFilter AllowForeignAddress AllowGroup AllowLogSymlinks AllowOverride AllowUser AnonAllowRobots AnonRejectPasswords
  AnonRequirePassword AuthAliasOnly AuthFileOptions AuthGroupFile AuthOrder AuthPAM AuthPAMConfig AuthPAMOptions AuthUnixOptions AuthUserFile
  AuthUsingAlias CDPath CapabilitiesEngine CapabilitiesRootRevoke CapabilitiesSet CommandBufferSize ControlsACLs ControlsAuthFreshness ControlsEngine
  ControlsInterval ControlsLog ControlsMaxClients ControlsSocket ControlsSocketACL ControlsSocketOwner CreateHome DebugLevel DefaultAddress DefaultChdir
  DefaultRoot DefaultServer DeferWelcome Define Deny DenyAll DenyClass DenyFilter DenyGroup DenyUser DisplayChdir DisplayConnect DisplayLogin
  DisplayQuit ExtendedLog FSCachePolicy FSOptions FactsAdvertise FactsDefault FactsOptions From Group GroupOwner HideFiles HideGroup HideNoAccess
  HideUser IgnoreHidden Include IncludeOptions LangDefault LangEngine LangOptions LangPath LoadFile LoadModule LogFormat LogOptions MasqueradeAddress
  MaxClients MaxClientsPerClass MaxClientsPerHost MaxClientsPerUser MaxCommandRate MaxConnectionRate MaxConnectionsPerHost MaxHostsPerUser MaxInstances
  MaxLoginAttempts MaxPasswordSize ModuleControlsACLs ModuleOrder ModulePath
  MultilineRFC2228 Order PassivePorts PathAllowFilter PathDenyFilter PersistentPasswd PidFile Port ProcessTitles Protocols RLimitCPU RLimitChroot
  RLimitMemory RLimitOpenFiles RegexOptions RequireValidShell RewriteHome RootLogin RootRevoke Satisfy ScoreboardFile ScoreboardMutex ScoreboardScrub
  ServerAdmin ServerAlias ServerIdent ServerLog ServerName ServerType SetEnv SocketBindTight SocketOptions SyslogFacility SyslogLevel SystemLog
  TCPBackLog TCPNoDelay TimeoutIdle TimeoutLinger TimeoutLogin TimeoutSession TimesGMT Trace TraceLog TraceOptions TransferLog Umask UnsetEnv
  UseEncoding UseFtpUsers UseIPv6 UseLastlog UseReverseDNS User UserAlias UserDirRoot UserOwner UserPassword WtmpLog
`);

/** Modules that `LoadModule` can load, with the directives that they add. */
export const moduleDirectives: ReadonlyMap<string, readonly string[]> = new Map([
  ['mod_auth_otp.c', words('')],
  [
    'mod_ban.c',
    words(`
      BanCache BanCacheOptions BanControlsACLs BanEngine BanLog BanMessage BanOnEvent BanOptions BanTable MaxClientsPerClass MaxClientsPerHost
      MaxClientsPerUser MaxHostsPerUser MaxLoginAttempts
    `),
  ],
  ['mod_copy.c', words('CopyEngine CopyOptions')],
  ['mod_ctrls_admin.c', words('AdminControlsACLs AdminControlsEngine')],
  ['mod_deflate.c', words('DeflateEngine DeflateLog')],
  ['mod_delay.c', words('DelayControlsACLs DelayEngine DelayOnEvent DelayTable')],
  [
    'mod_digest.c',
    words('DigestAlgorithms DigestCache DigestDefaultAlgorithm DigestEnable DigestEngine DigestMaxSize DigestOptions'),
  ],
  ['mod_dnsbl.c', words('')],
  ['mod_dynmasq.c', words('DynMasqControlsACLs DynMasqRefresh')],
  [
    'mod_exec.c',
    words(`
      ExecBeforeCommand ExecEnable ExecEngine ExecEnviron ExecLog ExecOnCommand ExecOnConnect ExecOnError ExecOnEvent ExecOnExit ExecOnRestart ExecOptions
      ExecTimeout
    `),
  ],
  ['mod_facl.c', words('FACLEngine')],
  ['mod_ident.c', words('IdentLookups')],
  ['mod_ifsession.c', words('<IfAuthenticated> <IfClass> <IfGroup> <IfUser>')],
  ['mod_ifversion.c', words('<IfVersion>')],
  ['mod_load.c', words('MaxLoad')],
  [
    'mod_log_forensic.c',
    words('ForensicLogBufferSize ForensicLogCapture ForensicLogCriteria ForensicLogEngine ForensicLogFile'),
  ],
  ['mod_ls.c', words('DirFakeGroup DirFakeMode DirFakeUser ListOptions ListStyle ShowSymlinks UseGlobbing')],
  [
    'mod_memcache.c',
    words(
      'MemcacheConnectFailures MemcacheEngine MemcacheLog MemcacheOptions MemcacheReplicas MemcacheServers MemcacheTimeouts',
    ),
  ],
  ['mod_qos.c', words('QoSOptions')],
  [
    'mod_quotatab.c',
    words(`
      QuotaDefault QuotaDirectoryTally QuotaDisplayUnits QuotaEngine QuotaExcludeFilter QuotaLimitTable QuotaLock QuotaLog QuotaOptions QuotaShowQuotas
      QuotaTallyTable
    `),
  ],
  ['mod_quotatab_file.c', words('')],
  ['mod_quotatab_radius.c', words('')],
  ['mod_quotatab_sql.c', words('')],
  [
    'mod_radius.c',
    words(`
      RadiusAcctServer RadiusAuthServer RadiusEngine RadiusGroupInfo RadiusLog RadiusNASIdentifier RadiusOptions RadiusQuotaInfo RadiusRealm RadiusUserInfo
      RadiusVendor
    `),
  ],
  [
    'mod_ratio.c',
    words(`
      AnonRatio ByteRatioErrMsg CwdRatioMsg FileRatioErrMsg GroupRatio HostRatio LeechRatioMsg RatioFile RatioTempFile Ratios SaveRatios UserRatio
    `),
  ],
  ['mod_readme.c', words('DisplayReadme')],
  [
    'mod_redis.c',
    words(
      'RedisEngine RedisLog RedisLogFormatExtra RedisLogOnCommand RedisLogOnEvent RedisOptions RedisSentinel RedisServer RedisTimeouts',
    ),
  ],
  [
    'mod_rewrite.c',
    words('RewriteCondition RewriteEngine RewriteLock RewriteLog RewriteMap RewriteMaxReplace RewriteRule'),
  ],
  [
    'mod_sftp.c',
    words(`
      MaxClientsPerClass MaxLoginAttempts SFTPAcceptEnv SFTPAuthMethods SFTPAuthorizedHostKeys SFTPAuthorizedUserKeys SFTPCiphers SFTPClientAlive
      SFTPClientMatch SFTPCompression SFTPCryptoDevice SFTPDHParamFile SFTPDigests SFTPDisplayBanner SFTPEngine SFTPExtensions SFTPHostKey SFTPHostKeys
      SFTPKeyBlacklist SFTPKeyExchanges SFTPKeyLimits SFTPLog SFTPMaxChannels SFTPOptions SFTPPassPhraseProvider SFTPRekey SFTPTrafficPolicy
    `),
  ],
  ['mod_sftp_pam.c', words('')],
  ['mod_sftp_sql.c', words('')],
  ['mod_shaper.c', words('ShaperAll ShaperControlsACLs ShaperEngine ShaperLog ShaperSession ShaperTable')],
  ['mod_site_misc.c', words('SiteMiscEngine')],
  [
    'mod_sql.c',
    words(`
      MaxClientsPerClass MaxClientsPerHost MaxClientsPerUser MaxHostsPerUser MaxLoginAttempts SQLAuthTypes SQLAuthenticate SQLBackend SQLConnectInfo
      SQLDefaultGID SQLDefaultHomedir SQLDefaultUID SQLEngine SQLGroupInfo SQLGroupPrimaryKey SQLGroupWhereClause SQLKeepAlive SQLLog SQLLogFile
      SQLLogOnEvent SQLMinID SQLMinUserGID SQLMinUserUID SQLNamedConnectInfo SQLNamedQuery SQLNegativeCache SQLOptions SQLRatioStats SQLRatios SQLShowInfo
      SQLUserInfo SQLUserPrimaryKey SQLUserWhereClause
    `),
  ],
  ['mod_sql_passwd.c', words('')],
  ['mod_statcache.c', words('StatCacheCapacity StatCacheControlsACLs StatCacheEngine StatCacheMaxAge StatCacheTable')],
  [
    'mod_tls.c',
    words(`
      TLSCACertificateFile TLSCACertificatePath TLSCARevocationFile TLSCARevocationPath TLSCertificateChainFile TLSCipherSuite TLSControlsACLs
      TLSCryptoDevice TLSDHParamFile TLSDSACertificateFile TLSDSACertificateKeyFile TLSECCertificateFile TLSECCertificateKeyFile TLSECDHCurve TLSEngine
      TLSLog TLSMasqueradeAddress TLSNextProtocol TLSOptions TLSPKCS12File TLSPassPhraseProvider TLSPreSharedKey TLSProtocol TLSRSACertificateFile
      TLSRSACertificateKeyFile TLSRandomSeed TLSRenegotiate TLSRequired TLSServerCipherPreference TLSServerInfoFile TLSSessionCache TLSSessionTicketKeys
      TLSSessionTickets TLSStapling TLSStaplingCache TLSStaplingOptions TLSStaplingResponder TLSStaplingTimeout TLSTimeoutHandshake TLSUserName
      TLSVerifyClient TLSVerifyDepth TLSVerifyOrder TLSVerifyServer
    `),
  ],
  ['mod_tls_fscache.c', words('')],
  ['mod_tls_memcache.c', words('')],
  ['mod_tls_redis.c', words('')],
  ['mod_tls_shmcache.c', words('')],
  ['mod_unique_id.c', words('UniqueIDEngine')],
  [
    'mod_wrap2.c',
    words(
      'WrapAllowMsg WrapDenyMsg WrapEngine WrapGroupTables WrapLog WrapOptions WrapServiceName WrapTables WrapUserTables',
    ),
  ],
  ['mod_wrap2_file.c', words('')],
  ['mod_wrap2_redis.c', words('')],
  ['mod_wrap2_sql.c', words('')],
  [
    'mod_xfer.c',
    words(`
      AllowOverwrite AllowRetrieveRestart AllowStoreRestart DefaultTransferMode DeleteAbortedStores DisplayFileTransfer HiddenStores MaxRetrieveFileSize
      MaxStoreFileSize MaxTransfersPerHost MaxTransfersPerUser StoreUniquePrefix TimeoutNoTransfer TimeoutStalled TransferOptions TransferRate UseSendfile
    `),
  ],
]);

/** Directives whose value is one of on, off, yes, no, true, false, 1 and 0. */
export const switchDirectives = words(`
  AllowChrootSymlinks AllowEmptyPasswords AllowLogSymlinks AllowOverride AllowOverwrite AllowRetrieveRestart AllowStoreRestart AuthAliasOnly
  AuthPAM BanEngine CapabilitiesEngine CapabilitiesRootRevoke ControlsEngine CopyEngine CreateHome DefaultServer DeferWelcome DeflateEngine
  DelayEngine DeleteAbortedStores DigestCache DigestEngine DirFakeGroup DirFakeUser ExecEngine FACLEngine FactsAdvertise ForensicLogEngine
  FSCachePolicy IdentLookups LangEngine MemcacheEngine PersistentPasswd QuotaDirectoryTally QuotaEngine QuotaShowQuotas RadiusEngine Ratios
  RedisEngine RequireValidShell RewriteEngine RewriteHome RLimitChroot RootLogin RootRevoke SaveRatios ServerIdent SFTPEngine ShaperEngine
  ShowSymlinks SiteMiscEngine SocketBindTight SQLNegativeCache StatCacheEngine TCPNoDelay TimesGMT TLSEngine TLSNextProtocol TLSServerCipherPreference
  TLSSessionTickets TLSStapling TLSVerifyClient TLSVerifyServer UniqueIDEngine UseEncoding UseFtpUsers UseGlobbing UseIPv6 UseLastlog
  UseReverseDNS UseSendfile WrapEngine WtmpLog
`);

/** Further values, by directive in lower case. */
export const furtherSwitchValues: ReadonlyMap<string, readonly string[]> = new Map([['tlsverifyclient', ['optional']]]);

/** Directives that fail with `missing parameters` when they have none. */
export const directivesWithParameters = words(`
  <Anonymous> <Class> <Directory> <IfDefine> <IfModule> AccessDenyMsg AccessGrantMsg AdminControlsACLs AdminControlsEngine AllowChrootSymlinks
  AllowEmptyPasswords AllowForeignAddress AllowLogSymlinks AllowOverride AllowOverwrite AllowRetrieveRestart AllowStoreRestart AnonAllowRobots AnonRatio
  AnonRequirePassword AuthAliasOnly AuthOrder AuthPAM AuthPAMConfig AuthUsingAlias BanControlsACLs BanEngine BanLog BanMessage BanOnEvent BanTable
  ByteRatioErrMsg CDPath CapabilitiesEngine CapabilitiesRootRevoke ControlsACLs ControlsAuthFreshness ControlsEngine ControlsInterval ControlsLog
  ControlsMaxClients ControlsSocket ControlsSocketACL ControlsSocketOwner CopyEngine CwdRatioMsg DebugLevel DefaultServer DefaultTransferMode
  DeferWelcome Define DeflateEngine DeflateLog DelayControlsACLs DelayEngine DelayOnEvent DelayTable DeleteAbortedStores DigestDefaultAlgorithm
  DigestEnable DigestEngine DirFakeMode DisplayConnect DisplayFileTransfer DisplayLogin DisplayQuit DynMasqControlsACLs DynMasqRefresh ExecEnable
  ExecEngine ExecEnviron ExecLog ExecTimeout FACLEngine FactsAdvertise FileRatioErrMsg ForensicLogBufferSize ForensicLogEngine ForensicLogFile GROUP
  Group GroupOwner GroupRatio HiddenStores HideGroup HideNoAccess HideUser HostRatio IdentLookups IgnoreHidden Include LangDefault LangEngine LangPath
  LeechRatioMsg ListStyle LoadFile LoadModule LogFormat MasqueradeAddress MaxInstances MaxLoginAttempts MaxPasswordSize MemcacheConnectFailures
  MemcacheEngine MemcacheLog MemcacheReplicas ModuleControlsACLs ModulePath PassivePorts PersistentPasswd PidFile Port ProcessTitles QuotaDefault
  QuotaDirectoryTally QuotaDisplayUnits QuotaEngine QuotaExcludeFilter QuotaLimitTable QuotaLock QuotaLog QuotaShowQuotas QuotaTallyTable RLimitChroot
  RadiusAcctServer RadiusAuthServer RadiusEngine RadiusGroupInfo RadiusNASIdentifier RadiusQuotaInfo RadiusRealm RadiusUserInfo RadiusVendor RatioFile
  RatioTempFile Ratios RedisEngine RedisLog RedisLogFormatExtra RedisSentinel RedisServer RedisTimeouts RequireValidShell RewriteEngine RewriteHome
  RewriteLock RewriteLog RewriteMap RewriteMaxReplace RootLogin RootRevoke SFTPClientAlive SFTPCryptoDevice SFTPDHParamFile SFTPDisplayBanner SFTPEngine
  SFTPHostKey SFTPKeyBlacklist SFTPLog SFTPMaxChannels SFTPPassPhraseProvider SFTPTrafficPolicy SQLBackend SQLDefaultGID SQLDefaultHomedir SQLDefaultUID
  SQLEngine SQLGroupInfo SQLGroupPrimaryKey SQLGroupWhereClause SQLLogFile SQLMinID SQLMinUserGID SQLMinUserUID SQLNegativeCache SQLShowInfo SQLUserInfo
  SQLUserPrimaryKey SQLUserWhereClause Satisfy SaveRatios ScoreboardFile ScoreboardMutex ScoreboardScrub ServerAdmin ServerLog ServerName ServerType
  SetEnv ShaperControlsACLs ShaperEngine ShaperLog ShaperTable ShowSymlinks SiteMiscEngine SocketBindTight StatCacheCapacity StatCacheControlsACLs
  StatCacheEngine StatCacheTable StoreUniquePrefix SyslogFacility SyslogLevel SystemLog TCPBackLog TCPNoDelay TLSCACertificateFile TLSCACertificatePath
  TLSCARevocationFile TLSCARevocationPath TLSCertificateChainFile TLSCipherSuite TLSControlsACLs TLSCryptoDevice TLSDHParamFile TLSDSACertificateFile
  TLSDSACertificateKeyFile TLSECCertificateFile TLSECCertificateKeyFile TLSECDHCurve TLSEngine TLSLog TLSMasqueradeAddress TLSNextProtocol TLSPKCS12File
  TLSPassPhraseProvider TLSPreSharedKey TLSRSACertificateFile TLSRSACertificateKeyFile TLSRandomSeed TLSRequired TLSServerCipherPreference
  TLSServerInfoFile TLSSessionTickets TLSStapling TLSStaplingCache TLSStaplingResponder TLSStaplingTimeout TLSTimeoutHandshake TLSUserName
  TLSVerifyClient TLSVerifyDepth TLSVerifyServer TimeoutIdle TimeoutLinger TimeoutLogin TimeoutNoTransfer TimeoutSession TimeoutStalled TimesGMT
  TransferLog USER Umask UniqueIDEngine UnsetEnv UseFtpUsers UseGlobbing UseIPv6 UseLastlog UseReverseDNS User UserAlias UserDirRoot UserOwner
  UserPassword UserRatio WrapAllowMsg WrapDenyMsg WrapEngine WrapGroupTables WrapLog WrapServiceName WrapTables WrapUserTables WtmpLog
`);
