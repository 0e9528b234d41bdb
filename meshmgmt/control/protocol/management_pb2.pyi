import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PeerCapability(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PeerCapabilityUnknown: _ClassVar[PeerCapability]
    PeerCapabilitySourcePrefixes: _ClassVar[PeerCapability]
    PeerCapabilityIPv6Overlay: _ClassVar[PeerCapability]
    PeerCapabilityComponentNetworkMap: _ClassVar[PeerCapability]

class RuleProtocol(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UNKNOWN: _ClassVar[RuleProtocol]
    ALL: _ClassVar[RuleProtocol]
    TCP: _ClassVar[RuleProtocol]
    UDP: _ClassVar[RuleProtocol]
    ICMP: _ClassVar[RuleProtocol]
    CUSTOM: _ClassVar[RuleProtocol]
    NETBIRD_SSH: _ClassVar[RuleProtocol]

class RuleDirection(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    IN: _ClassVar[RuleDirection]
    OUT: _ClassVar[RuleDirection]

class RuleAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACCEPT: _ClassVar[RuleAction]
    DROP: _ClassVar[RuleAction]

class JobStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    unknown_status: _ClassVar[JobStatus]
    succeeded: _ClassVar[JobStatus]
    failed: _ClassVar[JobStatus]
PeerCapabilityUnknown: PeerCapability
PeerCapabilitySourcePrefixes: PeerCapability
PeerCapabilityIPv6Overlay: PeerCapability
PeerCapabilityComponentNetworkMap: PeerCapability
UNKNOWN: RuleProtocol
ALL: RuleProtocol
TCP: RuleProtocol
UDP: RuleProtocol
ICMP: RuleProtocol
CUSTOM: RuleProtocol
NETBIRD_SSH: RuleProtocol
IN: RuleDirection
OUT: RuleDirection
ACCEPT: RuleAction
DROP: RuleAction
unknown_status: JobStatus
succeeded: JobStatus
failed: JobStatus

class Empty(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class EncryptedMessage(_message.Message):
    __slots__ = ("wgPubKey", "body", "version")
    WGPUBKEY_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    wgPubKey: str
    body: bytes
    version: int
    def __init__(self, wgPubKey: _Optional[str] = ..., body: _Optional[bytes] = ..., version: _Optional[int] = ...) -> None: ...

class ServerKeyResponse(_message.Message):
    __slots__ = ("key", "expiresAt", "version")
    KEY_FIELD_NUMBER: _ClassVar[int]
    EXPIRESAT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    key: str
    expiresAt: _timestamp_pb2.Timestamp
    version: int
    def __init__(self, key: _Optional[str] = ..., expiresAt: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., version: _Optional[int] = ...) -> None: ...

class LoginRequest(_message.Message):
    __slots__ = ("setupKey", "meta", "jwtToken", "peerKeys", "dnsLabels")
    SETUPKEY_FIELD_NUMBER: _ClassVar[int]
    META_FIELD_NUMBER: _ClassVar[int]
    JWTTOKEN_FIELD_NUMBER: _ClassVar[int]
    PEERKEYS_FIELD_NUMBER: _ClassVar[int]
    DNSLABELS_FIELD_NUMBER: _ClassVar[int]
    setupKey: str
    meta: PeerSystemMeta
    jwtToken: str
    peerKeys: PeerKeys
    dnsLabels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, setupKey: _Optional[str] = ..., meta: _Optional[_Union[PeerSystemMeta, _Mapping]] = ..., jwtToken: _Optional[str] = ..., peerKeys: _Optional[_Union[PeerKeys, _Mapping]] = ..., dnsLabels: _Optional[_Iterable[str]] = ...) -> None: ...

class PeerKeys(_message.Message):
    __slots__ = ("sshPubKey", "wgPubKey")
    SSHPUBKEY_FIELD_NUMBER: _ClassVar[int]
    WGPUBKEY_FIELD_NUMBER: _ClassVar[int]
    sshPubKey: bytes
    wgPubKey: bytes
    def __init__(self, sshPubKey: _Optional[bytes] = ..., wgPubKey: _Optional[bytes] = ...) -> None: ...

class SyncRequest(_message.Message):
    __slots__ = ("meta",)
    META_FIELD_NUMBER: _ClassVar[int]
    meta: PeerSystemMeta
    def __init__(self, meta: _Optional[_Union[PeerSystemMeta, _Mapping]] = ...) -> None: ...

class SyncMetaRequest(_message.Message):
    __slots__ = ("meta",)
    META_FIELD_NUMBER: _ClassVar[int]
    meta: PeerSystemMeta
    def __init__(self, meta: _Optional[_Union[PeerSystemMeta, _Mapping]] = ...) -> None: ...

class PeerSystemMeta(_message.Message):
    __slots__ = ("hostname", "goOS", "kernel", "core", "platform", "OS", "netbirdVersion", "uiVersion", "kernelVersion", "OSVersion", "networkAddresses", "sysSerialNumber", "sysProductName", "sysManufacturer", "environment", "files", "flags", "capabilities", "syncMessageVersion")
    HOSTNAME_FIELD_NUMBER: _ClassVar[int]
    GOOS_FIELD_NUMBER: _ClassVar[int]
    KERNEL_FIELD_NUMBER: _ClassVar[int]
    CORE_FIELD_NUMBER: _ClassVar[int]
    PLATFORM_FIELD_NUMBER: _ClassVar[int]
    OS_FIELD_NUMBER: _ClassVar[int]
    NETBIRDVERSION_FIELD_NUMBER: _ClassVar[int]
    UIVERSION_FIELD_NUMBER: _ClassVar[int]
    KERNELVERSION_FIELD_NUMBER: _ClassVar[int]
    OSVERSION_FIELD_NUMBER: _ClassVar[int]
    NETWORKADDRESSES_FIELD_NUMBER: _ClassVar[int]
    SYSSERIALNUMBER_FIELD_NUMBER: _ClassVar[int]
    SYSPRODUCTNAME_FIELD_NUMBER: _ClassVar[int]
    SYSMANUFACTURER_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    SYNCMESSAGEVERSION_FIELD_NUMBER: _ClassVar[int]
    hostname: str
    goOS: str
    kernel: str
    core: str
    platform: str
    OS: str
    netbirdVersion: str
    uiVersion: str
    kernelVersion: str
    OSVersion: str
    networkAddresses: _containers.RepeatedCompositeFieldContainer[NetworkAddress]
    sysSerialNumber: str
    sysProductName: str
    sysManufacturer: str
    environment: Environment
    files: _containers.RepeatedCompositeFieldContainer[File]
    flags: Flags
    capabilities: _containers.RepeatedScalarFieldContainer[PeerCapability]
    syncMessageVersion: int
    def __init__(self, hostname: _Optional[str] = ..., goOS: _Optional[str] = ..., kernel: _Optional[str] = ..., core: _Optional[str] = ..., platform: _Optional[str] = ..., OS: _Optional[str] = ..., netbirdVersion: _Optional[str] = ..., uiVersion: _Optional[str] = ..., kernelVersion: _Optional[str] = ..., OSVersion: _Optional[str] = ..., networkAddresses: _Optional[_Iterable[_Union[NetworkAddress, _Mapping]]] = ..., sysSerialNumber: _Optional[str] = ..., sysProductName: _Optional[str] = ..., sysManufacturer: _Optional[str] = ..., environment: _Optional[_Union[Environment, _Mapping]] = ..., files: _Optional[_Iterable[_Union[File, _Mapping]]] = ..., flags: _Optional[_Union[Flags, _Mapping]] = ..., capabilities: _Optional[_Iterable[_Union[PeerCapability, str]]] = ..., syncMessageVersion: _Optional[int] = ...) -> None: ...

class NetworkAddress(_message.Message):
    __slots__ = ("netIP", "mac")
    NETIP_FIELD_NUMBER: _ClassVar[int]
    MAC_FIELD_NUMBER: _ClassVar[int]
    netIP: str
    mac: str
    def __init__(self, netIP: _Optional[str] = ..., mac: _Optional[str] = ...) -> None: ...

class Environment(_message.Message):
    __slots__ = ("cloud", "platform")
    CLOUD_FIELD_NUMBER: _ClassVar[int]
    PLATFORM_FIELD_NUMBER: _ClassVar[int]
    cloud: str
    platform: str
    def __init__(self, cloud: _Optional[str] = ..., platform: _Optional[str] = ...) -> None: ...

class File(_message.Message):
    __slots__ = ("path", "exist", "processIsRunning")
    PATH_FIELD_NUMBER: _ClassVar[int]
    EXIST_FIELD_NUMBER: _ClassVar[int]
    PROCESSISRUNNING_FIELD_NUMBER: _ClassVar[int]
    path: str
    exist: bool
    processIsRunning: bool
    def __init__(self, path: _Optional[str] = ..., exist: _Optional[bool] = ..., processIsRunning: _Optional[bool] = ...) -> None: ...

class Flags(_message.Message):
    __slots__ = ("rosenpassEnabled", "rosenpassPermissive", "serverSSHAllowed", "disableClientRoutes", "disableServerRoutes", "disableDNS", "disableFirewall", "blockLANAccess", "blockInbound", "lazyConnectionEnabled", "enableSSHRoot", "enableSSHSFTP", "enableSSHLocalPortForwarding", "enableSSHRemotePortForwarding", "disableSSHAuth", "disableIPv6")
    ROSENPASSENABLED_FIELD_NUMBER: _ClassVar[int]
    ROSENPASSPERMISSIVE_FIELD_NUMBER: _ClassVar[int]
    SERVERSSHALLOWED_FIELD_NUMBER: _ClassVar[int]
    DISABLECLIENTROUTES_FIELD_NUMBER: _ClassVar[int]
    DISABLESERVERROUTES_FIELD_NUMBER: _ClassVar[int]
    DISABLEDNS_FIELD_NUMBER: _ClassVar[int]
    DISABLEFIREWALL_FIELD_NUMBER: _ClassVar[int]
    BLOCKLANACCESS_FIELD_NUMBER: _ClassVar[int]
    BLOCKINBOUND_FIELD_NUMBER: _ClassVar[int]
    LAZYCONNECTIONENABLED_FIELD_NUMBER: _ClassVar[int]
    ENABLESSHROOT_FIELD_NUMBER: _ClassVar[int]
    ENABLESSHSFTP_FIELD_NUMBER: _ClassVar[int]
    ENABLESSHLOCALPORTFORWARDING_FIELD_NUMBER: _ClassVar[int]
    ENABLESSHREMOTEPORTFORWARDING_FIELD_NUMBER: _ClassVar[int]
    DISABLESSHAUTH_FIELD_NUMBER: _ClassVar[int]
    DISABLEIPV6_FIELD_NUMBER: _ClassVar[int]
    rosenpassEnabled: bool
    rosenpassPermissive: bool
    serverSSHAllowed: bool
    disableClientRoutes: bool
    disableServerRoutes: bool
    disableDNS: bool
    disableFirewall: bool
    blockLANAccess: bool
    blockInbound: bool
    lazyConnectionEnabled: bool
    enableSSHRoot: bool
    enableSSHSFTP: bool
    enableSSHLocalPortForwarding: bool
    enableSSHRemotePortForwarding: bool
    disableSSHAuth: bool
    disableIPv6: bool
    def __init__(self, rosenpassEnabled: _Optional[bool] = ..., rosenpassPermissive: _Optional[bool] = ..., serverSSHAllowed: _Optional[bool] = ..., disableClientRoutes: _Optional[bool] = ..., disableServerRoutes: _Optional[bool] = ..., disableDNS: _Optional[bool] = ..., disableFirewall: _Optional[bool] = ..., blockLANAccess: _Optional[bool] = ..., blockInbound: _Optional[bool] = ..., lazyConnectionEnabled: _Optional[bool] = ..., enableSSHRoot: _Optional[bool] = ..., enableSSHSFTP: _Optional[bool] = ..., enableSSHLocalPortForwarding: _Optional[bool] = ..., enableSSHRemotePortForwarding: _Optional[bool] = ..., disableSSHAuth: _Optional[bool] = ..., disableIPv6: _Optional[bool] = ...) -> None: ...

class LoginResponse(_message.Message):
    __slots__ = ("netbirdConfig", "peerConfig", "Checks", "sessionExpiresAt")
    NETBIRDCONFIG_FIELD_NUMBER: _ClassVar[int]
    PEERCONFIG_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    SESSIONEXPIRESAT_FIELD_NUMBER: _ClassVar[int]
    netbirdConfig: NetbirdConfig
    peerConfig: PeerConfig
    Checks: _containers.RepeatedCompositeFieldContainer[Checks]
    sessionExpiresAt: _timestamp_pb2.Timestamp
    def __init__(self, netbirdConfig: _Optional[_Union[NetbirdConfig, _Mapping]] = ..., peerConfig: _Optional[_Union[PeerConfig, _Mapping]] = ..., Checks: _Optional[_Iterable[_Union[Checks, _Mapping]]] = ..., sessionExpiresAt: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SyncResponse(_message.Message):
    __slots__ = ("netbirdConfig", "peerConfig", "remotePeers", "remotePeersIsEmpty", "NetworkMap", "Checks", "sessionExpiresAt", "Version")
    NETBIRDCONFIG_FIELD_NUMBER: _ClassVar[int]
    PEERCONFIG_FIELD_NUMBER: _ClassVar[int]
    REMOTEPEERS_FIELD_NUMBER: _ClassVar[int]
    REMOTEPEERSISEMPTY_FIELD_NUMBER: _ClassVar[int]
    NETWORKMAP_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    SESSIONEXPIRESAT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    netbirdConfig: NetbirdConfig
    peerConfig: PeerConfig
    remotePeers: _containers.RepeatedCompositeFieldContainer[RemotePeerConfig]
    remotePeersIsEmpty: bool
    NetworkMap: NetworkMap
    Checks: _containers.RepeatedCompositeFieldContainer[Checks]
    sessionExpiresAt: _timestamp_pb2.Timestamp
    Version: int
    def __init__(self, netbirdConfig: _Optional[_Union[NetbirdConfig, _Mapping]] = ..., peerConfig: _Optional[_Union[PeerConfig, _Mapping]] = ..., remotePeers: _Optional[_Iterable[_Union[RemotePeerConfig, _Mapping]]] = ..., remotePeersIsEmpty: _Optional[bool] = ..., NetworkMap: _Optional[_Union[NetworkMap, _Mapping]] = ..., Checks: _Optional[_Iterable[_Union[Checks, _Mapping]]] = ..., sessionExpiresAt: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., Version: _Optional[int] = ...) -> None: ...

class NetbirdConfig(_message.Message):
    __slots__ = ("stuns", "turns", "signal", "relay", "flow", "metrics")
    STUNS_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    RELAY_FIELD_NUMBER: _ClassVar[int]
    FLOW_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    stuns: _containers.RepeatedCompositeFieldContainer[HostConfig]
    turns: _containers.RepeatedCompositeFieldContainer[ProtectedHostConfig]
    signal: HostConfig
    relay: RelayConfig
    flow: FlowConfig
    metrics: MetricsConfig
    def __init__(self, stuns: _Optional[_Iterable[_Union[HostConfig, _Mapping]]] = ..., turns: _Optional[_Iterable[_Union[ProtectedHostConfig, _Mapping]]] = ..., signal: _Optional[_Union[HostConfig, _Mapping]] = ..., relay: _Optional[_Union[RelayConfig, _Mapping]] = ..., flow: _Optional[_Union[FlowConfig, _Mapping]] = ..., metrics: _Optional[_Union[MetricsConfig, _Mapping]] = ...) -> None: ...

class HostConfig(_message.Message):
    __slots__ = ("uri", "protocol")
    class Protocol(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UDP: _ClassVar[HostConfig.Protocol]
        TCP: _ClassVar[HostConfig.Protocol]
        HTTP: _ClassVar[HostConfig.Protocol]
        HTTPS: _ClassVar[HostConfig.Protocol]
        DTLS: _ClassVar[HostConfig.Protocol]
    UDP: HostConfig.Protocol
    TCP: HostConfig.Protocol
    HTTP: HostConfig.Protocol
    HTTPS: HostConfig.Protocol
    DTLS: HostConfig.Protocol
    URI_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    uri: str
    protocol: HostConfig.Protocol
    def __init__(self, uri: _Optional[str] = ..., protocol: _Optional[_Union[HostConfig.Protocol, str]] = ...) -> None: ...

class ProtectedHostConfig(_message.Message):
    __slots__ = ("hostConfig", "user", "password")
    HOSTCONFIG_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_FIELD_NUMBER: _ClassVar[int]
    hostConfig: HostConfig
    user: str
    password: str
    def __init__(self, hostConfig: _Optional[_Union[HostConfig, _Mapping]] = ..., user: _Optional[str] = ..., password: _Optional[str] = ...) -> None: ...

class RelayConfig(_message.Message):
    __slots__ = ("urls", "tokenPayload", "tokenSignature")
    URLS_FIELD_NUMBER: _ClassVar[int]
    TOKENPAYLOAD_FIELD_NUMBER: _ClassVar[int]
    TOKENSIGNATURE_FIELD_NUMBER: _ClassVar[int]
    urls: _containers.RepeatedScalarFieldContainer[str]
    tokenPayload: str
    tokenSignature: str
    def __init__(self, urls: _Optional[_Iterable[str]] = ..., tokenPayload: _Optional[str] = ..., tokenSignature: _Optional[str] = ...) -> None: ...

class FlowConfig(_message.Message):
    __slots__ = ("url", "tokenPayload", "tokenSignature", "interval", "enabled", "counters", "exitNodeCollection", "dnsCollection")
    URL_FIELD_NUMBER: _ClassVar[int]
    TOKENPAYLOAD_FIELD_NUMBER: _ClassVar[int]
    TOKENSIGNATURE_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    EXITNODECOLLECTION_FIELD_NUMBER: _ClassVar[int]
    DNSCOLLECTION_FIELD_NUMBER: _ClassVar[int]
    url: str
    tokenPayload: str
    tokenSignature: str
    interval: _duration_pb2.Duration
    enabled: bool
    counters: bool
    exitNodeCollection: bool
    dnsCollection: bool
    def __init__(self, url: _Optional[str] = ..., tokenPayload: _Optional[str] = ..., tokenSignature: _Optional[str] = ..., interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., enabled: _Optional[bool] = ..., counters: _Optional[bool] = ..., exitNodeCollection: _Optional[bool] = ..., dnsCollection: _Optional[bool] = ...) -> None: ...

class MetricsConfig(_message.Message):
    __slots__ = ("enabled",)
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    def __init__(self, enabled: _Optional[bool] = ...) -> None: ...

class PeerConfig(_message.Message):
    __slots__ = ("address", "dns", "sshConfig", "fqdn", "RoutingPeerDnsResolutionEnabled", "LazyConnectionEnabled", "mtu", "autoUpdate", "address_v6")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    DNS_FIELD_NUMBER: _ClassVar[int]
    SSHCONFIG_FIELD_NUMBER: _ClassVar[int]
    FQDN_FIELD_NUMBER: _ClassVar[int]
    ROUTINGPEERDNSRESOLUTIONENABLED_FIELD_NUMBER: _ClassVar[int]
    LAZYCONNECTIONENABLED_FIELD_NUMBER: _ClassVar[int]
    MTU_FIELD_NUMBER: _ClassVar[int]
    AUTOUPDATE_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_V6_FIELD_NUMBER: _ClassVar[int]
    address: str
    dns: str
    sshConfig: SSHConfig
    fqdn: str
    RoutingPeerDnsResolutionEnabled: bool
    LazyConnectionEnabled: bool
    mtu: int
    autoUpdate: AutoUpdateSettings
    address_v6: bytes
    def __init__(self, address: _Optional[str] = ..., dns: _Optional[str] = ..., sshConfig: _Optional[_Union[SSHConfig, _Mapping]] = ..., fqdn: _Optional[str] = ..., RoutingPeerDnsResolutionEnabled: _Optional[bool] = ..., LazyConnectionEnabled: _Optional[bool] = ..., mtu: _Optional[int] = ..., autoUpdate: _Optional[_Union[AutoUpdateSettings, _Mapping]] = ..., address_v6: _Optional[bytes] = ...) -> None: ...

class AutoUpdateSettings(_message.Message):
    __slots__ = ("version", "alwaysUpdate")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ALWAYSUPDATE_FIELD_NUMBER: _ClassVar[int]
    version: str
    alwaysUpdate: bool
    def __init__(self, version: _Optional[str] = ..., alwaysUpdate: _Optional[bool] = ...) -> None: ...

class SSHConfig(_message.Message):
    __slots__ = ("sshEnabled", "sshPubKey", "jwtConfig")
    SSHENABLED_FIELD_NUMBER: _ClassVar[int]
    SSHPUBKEY_FIELD_NUMBER: _ClassVar[int]
    JWTCONFIG_FIELD_NUMBER: _ClassVar[int]
    sshEnabled: bool
    sshPubKey: bytes
    jwtConfig: JWTConfig
    def __init__(self, sshEnabled: _Optional[bool] = ..., sshPubKey: _Optional[bytes] = ..., jwtConfig: _Optional[_Union[JWTConfig, _Mapping]] = ...) -> None: ...

class JWTConfig(_message.Message):
    __slots__ = ("issuer", "audience", "keysLocation", "maxTokenAge", "audiences")
    ISSUER_FIELD_NUMBER: _ClassVar[int]
    AUDIENCE_FIELD_NUMBER: _ClassVar[int]
    KEYSLOCATION_FIELD_NUMBER: _ClassVar[int]
    MAXTOKENAGE_FIELD_NUMBER: _ClassVar[int]
    AUDIENCES_FIELD_NUMBER: _ClassVar[int]
    issuer: str
    audience: str
    keysLocation: str
    maxTokenAge: int
    audiences: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, issuer: _Optional[str] = ..., audience: _Optional[str] = ..., keysLocation: _Optional[str] = ..., maxTokenAge: _Optional[int] = ..., audiences: _Optional[_Iterable[str]] = ...) -> None: ...

class Checks(_message.Message):
    __slots__ = ("Files",)
    FILES_FIELD_NUMBER: _ClassVar[int]
    Files: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, Files: _Optional[_Iterable[str]] = ...) -> None: ...

class NetworkMap(_message.Message):
    __slots__ = ("Serial", "peerConfig", "remotePeers", "remotePeersIsEmpty", "Routes", "DNSConfig", "offlinePeers", "FirewallRules", "firewallRulesIsEmpty", "routesFirewallRules", "routesFirewallRulesIsEmpty", "forwardingRules", "sshAuth")
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    PEERCONFIG_FIELD_NUMBER: _ClassVar[int]
    REMOTEPEERS_FIELD_NUMBER: _ClassVar[int]
    REMOTEPEERSISEMPTY_FIELD_NUMBER: _ClassVar[int]
    ROUTES_FIELD_NUMBER: _ClassVar[int]
    DNSCONFIG_FIELD_NUMBER: _ClassVar[int]
    OFFLINEPEERS_FIELD_NUMBER: _ClassVar[int]
    FIREWALLRULES_FIELD_NUMBER: _ClassVar[int]
    FIREWALLRULESISEMPTY_FIELD_NUMBER: _ClassVar[int]
    ROUTESFIREWALLRULES_FIELD_NUMBER: _ClassVar[int]
    ROUTESFIREWALLRULESISEMPTY_FIELD_NUMBER: _ClassVar[int]
    FORWARDINGRULES_FIELD_NUMBER: _ClassVar[int]
    SSHAUTH_FIELD_NUMBER: _ClassVar[int]
    Serial: int
    peerConfig: PeerConfig
    remotePeers: _containers.RepeatedCompositeFieldContainer[RemotePeerConfig]
    remotePeersIsEmpty: bool
    Routes: _containers.RepeatedCompositeFieldContainer[Route]
    DNSConfig: DNSConfig
    offlinePeers: _containers.RepeatedCompositeFieldContainer[RemotePeerConfig]
    FirewallRules: _containers.RepeatedCompositeFieldContainer[FirewallRule]
    firewallRulesIsEmpty: bool
    routesFirewallRules: _containers.RepeatedCompositeFieldContainer[RouteFirewallRule]
    routesFirewallRulesIsEmpty: bool
    forwardingRules: _containers.RepeatedCompositeFieldContainer[ForwardingRule]
    sshAuth: SSHAuth
    def __init__(self, Serial: _Optional[int] = ..., peerConfig: _Optional[_Union[PeerConfig, _Mapping]] = ..., remotePeers: _Optional[_Iterable[_Union[RemotePeerConfig, _Mapping]]] = ..., remotePeersIsEmpty: _Optional[bool] = ..., Routes: _Optional[_Iterable[_Union[Route, _Mapping]]] = ..., DNSConfig: _Optional[_Union[DNSConfig, _Mapping]] = ..., offlinePeers: _Optional[_Iterable[_Union[RemotePeerConfig, _Mapping]]] = ..., FirewallRules: _Optional[_Iterable[_Union[FirewallRule, _Mapping]]] = ..., firewallRulesIsEmpty: _Optional[bool] = ..., routesFirewallRules: _Optional[_Iterable[_Union[RouteFirewallRule, _Mapping]]] = ..., routesFirewallRulesIsEmpty: _Optional[bool] = ..., forwardingRules: _Optional[_Iterable[_Union[ForwardingRule, _Mapping]]] = ..., sshAuth: _Optional[_Union[SSHAuth, _Mapping]] = ...) -> None: ...

class RemotePeerConfig(_message.Message):
    __slots__ = ("wgPubKey", "allowedIps", "sshConfig", "fqdn", "agentVersion")
    WGPUBKEY_FIELD_NUMBER: _ClassVar[int]
    ALLOWEDIPS_FIELD_NUMBER: _ClassVar[int]
    SSHCONFIG_FIELD_NUMBER: _ClassVar[int]
    FQDN_FIELD_NUMBER: _ClassVar[int]
    AGENTVERSION_FIELD_NUMBER: _ClassVar[int]
    wgPubKey: str
    allowedIps: _containers.RepeatedScalarFieldContainer[str]
    sshConfig: SSHConfig
    fqdn: str
    agentVersion: str
    def __init__(self, wgPubKey: _Optional[str] = ..., allowedIps: _Optional[_Iterable[str]] = ..., sshConfig: _Optional[_Union[SSHConfig, _Mapping]] = ..., fqdn: _Optional[str] = ..., agentVersion: _Optional[str] = ...) -> None: ...

class Route(_message.Message):
    __slots__ = ("ID", "Network", "NetworkType", "Peer", "Metric", "Masquerade", "NetID", "Domains", "keepRoute", "skipAutoApply")
    ID_FIELD_NUMBER: _ClassVar[int]
    NETWORK_FIELD_NUMBER: _ClassVar[int]
    NETWORKTYPE_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    METRIC_FIELD_NUMBER: _ClassVar[int]
    MASQUERADE_FIELD_NUMBER: _ClassVar[int]
    NETID_FIELD_NUMBER: _ClassVar[int]
    DOMAINS_FIELD_NUMBER: _ClassVar[int]
    KEEPROUTE_FIELD_NUMBER: _ClassVar[int]
    SKIPAUTOAPPLY_FIELD_NUMBER: _ClassVar[int]
    ID: str
    Network: str
    NetworkType: int
    Peer: str
    Metric: int
    Masquerade: bool
    NetID: str
    Domains: _containers.RepeatedScalarFieldContainer[str]
    keepRoute: bool
    skipAutoApply: bool
    def __init__(self, ID: _Optional[str] = ..., Network: _Optional[str] = ..., NetworkType: _Optional[int] = ..., Peer: _Optional[str] = ..., Metric: _Optional[int] = ..., Masquerade: _Optional[bool] = ..., NetID: _Optional[str] = ..., Domains: _Optional[_Iterable[str]] = ..., keepRoute: _Optional[bool] = ..., skipAutoApply: _Optional[bool] = ...) -> None: ...

class DNSConfig(_message.Message):
    __slots__ = ("ServiceEnable", "NameServerGroups", "CustomZones", "ForwarderPort")
    SERVICEENABLE_FIELD_NUMBER: _ClassVar[int]
    NAMESERVERGROUPS_FIELD_NUMBER: _ClassVar[int]
    CUSTOMZONES_FIELD_NUMBER: _ClassVar[int]
    FORWARDERPORT_FIELD_NUMBER: _ClassVar[int]
    ServiceEnable: bool
    NameServerGroups: _containers.RepeatedCompositeFieldContainer[NameServerGroup]
    CustomZones: _containers.RepeatedCompositeFieldContainer[CustomZone]
    ForwarderPort: int
    def __init__(self, ServiceEnable: _Optional[bool] = ..., NameServerGroups: _Optional[_Iterable[_Union[NameServerGroup, _Mapping]]] = ..., CustomZones: _Optional[_Iterable[_Union[CustomZone, _Mapping]]] = ..., ForwarderPort: _Optional[int] = ...) -> None: ...

class NameServerGroup(_message.Message):
    __slots__ = ("NameServers", "Primary", "Domains", "SearchDomainsEnabled")
    NAMESERVERS_FIELD_NUMBER: _ClassVar[int]
    PRIMARY_FIELD_NUMBER: _ClassVar[int]
    DOMAINS_FIELD_NUMBER: _ClassVar[int]
    SEARCHDOMAINSENABLED_FIELD_NUMBER: _ClassVar[int]
    NameServers: _containers.RepeatedCompositeFieldContainer[NameServer]
    Primary: bool
    Domains: _containers.RepeatedScalarFieldContainer[str]
    SearchDomainsEnabled: bool
    def __init__(self, NameServers: _Optional[_Iterable[_Union[NameServer, _Mapping]]] = ..., Primary: _Optional[bool] = ..., Domains: _Optional[_Iterable[str]] = ..., SearchDomainsEnabled: _Optional[bool] = ...) -> None: ...

class NameServer(_message.Message):
    __slots__ = ("IP", "NSType", "Port")
    IP_FIELD_NUMBER: _ClassVar[int]
    NSTYPE_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    IP: str
    NSType: int
    Port: int
    def __init__(self, IP: _Optional[str] = ..., NSType: _Optional[int] = ..., Port: _Optional[int] = ...) -> None: ...

class CustomZone(_message.Message):
    __slots__ = ("Domain", "Records", "SearchDomainDisabled", "NonAuthoritative")
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    SEARCHDOMAINDISABLED_FIELD_NUMBER: _ClassVar[int]
    NONAUTHORITATIVE_FIELD_NUMBER: _ClassVar[int]
    Domain: str
    Records: _containers.RepeatedCompositeFieldContainer[SimpleRecord]
    SearchDomainDisabled: bool
    NonAuthoritative: bool
    def __init__(self, Domain: _Optional[str] = ..., Records: _Optional[_Iterable[_Union[SimpleRecord, _Mapping]]] = ..., SearchDomainDisabled: _Optional[bool] = ..., NonAuthoritative: _Optional[bool] = ...) -> None: ...

class SimpleRecord(_message.Message):
    __slots__ = ("Name", "Type", "Class", "TTL", "RData")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CLASS_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    RDATA_FIELD_NUMBER: _ClassVar[int]
    Name: str
    Type: int
    Class: str
    TTL: int
    RData: str
    def __init__(self, Name: _Optional[str] = ..., Type: _Optional[int] = ..., Class: _Optional[str] = ..., TTL: _Optional[int] = ..., RData: _Optional[str] = ...) -> None: ...

class PortInfo(_message.Message):
    __slots__ = ("port", "range")
    class Range(_message.Message):
        __slots__ = ("start", "end")
        START_FIELD_NUMBER: _ClassVar[int]
        END_FIELD_NUMBER: _ClassVar[int]
        start: int
        end: int
        def __init__(self, start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...
    PORT_FIELD_NUMBER: _ClassVar[int]
    RANGE_FIELD_NUMBER: _ClassVar[int]
    port: int
    range: PortInfo.Range
    def __init__(self, port: _Optional[int] = ..., range: _Optional[_Union[PortInfo.Range, _Mapping]] = ...) -> None: ...

class FirewallRule(_message.Message):
    __slots__ = ("PeerIP", "Direction", "Action", "Protocol", "Port", "PortInfo", "PolicyID", "customProtocol", "sourcePrefixes")
    PEERIP_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    PORTINFO_FIELD_NUMBER: _ClassVar[int]
    POLICYID_FIELD_NUMBER: _ClassVar[int]
    CUSTOMPROTOCOL_FIELD_NUMBER: _ClassVar[int]
    SOURCEPREFIXES_FIELD_NUMBER: _ClassVar[int]
    PeerIP: str
    Direction: RuleDirection
    Action: RuleAction
    Protocol: RuleProtocol
    Port: str
    PortInfo: PortInfo
    PolicyID: bytes
    customProtocol: int
    sourcePrefixes: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, PeerIP: _Optional[str] = ..., Direction: _Optional[_Union[RuleDirection, str]] = ..., Action: _Optional[_Union[RuleAction, str]] = ..., Protocol: _Optional[_Union[RuleProtocol, str]] = ..., Port: _Optional[str] = ..., PortInfo: _Optional[_Union[PortInfo, _Mapping]] = ..., PolicyID: _Optional[bytes] = ..., customProtocol: _Optional[int] = ..., sourcePrefixes: _Optional[_Iterable[bytes]] = ...) -> None: ...

class RouteFirewallRule(_message.Message):
    __slots__ = ("sourceRanges", "action", "destination", "protocol", "portInfo", "isDynamic", "domains", "customProtocol", "PolicyID", "RouteID")
    SOURCERANGES_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    DESTINATION_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    PORTINFO_FIELD_NUMBER: _ClassVar[int]
    ISDYNAMIC_FIELD_NUMBER: _ClassVar[int]
    DOMAINS_FIELD_NUMBER: _ClassVar[int]
    CUSTOMPROTOCOL_FIELD_NUMBER: _ClassVar[int]
    POLICYID_FIELD_NUMBER: _ClassVar[int]
    ROUTEID_FIELD_NUMBER: _ClassVar[int]
    sourceRanges: _containers.RepeatedScalarFieldContainer[str]
    action: RuleAction
    destination: str
    protocol: RuleProtocol
    portInfo: PortInfo
    isDynamic: bool
    domains: _containers.RepeatedScalarFieldContainer[str]
    customProtocol: int
    PolicyID: bytes
    RouteID: str
    def __init__(self, sourceRanges: _Optional[_Iterable[str]] = ..., action: _Optional[_Union[RuleAction, str]] = ..., destination: _Optional[str] = ..., protocol: _Optional[_Union[RuleProtocol, str]] = ..., portInfo: _Optional[_Union[PortInfo, _Mapping]] = ..., isDynamic: _Optional[bool] = ..., domains: _Optional[_Iterable[str]] = ..., customProtocol: _Optional[int] = ..., PolicyID: _Optional[bytes] = ..., RouteID: _Optional[str] = ...) -> None: ...

class ForwardingRule(_message.Message):
    __slots__ = ("protocol", "destinationPort", "translatedAddress", "translatedPort")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    DESTINATIONPORT_FIELD_NUMBER: _ClassVar[int]
    TRANSLATEDADDRESS_FIELD_NUMBER: _ClassVar[int]
    TRANSLATEDPORT_FIELD_NUMBER: _ClassVar[int]
    protocol: RuleProtocol
    destinationPort: PortInfo
    translatedAddress: bytes
    translatedPort: PortInfo
    def __init__(self, protocol: _Optional[_Union[RuleProtocol, str]] = ..., destinationPort: _Optional[_Union[PortInfo, _Mapping]] = ..., translatedAddress: _Optional[bytes] = ..., translatedPort: _Optional[_Union[PortInfo, _Mapping]] = ...) -> None: ...

class SSHAuth(_message.Message):
    __slots__ = ("UserIDClaim", "AuthorizedUsers", "machine_users")
    class MachineUsersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: MachineUserIndexes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[MachineUserIndexes, _Mapping]] = ...) -> None: ...
    USERIDCLAIM_FIELD_NUMBER: _ClassVar[int]
    AUTHORIZEDUSERS_FIELD_NUMBER: _ClassVar[int]
    MACHINE_USERS_FIELD_NUMBER: _ClassVar[int]
    UserIDClaim: str
    AuthorizedUsers: _containers.RepeatedScalarFieldContainer[bytes]
    machine_users: _containers.MessageMap[str, MachineUserIndexes]
    def __init__(self, UserIDClaim: _Optional[str] = ..., AuthorizedUsers: _Optional[_Iterable[bytes]] = ..., machine_users: _Optional[_Mapping[str, MachineUserIndexes]] = ...) -> None: ...

class MachineUserIndexes(_message.Message):
    __slots__ = ("indexes",)
    INDEXES_FIELD_NUMBER: _ClassVar[int]
    indexes: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, indexes: _Optional[_Iterable[int]] = ...) -> None: ...

class JobRequest(_message.Message):
    __slots__ = ("ID", "bundle")
    ID_FIELD_NUMBER: _ClassVar[int]
    BUNDLE_FIELD_NUMBER: _ClassVar[int]
    ID: bytes
    bundle: BundleParameters
    def __init__(self, ID: _Optional[bytes] = ..., bundle: _Optional[_Union[BundleParameters, _Mapping]] = ...) -> None: ...

class BundleParameters(_message.Message):
    __slots__ = ("bundle_for", "bundle_for_time", "log_file_count", "anonymize", "anonymize_level")
    BUNDLE_FOR_FIELD_NUMBER: _ClassVar[int]
    BUNDLE_FOR_TIME_FIELD_NUMBER: _ClassVar[int]
    LOG_FILE_COUNT_FIELD_NUMBER: _ClassVar[int]
    ANONYMIZE_FIELD_NUMBER: _ClassVar[int]
    ANONYMIZE_LEVEL_FIELD_NUMBER: _ClassVar[int]
    bundle_for: bool
    bundle_for_time: int
    log_file_count: int
    anonymize: bool
    anonymize_level: str
    def __init__(self, bundle_for: _Optional[bool] = ..., bundle_for_time: _Optional[int] = ..., log_file_count: _Optional[int] = ..., anonymize: _Optional[bool] = ..., anonymize_level: _Optional[str] = ...) -> None: ...

class JobResponse(_message.Message):
    __slots__ = ("ID", "status", "Reason", "bundle")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    BUNDLE_FIELD_NUMBER: _ClassVar[int]
    ID: bytes
    status: JobStatus
    Reason: bytes
    bundle: BundleResult
    def __init__(self, ID: _Optional[bytes] = ..., status: _Optional[_Union[JobStatus, str]] = ..., Reason: _Optional[bytes] = ..., bundle: _Optional[_Union[BundleResult, _Mapping]] = ...) -> None: ...

class BundleResult(_message.Message):
    __slots__ = ("upload_key",)
    UPLOAD_KEY_FIELD_NUMBER: _ClassVar[int]
    upload_key: str
    def __init__(self, upload_key: _Optional[str] = ...) -> None: ...

class DeviceAuthorizationFlow(_message.Message):
    __slots__ = ("Provider", "ProviderConfig")
    class provider(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        HOSTED: _ClassVar[DeviceAuthorizationFlow.provider]
    HOSTED: DeviceAuthorizationFlow.provider
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    PROVIDERCONFIG_FIELD_NUMBER: _ClassVar[int]
    Provider: DeviceAuthorizationFlow.provider
    ProviderConfig: ProviderConfig
    def __init__(self, Provider: _Optional[_Union[DeviceAuthorizationFlow.provider, str]] = ..., ProviderConfig: _Optional[_Union[ProviderConfig, _Mapping]] = ...) -> None: ...

class PKCEAuthorizationFlow(_message.Message):
    __slots__ = ("ProviderConfig",)
    PROVIDERCONFIG_FIELD_NUMBER: _ClassVar[int]
    ProviderConfig: ProviderConfig
    def __init__(self, ProviderConfig: _Optional[_Union[ProviderConfig, _Mapping]] = ...) -> None: ...

class ProviderConfig(_message.Message):
    __slots__ = ("ClientID", "ClientSecret", "Domain", "Audience", "DeviceAuthEndpoint", "TokenEndpoint", "Scope", "UseIDToken", "AuthorizationEndpoint", "RedirectURLs", "DisablePromptLogin", "LoginFlag")
    CLIENTID_FIELD_NUMBER: _ClassVar[int]
    CLIENTSECRET_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    AUDIENCE_FIELD_NUMBER: _ClassVar[int]
    DEVICEAUTHENDPOINT_FIELD_NUMBER: _ClassVar[int]
    TOKENENDPOINT_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    USEIDTOKEN_FIELD_NUMBER: _ClassVar[int]
    AUTHORIZATIONENDPOINT_FIELD_NUMBER: _ClassVar[int]
    REDIRECTURLS_FIELD_NUMBER: _ClassVar[int]
    DISABLEPROMPTLOGIN_FIELD_NUMBER: _ClassVar[int]
    LOGINFLAG_FIELD_NUMBER: _ClassVar[int]
    ClientID: str
    ClientSecret: str
    Domain: str
    Audience: str
    DeviceAuthEndpoint: str
    TokenEndpoint: str
    Scope: str
    UseIDToken: bool
    AuthorizationEndpoint: str
    RedirectURLs: _containers.RepeatedScalarFieldContainer[str]
    DisablePromptLogin: bool
    LoginFlag: int
    def __init__(self, ClientID: _Optional[str] = ..., ClientSecret: _Optional[str] = ..., Domain: _Optional[str] = ..., Audience: _Optional[str] = ..., DeviceAuthEndpoint: _Optional[str] = ..., TokenEndpoint: _Optional[str] = ..., Scope: _Optional[str] = ..., UseIDToken: _Optional[bool] = ..., AuthorizationEndpoint: _Optional[str] = ..., RedirectURLs: _Optional[_Iterable[str]] = ..., DisablePromptLogin: _Optional[bool] = ..., LoginFlag: _Optional[int] = ...) -> None: ...

class ExtendAuthSessionRequest(_message.Message):
    __slots__ = ("jwtToken", "meta")
    JWTTOKEN_FIELD_NUMBER: _ClassVar[int]
    META_FIELD_NUMBER: _ClassVar[int]
    jwtToken: str
    meta: PeerSystemMeta
    def __init__(self, jwtToken: _Optional[str] = ..., meta: _Optional[_Union[PeerSystemMeta, _Mapping]] = ...) -> None: ...

class ExtendAuthSessionResponse(_message.Message):
    __slots__ = ("sessionExpiresAt",)
    SESSIONEXPIRESAT_FIELD_NUMBER: _ClassVar[int]
    sessionExpiresAt: _timestamp_pb2.Timestamp
    def __init__(self, sessionExpiresAt: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
