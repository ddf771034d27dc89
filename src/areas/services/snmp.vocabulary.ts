/**
 * The directives that Debian's snmpd 5.9 accepts in snmpd.conf: those that `snmpd -H` lists, and some that it omits.
 */
export const snmpDirectives = `
access add_row agentaddress agentgroup agentSecName agentuser agentxperms agentxRetries agentxsocket agentxTimeout
at authaccess authcommunity authgroup authtrapenable authuser avgBulkVarbindSize certSecName com2sec com2sec6
com2secunix count_kthreads createUser cron defaultMonitors defDomain defTarget disablePerl disk diskio
diskio_exclude_fd diskio_exclude_loop diskio_exclude_ram dlmod doNotRetainNotificationLogs
dontLogTCPWrappersConnects dontRetainLogs engineID engineIDNic engineIDType exec execFix extend extend-sh extendfix
file group ifmib_max_num_ifaces ignoredisk ignoremount include_ifmib_iface_prefix includeAllDisks informsink
injectHandler interface interface_fadeout interface_replace_old iquerySecLevel iquerySecName iqueryVersion
leave_pidfile linkUpDownNotifications load logmatch master maxGetbulkRepeats maxGetbulkResponses monitor
notificationEvent override pass pass_persist pduStatsMax pduStatsThreshold perl perlInitFile proc procfix proxy quit
realStorageUnits repeat rocommunity rocommunity6 rouser rwcommunity rwcommunity6 rwuser sendmail_config
sendmail_index sendmail_queue sendmail_queue_t sendmail_stats sendmail_stats_t setaccess setEvent setserialno sh
skipNFSInHostResources smuxpeer smuxsocket snmpTlstmAddr snmpTlstmParams sourceFilterAddress sourceFilterType
storageUseNFS strictDisman swap syscontact sysdescr syslocation sysname sysobjectid sysservices table trap2sink
trapcommunity trapsess trapsink v1trapaddress view
`;
